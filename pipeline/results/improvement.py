"""Our experiments against each other: the chance that a run of one scores higher than a run of another.

Not here: how such a chance is made (`pipeline.results.comparison`), ours against published scores
(`pipeline.results.summary`).
"""

from collections.abc import Mapping

import pandas as pd

from pipeline.results.comparison import improvement_over_games
from pipeline.results.formats import ReportTable, interval_cell
from pipeline.results.run_scores import score_matrix

COLUMNS = ("agent", "other", "games", "probability", "low", "high")

NOBODY = "-"
"""Against itself, or an agent with which it has no game in common."""


def improvement(ours: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per ordered pair of `run_scores.entries`, with COLUMNS, over the games that both have."""
    rows = []
    for agent, scores in ours.items():
        for other, others in ours.items():
            games = sorted(set(scores["game"]) & set(others["game"]))
            if agent == other or not games:
                continue
            found = improvement_over_games(score_matrix(scores, games), score_matrix(others, games))
            rows.append((agent, other, len(games), *found))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def improvement_table(ours: Mapping[str, pd.DataFrame]) -> ReportTable | None:
    """The same with a row and a column for each agent; None where no two have a game in common."""
    numbers = improvement(ours)
    if numbers.empty:
        return None
    cells = {
        (
            row["agent"],
            row["other"],
        ): _cell(row["probability"], row["low"], row["high"], row["games"])
        for row in numbers.to_dict("records")
    }
    text = pd.DataFrame(
        [
            {"agent": f"ours: {agent}"} | {f"P(> {other})": cells.get((agent, other), NOBODY) for other in ours}
            for agent in ours
        ]
    )
    notes = (
        "Chance that a run of the row scores higher than a run of the column on a game, ties by half, averaged over "
        "the games that both have; their number in round brackets.",
        "Square brackets: 95 % percentile interval, runs of both drawn anew within each game; none where a game has a "
        "single seed.",
    )
    return ReportTable("improvement", "Chance of improvement", numbers, text, notes)


def _cell(probability: float, low: float, high: float, num_games: int) -> str:
    return f"{interval_cell(probability, low, high, 2)} ({num_games})"
