"""Our agents on the few games that they were trained on: a row each, a column a game, whatever the protocol.

Rows of different protocols stand apart. Not here: published scores beside ours (`pipeline.results.atari49`), figures
over games (`pipeline.results.summary`).
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from pipeline.results.atari49 import SINGLE_SEED
from pipeline.results.formats import MISSING, ReportTable, interval_cell
from pipeline.results.run_scores import EQUAL_RUNS_NOTE, RANDOM, UNEQUAL_FRAMES, are_equal_runs, interval_over_runs

MOST_GAMES = 6
"""There is room for no more columns."""

COLUMNS = (
    "protocol", "differs", "entry", "game", "score", "low", "high", "seeds", "episodes",
    "frames", "fewest", "most", "hours",
)  # fmt: skip
"""Score in points, with the interval of `run_scores.interval_over_runs`; frames and hours of training: the mean over
the seeds of the game, and the frames of the shortest and the longest; NaN of the random player."""

_GROUPS = ["protocol", "differs", "entry", "game"]


def our_agents(scores: pd.DataFrame) -> pd.DataFrame:
    """One row per protocol, entry and game of `run_scores`, with COLUMNS; the random player first."""
    rows = []
    for (protocol, differs, entry, game), runs in scores.groupby(_GROUPS, sort=True):
        is_random = (runs["agent"] == RANDOM).all()
        if is_random:
            # Beside runs of several experiments with one seed it has played the same games.
            runs = runs.sort_values("episodes", kind="stable").drop_duplicates("seed", keep="last")
        low, high = interval_over_runs(runs)
        # The random player's rows have the clock of the run that played it.
        trained = runs.iloc[:0] if is_random else runs
        frames, hours = trained["total_frames"], trained["wall_seconds"].mean() / 3600
        score, episodes = runs["score"].mean(), runs["episodes"].sum()
        of_seeds = score, low, high, len(runs), episodes
        rows.append((protocol, differs, entry, game, *of_seeds, frames.mean(), frames.min(), frames.max(), hours))
    numbers = pd.DataFrame(rows, columns=list(COLUMNS))
    numbers["is_trained"] = numbers["frames"].notna()
    in_order = numbers.sort_values(["protocol", "is_trained", "differs", "entry", "game"], kind="stable")
    return in_order.drop(columns="is_trained").reset_index(drop=True)


def our_agents_table(scores: pd.DataFrame, games: Sequence[str]) -> ReportTable:
    """The same as a table with a column for each of `games`, as of `run_scores` of these games."""
    numbers = our_agents(scores)
    rows = []
    for (protocol, differs, entry), of_agent in numbers.groupby(["protocol", "differs", "entry"], sort=False):
        by_game = {row["game"]: row for row in of_agent.to_dict("records")}
        seeds = of_agent["seeds"]
        cells = {
            "agent": entry,
            "protocol": f"{protocol}{' *' if differs else ''}",
            "seeds": str(seeds.max()) if seeds.min() == seeds.max() else f"{seeds.min()}-{seeds.max()}",
        }
        for game in games:
            row = by_game.get(game)
            cells[game] = MISSING if row is None else _score(row)
        trained = of_agent["frames"].notna().all()
        cells["frames"] = frames_cell(of_agent, 2) if trained else "-"
        cells["hours"] = f"{of_agent['hours'].mean():.2f}" if trained else "-"
        rows.append(cells)
    notes = _notes(numbers)
    if are_equal_runs(scores.drop_duplicates([*_GROUPS, "seed"]), _GROUPS):
        notes = (*notes, EQUAL_RUNS_NOTE)
    return ReportTable("our_agents", "Our agents", numbers, pd.DataFrame(rows), notes)


def _score(row: Mapping[Hashable, Any]) -> str:
    return interval_cell(row["score"], row["low"], row["high"], 1) + (SINGLE_SEED if row["seeds"] == 1 else "")


def frames_cell(of_agent: pd.DataFrame, decimals: int) -> str:
    """The frames of rows of `our_agents`: their mean, or where runs differ in them the fewest and the most."""
    fewest, most = of_agent["fewest"].min() / 1e6, of_agent["most"].max() / 1e6
    if most > UNEQUAL_FRAMES * fewest:
        return f"{fewest:,.{decimals}f} to {most:,.{decimals}f} M"
    return f"{of_agent['frames'].mean() / 1e6:,.{decimals}f} M"


def _notes(numbers: pd.DataFrame) -> tuple[str, ...]:
    found = [
        "Score in points, 95 % interval in brackets: Student's t over seeds. "
        f"{SINGLE_SEED}: a single seed, over its games. Frames and hours: of training, mean over seeds; where runs "
        "differ, from the fewest frames to the most.",
        "Rows of different protocols may not be compared.",
    ]
    trained = numbers[numbers["frames"].notna() & (numbers["differs"] != "")]
    for (protocol, differs), _ in trained.groupby(["protocol", "differs"], sort=False):
        found.append(f"* {protocol}: played otherwise than published scores under no-op starts: {differs}.")
    return tuple(found)
