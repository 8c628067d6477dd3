"""All tables of `results/six_minutes/README.md`, from the rows beside it.

Not here: what stands in one (`studies.six_minutes.tuning`, `.atari49`).
"""

from collections.abc import Mapping
from pathlib import Path

from studies.six_minutes import atari49, tuning

_NOT_YET = "Not measured yet."


def tables(folder: Path) -> Mapping[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    tuned, played = tuning.tuning_rows(folder).frame(), atari49.atari49_rows(folder).frame()
    made = {"systems": atari49.systems_table, "wins": atari49.wins_table, "games": atari49.games_table}
    return {
        "tuning": tuning.tuning_table(tuned) if len(tuned) else _NOT_YET,
        **{name: table(played) if len(played) else _NOT_YET for name, table in made.items()},
    }
