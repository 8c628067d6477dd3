"""Published scores at small budgets as curves over frames, and where a budget of ours stands on them.

Each published agent says how its scores were played (`Yardstick.played`): few were played like ours.
Not here: the numbers and their sources (`results/published/README.md`), our scores beside them
(`pipeline.results.equal_frames`).
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from pipeline.results.published import load_published

MARKS = (1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000, 40_000_000)
"""Emulator frames at which scores were published."""

NEAR = 0.05
"""Runs end some hundred frames behind a mark: so much of it counts as the mark itself."""


class Score(NamedTuple):
    """Of one agent in one game, in points."""

    mean: float
    """Over seeds."""
    low: float
    """The lowest and the highest seed; NaN where they were not published."""
    high: float
    is_between: bool = False
    """Whether it was taken from the straight line between two marks."""


class Yardstick(NamedTuple):
    """A published agent."""

    agent: str
    """As in a table: "DQN (nnabla-rl)"."""
    played: str
    """How its scores came about."""
    num_seeds: int
    curves: pd.DataFrame
    """Indexed by game: frames, score, low, high; in order of frames."""

    def at(self, game: str, frames: float) -> Score | None:
        """Its score after so many frames; None for a game or a budget that it lacks."""
        if game not in self.curves.index:
            return None
        return score_at(self.curves.loc[[game]], frames)


@cache
def yardsticks() -> tuple[Yardstick, ...]:
    """All of them, those that were played most like ours first."""
    curves = load_published("budget_curves").reset_index()
    of_agents = {str(agent): rows.set_index("game") for agent, rows in curves.groupby("agent", sort=False)}
    return tuple(
        Yardstick(str(agent), row["played"], int(row["seeds"]), of_agents[str(agent)].drop(columns="agent"))
        for agent, row in load_published("budget_sources").iterrows()
    )


def score_at(curve: pd.DataFrame, frames: float) -> Score | None:
    """Of one game's curve (frames, score, low, high): the mark that is near, else the line between two of them.

    None before the first mark and behind the last one.
    """
    marks = curve["frames"].to_numpy("float64")
    distance = np.abs(frames - marks) / marks
    if distance.min() <= NEAR:
        row = curve.iloc[int(distance.argmin())]
        return Score(float(row["score"]), float(row["low"]), float(row["high"]))
    if not marks[0] <= frames <= marks[-1]:
        return None
    score, low, high = (
        float(np.interp(frames, marks, curve[name].to_numpy("float64"))) for name in ("score", "low", "high")
    )
    return Score(score, low, high, is_between=True)


def mark_of(frames: float) -> int | None:
    """The mark that so many frames count as; None if none is near."""
    return next((mark for mark in MARKS if abs(frames - mark) <= NEAR * mark), None)
