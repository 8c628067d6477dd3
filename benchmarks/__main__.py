"""`python -m benchmarks [name ...] [--out FILE]`: all benchmarks, or those that are named, one after the other.

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
    "server_wire",
    "replay_wire",
    "gorila_scaling",
    "replay_prioritised",
)
"""Modules of this package, quick ones first."""


def main(arguments: list[str] | None = None) -> int:
    """Run them; the exit status is that of the first that fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="One JSON line per group of figures.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(NAMES)}; without one: all")
    parser.add_argument("--out", type=Path, metavar="FILE", help="add the lines to this file, e.g. a .jsonl")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.names if name not in NAMES]:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}")
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
