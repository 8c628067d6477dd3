"""The tables of `results/dba3c_atari49/`: 49 games with half a million agent steps each, one seed.

Its runs are those of one command, `python -m pipeline.train -m experiment=dba3c_quick +sweep=atari49`, so that there is
nothing to run here. Not here: tables and figures of any sweep (`python -m pipeline.report`).
"""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from measuring.markdown import markdown
from pipeline.results.cautions import FEW_FILTERS, living_filters
from pipeline.results.formats import interval_cell
from pipeline.results.load import LoadedRuns, load_runs
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.random_player import YES, is_above, of_starts, random_scores
from pipeline.results.run_scores import entries, run_scores

GREEDY, SAMPLED = "dba3c_quick", "dba3c_quick, sampled"
"""Entries of `run_scores`."""
_SHOWN_FILTERS = 0.5
"""Runs with a smaller share of living filters stand in the table."""


def tables(folder: Path) -> dict[str, str]:
    """Table name -> Markdown, of the run folders in `folder`."""
    loaded = load_runs(folder)
    games = compared(loaded)
    return {"games": games_table(games), "above": above_table(games), "filters": filters_table(loaded)}


def compared(loaded: LoadedRuns) -> pd.DataFrame:
    """A row a game: score, low and high of each entry and of our random player, and whether an entry is above it."""
    of = {
        name: {row["game"]: row for row in rows.to_dict("records")}
        for name, rows in entries(run_scores(loaded)).items()
    }
    rows = []
    for player in of_starts(random_scores(loaded), NOOP_STARTS).reset_index().to_dict("records"):
        row: dict[Hashable, Any] = {"game": player["game"]}
        row |= {f"random {name}": player[name] for name in ("mean", "low", "high")}
        for entry in (GREEDY, SAMPLED):
            score = of[entry][player["game"]]
            row |= {f"{entry} {name}": score[name] for name in ("score", "low", "high")}
            row[f"{entry} above"] = is_above(score["low"], score["high"], player)
        rows.append(row)
    return pd.DataFrame(rows)


def games_table(games: pd.DataFrame) -> str:
    """A line a game, of `compared`."""
    return markdown(
        {
            "game": str(row["game"]),
            "our random player": interval_cell(row["random mean"], row["random low"], row["random high"], 1),
            "greedy": _score(row, GREEDY),
            "greedy, above": row[f"{GREEDY} above"],
            "drawn": _score(row, SAMPLED),
            "drawn, above": row[f"{SAMPLED} above"],
        }
        for row in games.to_dict("records")
    )


def above_table(games: pd.DataFrame) -> str:
    """On how many games the agent is above our random player, of `compared`."""
    greedy, sampled = (games[f"{entry} above"] == YES for entry in (GREEDY, SAMPLED))
    counts = {"greedy": greedy, "drawn from the policy": sampled, "in one of the two ways": greedy | sampled}
    return markdown(
        {"actions": actions, "above random play": f"{above.sum()} of {len(games)} games"}
        for actions, above in counts.items()
    )


def filters_table(loaded: LoadedRuns) -> str:
    """Games at whose end fewer than half of the first convolution's filters still learned, the fewest first."""
    shares = living_filters(loaded).reset_index().sort_values("active_filters", kind="stable")
    return markdown(
        {
            "game": run["game"],
            "filters that still learned": f"{100 * run['active_filters']:.1f} %",
            "the report warns": "yes" if run["active_filters"] < FEW_FILTERS else "no",
        }
        for run in shares[shares["active_filters"] < _SHOWN_FILTERS].to_dict("records")
    )


def _score(row: Mapping[Hashable, Any], entry: str) -> str:
    return interval_cell(row[f"{entry} score"], row[f"{entry} low"], row[f"{entry} high"], 1)
