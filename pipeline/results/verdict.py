"""What a run has learned, in one sentence: the score of its last parameters beside its random player's.

It has learned where the whole interval of its score lies above the random player's (`pipeline.results.random_player`).
Not here: the table above that sentence (`pipeline.results.table`).
"""

import math

import pandas as pd

from pipeline.results.random_player import BELOW, YES, is_above
from pipeline.results.run_scores import LAST, RANDOM
from pipeline.results.scores import MeanInterval


def verdict_of(scores: pd.DataFrame, game: str, protocol: str, then: str) -> str | None:
    """The sentence on one run under one protocol, of its `run_scores`; None if one of the two has no games.

    `then`: what to do if it has not learned.
    """
    rows = scores[(scores["game"] == game) & (scores["protocol"] == protocol)].sort_values("version", kind="stable")
    agents, randoms = rows[rows["agent"] == LAST], rows[rows["agent"] == RANDOM]
    if agents.empty or randoms.empty:
        return None
    return verdict(game, _interval(agents.iloc[-1]), _interval(randoms.iloc[-1]), then)


def verdict(game: str, agent: MeanInterval, random: MeanInterval, then: str) -> str:
    """The sentence on the score of an agent and that of a random player; `then`: what to do if it has not learned."""
    scores = (
        f"the agent scores {_in_words(agent)} in {game} where a random player scores {_in_words(random)} "
        "(means of games, 95 % intervals)"
    )
    if min(agent.num_episodes, random.num_episodes) < 2:
        return f"{scores}: single games do not tell whether it has learned; raise evaluation.num_episodes"
    place = is_above(agent.low, agent.high, {"low": random.low, "high": random.high})
    if place == YES:
        return f"{scores}: it has learned"
    if place == BELOW:
        return f"{scores}: it still plays worse than at random; {then}"
    return f"{scores}: the intervals do not show that it has learned; {then}"


def _in_words(score: MeanInterval) -> str:
    if math.isnan(score.low):  # of a single game, or of games that all scored the same
        return f"{score.mean:,.1f}"
    return f"{score.mean:,.1f} [{score.low:,.1f}, {score.high:,.1f}]"


def _interval(row: "pd.Series[float]") -> MeanInterval:
    return MeanInterval(float(row["score"]), float(row["low"]), float(row["high"]), int(row["episodes"]))
