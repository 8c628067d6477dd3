"""Made-up rows, and sizes at which both systems turn in seconds."""

import math

from studies.scored_runs import DRAWN, GREEDY, RANDOM, ScoredRow

TINY = ("network.hidden_units=16", "topology.num_lanes=2", "evaluation.num_episodes=2", "progress=none")

_ENDS = {"": 0.0, "_low": -10.0, "_high": 10.0}


def row(case: str, game: str, score: float, drawn: float = math.nan, random: float = 100.0) -> ScoredRow:
    """Intervals are ten points to each side."""
    ways = {GREEDY: score, DRAWN: drawn, RANDOM: random}
    scores = {f"{way}{end}": value + by for way, value in ways.items() for end, by in _ENDS.items()}
    run = {"seed": 0, "frames": 360_000, "active_filters": math.nan, "processor": "avx2, float32", "run_commit": "012"}
    return ScoredRow(case, game, **run, **scores)  # type: ignore[arg-type]
