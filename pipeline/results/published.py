"""The published scores that ours stand beside, as DataFrames.

Where each number comes from, and what it was checked against: `results/published/README.md`.
Not here: scores of our own runs (`pipeline.results.load`).
"""

from pathlib import Path
from typing import Literal

import pandas as pd

PublishedTable = Literal[
    "atari49_reference",
    "atari49_related_agents",
    "budget_curves",
    "budget_sources",
    "dba3c_scores",
    "later_systems",
    "scaling",
]

_PACKAGE = Path(__file__).resolve().parents[1]


def published_directory() -> Path:
    """The folder of the published tables: `results/published` of a checkout, its copy inside an installed wheel."""
    in_wheel = _PACKAGE / "published"
    return in_wheel if in_wheel.is_dir() else _PACKAGE.parent / "results" / "published"


def load_published(table: PublishedTable = "atari49_reference") -> pd.DataFrame:
    """One published table, indexed by its first column (the game, or the system); empty cells are NaN.

    The default holds the 49 games of Mnih et al. 2015 and Nair et al. 2015 under both kinds of starts.
    """
    return pd.read_csv(published_directory() / f"{table}.csv", index_col=0)
