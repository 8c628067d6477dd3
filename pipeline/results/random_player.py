"""Our random player's scores by game, the floor of every score of ours: is an agent better than chance?

An agent is above it where the whole interval of its score lies above the whole interval of the random player's: of two
equal players that says so of one game in a hundred at most, where the mean above the interval would say so of one in
fifteen (`tests/results/test_random_player.py`).
Not here: the published random player, who normalises (`pipeline.results.published`) and is tested against
(`pipeline.results.random_play`).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pipeline.results.load import LoadedRuns
from pipeline.results.protocols import RANDOM_FIELDS, Starts
from pipeline.results.run_scores import RANDOM
from pipeline.results.scores import mean_interval

OUR_RANDOM_PLAYER = "ours: random player"
"""What tables call it."""

COLUMNS = ("game", *RANDOM_FIELDS, "mean", "low", "high")
"""Mean score in points with its 95 % interval over episodes; NaN for a single one."""

YES, NO, BELOW, NOT_PLAYED, NOT_KNOWN = "yes", "no", "below", "not played", "not known"
"""Whether an agent is above: intervals apart, intervals that meet, apart the other way, no random games alike, one of
the two without an interval."""

NOT_KNOWN_NOTE = (
    f'Above random, "{NOT_KNOWN}": one of the two scores has no interval, being of a single game or of a few that all '
    "ended the same."
)
"""What stands below every table that says so of a game."""


def random_scores(loaded: LoadedRuns) -> pd.DataFrame:
    """One row per game and per way to play it, with COLUMNS; a game that several runs played alike counts once."""
    games = loaded.evaluations[loaded.evaluations["agent"] == RANDOM]
    games = games.drop_duplicates(["game", *RANDOM_FIELDS, "episode_seed", "start_step"])
    rows = [
        (*keys, *mean_interval(played["score"])[:3])
        for keys, played in games.groupby(["game", *RANDOM_FIELDS], sort=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def of_starts(random: pd.DataFrame, starts: Starts) -> pd.DataFrame:
    """Those of `random_scores` that were played as agents are under `starts`, by game."""
    if starts.played is None:
        return random.iloc[:0].set_index("game")
    return random[played_alike(random, starts.played, RANDOM_FIELDS)].set_index("game")


def played_alike(random: pd.DataFrame, played: Mapping[str, Any], fields: Sequence[str]) -> "pd.Series[bool]":
    """Which of `random_scores` have the values of `played` in `fields`."""
    return (random[list(fields)] == pd.Series({field: played[field] for field in fields})).all(axis=1)


def is_above(low: float, high: float, random: Mapping[Any, Any] | None) -> str:
    """One of these words, of the 95 % interval of an agent's score and a row of `random_scores`."""
    if random is None:
        return NOT_PLAYED
    # Each comparison with NaN is false: the last word would be that the intervals meet.
    if any(math.isnan(bound) for bound in (low, high, random["low"], random["high"])):
        return NOT_KNOWN
    return YES if low > random["high"] else BELOW if high < random["low"] else NO
