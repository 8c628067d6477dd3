"""Imported results in the report: a table beside our scores, curves beside ours, and a caution for each of them.

They are columns and lines of their own, never part of a summary, a normalised score or a comparison.
Not here: reading them (`pipeline.results.imports`).
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pipeline.results.curves import ROLLING_EPISODES, Curve
from pipeline.results.formats import MISSING, ReportTable, interval_cell
from pipeline.results.import_readers import GAMES
from pipeline.results.imports import TOOLS, Imported
from pipeline.results.scores import seed_interval

_CURVE_POINTS = 250
"""As many as can be told apart in a panel."""


def imported_cautions(imported: Imported) -> list[str]:
    """One line for each agent of each tool: how it was played, as far as anybody can know."""
    return [
        f"{name} ({rows['game'].nunique()} {'game' if rows['game'].nunique() == 1 else 'games'}): imported; "
        f"{TOOLS[str(tool)].played}. Not comparable with published scores, nor with ours."
        for name, tool, rows in _by_agent(imported)
    ]


def imported_table(imported: Imported, entries: Mapping[str, pd.DataFrame]) -> ReportTable:
    """Games that were imported, with the last score of each agent, and ours of `run_scores.entries` beside it."""
    games = sorted(set(imported.points["game"]))
    numbers, text = pd.DataFrame(index=pd.Index(games, name="game")), {"game": games}
    columns = {f"ours: {name}": rows.set_index("game")["score"] for name, rows in entries.items()}
    columns |= {name: _last_scores(rows) for name, _, rows in _by_agent(imported)}
    for name, scores in columns.items():
        of_games = {str(game): of_game.to_numpy("float64") for game, of_game in scores.groupby(level="game")}
        cells = [_mean(of_games.get(game, np.array([]))) for game in games]
        for index, field in enumerate(("score", "low", "high", "runs")):
            numbers[f"{name} {field}"] = [values[index] for values in cells]
        text[name] = [interval_cell(mean, low, high, 1) for mean, low, high, _ in cells]
        text[f"{name}: runs"] = [str(runs) if runs else MISSING for *_, runs in cells]
    return ReportTable(
        "imported", "Other tools, protocols unknown", numbers, pd.DataFrame(text), tuple(_notes(imported))
    )


def imported_curves(imported: Imported, game: str) -> tuple[Curve, ...]:
    """The mean over runs of each agent's scores of `game`, where frames are known."""
    points = imported.points[(imported.points["game"] == game) & imported.points["frames"].notna()]
    return tuple(_mean_curve(name, rows) for name, _, rows in _by_agent(imported._replace(points=points)))


def _by_agent(imported: Imported) -> list[tuple[str, str, pd.DataFrame]]:
    """Name in tables, tool, and rows."""
    return [
        (f"{TOOLS[str(tool)].name}: {agent}", str(tool), rows)
        for (tool, agent), rows in imported.points.groupby(["tool", "agent"], sort=True)
    ]


def _last_scores(points: pd.DataFrame) -> pd.Series:
    """Score of each game and run: the mean of its last games, or the last mean that its file holds."""
    last = points.groupby(["game", "run"]).tail(ROLLING_EPISODES)
    last = last[(last["kind"] == GAMES) | ~last.duplicated(["game", "run"], keep="last")]
    return last.groupby(["game", "run"])["score"].mean()


def _mean(scores: np.ndarray) -> tuple[float, float, float, int]:
    """Mean, interval, and number of runs."""
    if not len(scores):
        return np.nan, np.nan, np.nan, 0
    return float(scores.mean()), *seed_interval(scores), len(scores)


def _mean_curve(name: str, points: pd.DataFrame) -> Curve:
    runs = [run for _, run in points.groupby("run", sort=True)]
    # As far as all of them go: beyond, the mean would jump with each run that ends.
    first, last = max(run["frames"].iloc[0] for run in runs), min(run["frames"].iloc[-1] for run in runs)
    frames = np.linspace(first, max(first, last), _CURVE_POINTS)
    window = ROLLING_EPISODES if (points["kind"] == GAMES).all() else 1
    lines = [
        np.interp(frames, run["frames"], run["score"].rolling(window, min_periods=1).mean().to_numpy()) for run in runs
    ]
    label = f"{name}, {len(runs)} run{'s' if len(runs) != 1 else ''}, protocol unknown"
    return Curve(label, frames, np.mean(lines, axis=0))


def _notes(imported: Imported) -> list[str]:
    return [
        "Columns of different tools may not be compared, nor with ours: their files do not say how games were played.",
        f"Score: mean over runs; of a run the mean of its last {ROLLING_EPISODES} training games, or the last mean in "
        "the file. Ours: under no-op starts, as in the table of the 49 games.",
        "Brackets: 95 % interval, Student's t over runs; none for a single run.",
        *(f"{name}: {TOOLS[tool].played}." for name, tool, _ in _by_agent(imported)),
    ]
