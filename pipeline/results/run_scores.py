"""From evaluation games to one score per run: the tidy frame that every table and figure over games is made of.

    evaluations (a row per game played) -> run_scores (a row per run, agent and protocol) -> entries -> score_matrix

Evaluations made while a run trained are no scores here: the best of many noisy means is too high. What a run is worth
is its last parameters ("checkpoint"), or those chosen during training and played again on fresh seeds ("best").
Not here: tables (`pipeline.results.table`, `pipeline.results.atari49`), statistics over runs
(`pipeline.results.aggregates`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pipeline.results.load import RUN_KEYS, LoadedRuns, frames_reached
from pipeline.results.protocols import NOOP_STARTS, differences
from pipeline.results.published import load_published
from pipeline.results.scores import FloatArray, mean_interval, normalised_score, seed_interval
from pipeline.rows import BEST as BEST
from pipeline.rows import CHECKPOINT, GAME_FIELDS, PROTOCOL_FIELDS
from pipeline.rows import RANDOM as RANDOM
from pipeline.rows import TRAINING as TRAINING

UNEQUAL_FRAMES = 1.05
"""Runs that end at a budget of frames differ by a few steps; more than this ratio is another budget."""

LAST = CHECKPOINT
"""Value of EvaluationRow.agent that makes the score of a run; BEST and RANDOM make one, too."""

SAMPLED = "sampled"
"""In the name of an entry: its actions were drawn from a policy."""

SAMPLED_NOTE = (
    f"{SAMPLED}: actions drawn from the agent's policy, as in its training; without it the best action is played. "
    "Either way one action in twenty is random, as for the published agents."
)
"""What stands below every table that has such an entry under no-op starts."""

EQUAL_RUNS_NOTE = (
    "Seeds that all score the same: brackets from the lowest to the highest end of the intervals over the games of "
    "each seed."
)
"""What stands below every table in which `are_equal_runs`."""

COLUMNS = (
    *RUN_KEYS,
    "protocol",
    *PROTOCOL_FIELDS,
    "agent",
    "entry",
    "score",
    "low",
    "high",
    "episodes",
    "version",
    "total_frames",
    "reach",
    "wall_seconds",
    "differs",
    "commit",
    "init_from",
)


def run_scores(loaded: LoadedRuns) -> pd.DataFrame:
    """One row per run, protocol and agent, with COLUMNS: mean score in points and its 95 % interval over episodes.

    `entry` is what a table calls it: the experiment, with ", best" where the best parameters were played again, and
    ", sampled" where actions were drawn from a policy.
    `differs` says how it was played otherwise than published scores under no-op starts; "" if it was not.
    `total_frames` are those behind the parameters, `reach` how far the run has come, in frames.
    Of a run evaluated several times the newest parameters count, and a game that was played twice counts once.
    """
    evaluations = loaded.evaluations[loaded.evaluations["agent"].isin([RANDOM, LAST, BEST])]
    evaluations = evaluations.drop_duplicates([*RUN_KEYS, *GAME_FIELDS], keep="last")
    commits = {tuple(run[key] for key in RUN_KEYS): run["commit"] for run in loaded.runs.to_dict("records")}
    origins = {tuple(run[key] for key in RUN_KEYS): run.get("init_from", "") for run in loaded.runs.to_dict("records")}
    reached = frames_reached(loaded)
    rows: list[dict[str, Any]] = []
    by = [*RUN_KEYS, "protocol", "agent", *PROTOCOL_FIELDS]
    for group, games in evaluations.groupby(by, sort=True):
        keys: dict[str, Any] = dict(zip(by, group, strict=True))
        newest = games[games["version"] == games["version"].max()]
        score = mean_interval(newest["score"])
        rows.append(
            keys
            | {
                "entry": entry_name(str(keys["experiment"]), str(keys["agent"]), is_sampled=bool(keys["sampled"])),
                "score": score.mean,
                "low": score.low,
                "high": score.high,
                "episodes": score.num_episodes,
                "version": newest["version"].iloc[0],
                "total_frames": newest["total_frames"].max(),
                "reach": reached[tuple(keys[key] for key in RUN_KEYS)],
                "wall_seconds": newest["wall_seconds"].max(),
                "differs": differences(keys, NOOP_STARTS, is_random_player=keys["agent"] == RANDOM),
                "commit": commits.get(tuple(keys[key] for key in RUN_KEYS)),
                "init_from": origins.get(tuple(keys[key] for key in RUN_KEYS), ""),
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def entry_name(experiment: str, agent: str, *, is_sampled: bool = False) -> str:
    """What a table calls the scores of an experiment's runs."""
    if agent == RANDOM:
        return "random player"
    name = experiment if agent == LAST else f"{experiment}, {agent}"
    return f"{name}, {SAMPLED}" if is_sampled else name


def entries(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Entry -> its rows of `run_scores`, of those trained agents alone that were played like the published ones.

    One row a run: if several protocols have the settings of the published one, the newest parameters, and of those the
    protocol with the most games.
    """
    comparable = scores[(scores["differs"] == "") & (scores["agent"] != RANDOM)]
    in_order = comparable.sort_values(["version", "episodes"], kind="stable")
    comparable = in_order.drop_duplicates([*RUN_KEYS, "entry"], keep="last").sort_index()
    return {str(name): rows for name, rows in comparable.groupby("entry", sort=True)}


def interval_over_runs(runs: pd.DataFrame) -> tuple[float, float]:
    """The 95 % interval of the mean of rows of `run_scores`, one a run of one game; NaN where nothing is known of it.

    Student's t over runs. Where they have no spread, being one or all the same, it would know nothing: there it is from
    the lowest to the highest end of their intervals over games.
    """
    if runs["score"].nunique() == 1:
        # By NumPy, which keeps NaN: of a run that knows nothing of itself nothing is known of all.
        low, high = runs["low"].to_numpy("float64").min(), runs["high"].to_numpy("float64").max()
        if not np.isnan(low):
            return float(low), float(high)
    return seed_interval(runs["score"])


def are_equal_runs(scores: pd.DataFrame, by: Sequence[str]) -> bool:
    """Whether some group of `by` has several runs that all score the same, and an interval all the same."""
    groups = scores.groupby(list(by))
    equal = (groups["score"].nunique() == 1) & (groups.size() > 1) & (groups["low"].count() == groups.size())
    return bool(equal.any())


def rliable_scores(of_entries: Mapping[str, pd.DataFrame], games: Sequence[str]) -> dict[str, FloatArray]:
    """Entry -> normalised scores (num_runs, num_games), 1.0 the human, as rliable takes them.

    Only entries that have all of `games`, and of those only as many runs as each game has.
    """
    published = load_published().loc[list(games)]
    random, human = (published[column].to_numpy("float64") for column in (NOOP_STARTS.random, NOOP_STARTS.human))
    matrices = {name: score_matrix(rows, games) for name, rows in of_entries.items() if set(games) <= set(rows["game"])}
    whole = {name: matrix[~np.isnan(matrix).any(axis=1)] for name, matrix in matrices.items()}
    return {name: normalised_score(matrix, random, human) / 100 for name, matrix in whole.items()}


def score_matrix(scores: pd.DataFrame, games: Sequence[str]) -> FloatArray:
    """The scores of one entry as (num_runs, num_games); NaN where a run is missing, runs of a game in order of seed."""
    columns = [scores[scores["game"] == game].sort_values("seed")["score"].to_numpy(dtype="float64") for game in games]
    matrix = np.full((max((len(column) for column in columns), default=0), len(games)), np.nan)
    for index, column in enumerate(columns):
        matrix[: len(column), index] = column
    return matrix
