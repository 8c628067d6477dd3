"""`python -m benchmarks [NAME ...] [--out FILE]`: all quick benchmarks, or those that are named, one after the other.

Figures mean something on a machine that has nothing else to do.
"""

import sys
from collections.abc import Callable, Sequence

from measuring.modules import Modules, run_modules

QUICK = (
    "optimizer_step",
    "update_step",
    "loss_costs",
    "replay_sampling",
    "replay_share",
    "actor_stepping",
    "random_frame_skip",
    "server_wire",
    "gradient_wire",
    "replay_wire",
    "gorila_scaling",
    "replay_prioritised",
    "replay_saving",
    "report_time",
)
"""Modules that take minutes at most, quick ones first."""

LONG = ("compiled_step", "devices", "peers", "sweep_overhead")
"""Those that run only when they are named. Their modules say how long they take and what they need."""


def main(arguments: Sequence[str] | None = None, command: Callable[[str], list[str]] | None = None) -> int:
    """Run them; the exit status is that of the first that fails."""
    return run_modules(Modules("benchmarks", QUICK + LONG, by_default=QUICK), arguments, command)


if __name__ == "__main__":
    sys.exit(main())
