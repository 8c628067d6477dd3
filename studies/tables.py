"""`python -m studies tables`: writes the tables of every `results/<name>/README.md` anew, from the rows beside it.

Nothing is measured. `python -m studies.tables guards dba3c` writes those of two studies. A test holds every README to
its rows (`tests/studies/test_tables.py`), so that no number in a table is typed by hand.
Not here: what stands in a table (`tables` of each study).
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from measuring.markdown import with_tables
from studies import (
    centred_pixels,
    dba3c_atari49,
    first_steps,
    first_sums,
    guards,
    main_job,
    optimizer_sweep,
    quick_agents,
    random_play,
    reference_runs,
)
from studies.chaos import tables as chaos
from studies.dba3c import tables as dba3c
from studies.gorila_growth import tables as gorila_growth
from studies.six_minutes import tables as six_minutes

Tables = Callable[[Path], Mapping[str, str]]


def _of_both(first: Tables, second: Tables) -> Tables:
    """Of two studies whose rows lie in one folder."""
    return lambda folder: {**first(folder), **second(folder)}


STUDIES: Mapping[str, Tables] = {
    "chaos": chaos.tables,
    "dba3c": dba3c.tables,
    "dba3c_atari49": _of_both(dba3c_atari49.tables, centred_pixels.tables),
    "first_steps": _of_both(first_steps.tables, first_sums.tables),
    "gorila_growth": gorila_growth.tables,
    "guards": guards.tables,
    "main_job": main_job.tables,
    "optimizer_sweep": optimizer_sweep.tables,
    "quick_agents": quick_agents.tables,
    "random_play": random_play.tables,
    "reference_runs": reference_runs.tables,
    "six_minutes": six_minutes.tables,
}
"""Folder below results/ -> table name -> Markdown, of the rows in that folder."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables of those that are named, or of all; tells which files have changed."""
    parser = argparse.ArgumentParser(prog="python -m studies.tables", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(STUDIES)}; without one: all")
    parser.add_argument("--results", type=Path, default=Path("results"), help="the folder of all")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.names if name not in STUDIES]:
        parser.error(f"there are no tables of {', '.join(unknown)}; there are {', '.join(STUDIES)}")
    for name in chosen.names or STUDIES:
        path = chosen.results / name / "README.md"
        text = path.read_text(encoding="utf-8")
        if (written := renewed(name, text, chosen.results)) != text:
            path.write_text(written, encoding="utf-8")
            print(path)
    return 0


def renewed(name: str, text: str, results: Path) -> str:
    """What the README of a study would be."""
    return with_tables(text, STUDIES[name](results / name))


if __name__ == "__main__":
    sys.exit(main())
