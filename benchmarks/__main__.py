"""`python -m benchmarks [name ...] [--out FILE]`: all quick benchmarks, or those that are named, one after the other.

Each runs in a process of its own, so that none meets another's threads or memory. Their JSON lines go to the terminal,
and with --out to the end of a file as well. Figures mean something on a machine that has nothing else to do.
"""

import argparse
import contextlib
import subprocess
import sys
from pathlib import Path

NAMES = (
    "optimizer_step",
    "replay_sampling",
    "replay_share",
    "actor_stepping",
    "random_frame_skip",
    "server_wire",
    "replay_wire",
    "gorila_scaling",
    "replay_prioritised",
    "report_time",
)
"""Modules of this package that take minutes at most, quick ones first."""

LONG_NAMES = (
    "random_play",
    "dba3c_stops",
    "dba3c_stragglers",
    "dba3c_lost_worker",
    "a2c_peers",
    "dba3c_scaling",
    "dba3c_shards",
    "dba3c_simulation",
    "sweep_overhead",
    "quick_agents",
    "dba3c_learning",
)
"""Those that run only when they are named. Their modules say how long they take; what was measured is not again."""

_KNOWN = ", ".join(NAMES + LONG_NAMES)


def main(arguments: list[str] | None = None) -> int:
    """Run them; the exit status is that of the first that fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="One JSON line per group of figures.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {_KNOWN}; without one: all up to {NAMES[-1]}")
    parser.add_argument("--out", type=Path, metavar="FILE", help="add the lines to this file, e.g. a .jsonl")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.names if name not in NAMES + LONG_NAMES]:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {_KNOWN}")
    with contextlib.ExitStack() as stack:
        file = None if chosen.out is None else stack.enter_context(chosen.out.open("a"))
        for name in chosen.names or NAMES:
            with subprocess.Popen(command(name), stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    print(line, end="", flush=True)
                    if file is not None:
                        file.write(line)
            if process.returncode != 0:
                print(f"{name} failed with exit status {process.returncode}", file=sys.stderr)
                return process.returncode
    return 0


def command(name: str) -> list[str]:
    """What runs one benchmark."""
    return [sys.executable, "-m", f"benchmarks.{name}"]


if __name__ == "__main__":
    sys.exit(main())
