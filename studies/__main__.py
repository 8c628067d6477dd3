"""`python -m studies NAME ... [--out FILE]`: the studies that are named, one after the other.

`tables` is no study: it writes the tables of them all (`studies.tables`). Each study goes on where its rows end. Their
modules say how long they take; `python -m studies.NAME` takes the settings of one, where it has any.
"""

import sys
from collections.abc import Callable, Sequence

from measuring.modules import Modules, run_modules

NAMES = (
    "tables",
    "guards",
    "random_play",
    "optimizer_sweep",
    "first_steps",
    "first_sums",
    "main_job",
    "quick_agents",
    "centred_pixels",
    "second_dqn",
    "six_minutes.tuning",
    "six_minutes.atari49",
    "gorila_growth.simulation",
    "gorila_growth.growth",
    "gorila_growth.senders",
    "dba3c.stops",
    "dba3c.stragglers",
    "dba3c.dynamic_quorum",
    "dba3c.lost_worker",
    "dba3c.scaling",
    "dba3c.shards",
    "dba3c.simulation",
    "dba3c.learning",
    "chaos.campaign",
    "chaos.soak",
)
"""Modules below this package."""


def main(arguments: Sequence[str] | None = None, command: Callable[[str], list[str]] | None = None) -> int:
    """Run them; the exit status is that of the first that fails."""
    return run_modules(Modules("studies", NAMES), arguments, command)


if __name__ == "__main__":
    sys.exit(main())
