"""Scores of ours that were played otherwise than the published ones: each with its protocol, none of them normalised.

Under `ba3c_50` the scores that are listed for DBA3C stand beside ours: fifty games, the best action always, 2 to 4
frames a step at random, on an emulator of 2017 that is believed to repeat actions by chance; how near ours comes is not
known.
Not here: scores under no-op starts (`pipeline.results.atari49`), our random player (`pipeline.results.random_play`).
"""

import numpy as np
import pandas as pd

from pipeline.results.formats import ReportTable, interval_cell
from pipeline.results.protocols import BA3C, BA3C_PLAYED, OUR_START_STATES, RANDOM_FIELDS
from pipeline.results.published import load_published
from pipeline.results.random_player import NOT_KNOWN, NOT_KNOWN_NOTE, NOT_PLAYED, is_above
from pipeline.results.run_scores import EQUAL_RUNS_NOTE, RANDOM, are_equal_runs, interval_over_runs

_PLAYED = ("game", *RANDOM_FIELDS)
_GROUPS = ("game", "entry", "protocol", "differs")

COLUMNS = (
    "game",
    "entry",
    "protocol",
    "score",
    "low",
    "high",
    "seeds",
    "episodes",
    "differs",
    "dba3c",
    "random",
    "random_low",
    "random_high",
    "above_random",
)
"""Score in points, with the interval of `run_scores.interval_over_runs`; dba3c: listed, NaN if none;
random: our random player under the same protocol, NaN if it did not play."""


def other_protocols_table(scores: pd.DataFrame, random: pd.DataFrame) -> ReportTable:
    """One row per game, entry and protocol of `run_scores` that differs from the published one; there may be none.

    `random`: our random player's, as `random_player.random_scores` gives them.
    """
    apart = scores[(scores["differs"] != "") & (scores["agent"] != RANDOM)]
    listed = load_published("dba3c_scores")["ddrl_a3c_score_paperswithcode"]
    floors = {tuple(row[field] for field in _PLAYED): row for row in random.to_dict("records")}
    rows = []
    for (game, entry, protocol, differs), runs in apart.groupby(list(_GROUPS), sort=True):
        low, high = interval_over_runs(runs)
        # The name alone says little: settings of a protocol can be changed on the command line.
        is_theirs = protocol == BA3C and (runs[list(BA3C_PLAYED)] == pd.Series(BA3C_PLAYED)).all(axis=None)
        dba3c = listed.get(game, float("nan")) if is_theirs else float("nan")
        floor = floors.get(tuple(runs.iloc[0][list(_PLAYED)]))
        rows.append(
            (game, entry, protocol, runs["score"].mean(), low, high, len(runs), runs["episodes"].sum(), differs, dba3c)
            + ((np.nan,) * 3 if floor is None else (floor["mean"], floor["low"], floor["high"]))
            + (is_above(low, high, floor),)
        )
    numbers = pd.DataFrame(rows, columns=list(COLUMNS))
    text = pd.DataFrame(
        {
            "game": numbers["game"],
            "agent": "ours: " + numbers["entry"].astype(str),
            "protocol": numbers["protocol"],
            "score": [interval_cell(row["score"], row["low"], row["high"], 1) for row in numbers.to_dict("records")],
            "seeds": numbers["seeds"].astype(str),
            "our random": [
                NOT_PLAYED
                if pd.isna(row["random"])
                else interval_cell(row["random"], row["random_low"], row["random_high"], 1)
                for row in numbers.to_dict("records")
            ],
            "above random": numbers["above_random"],
            "DBA3C, as listed": ["-" if pd.isna(score) else f"{score:,.1f}" for score in numbers["dba3c"]],
            "played otherwise": numbers["differs"],
        }
    )
    notes = _notes(numbers, has_equal_runs=are_equal_runs(apart, _GROUPS))
    return ReportTable("other_protocols", "Other protocols", numbers, text, notes)


def _notes(numbers: pd.DataFrame, *, has_equal_runs: bool) -> tuple[str, ...]:
    found = [
        "Not to be compared with scores under no-op starts, nor rows of different protocols with each other.",
        "Brackets: 95 % interval, Student's t over seeds; with a single seed over its episodes.",
        "Above random: the whole interval lies above that of our random player under the same protocol.",
    ]
    if numbers["above_random"].eq(NOT_KNOWN).any():
        found.append(NOT_KNOWN_NOTE)
    if has_equal_runs:
        found.append(EQUAL_RUNS_NOTE)
    if numbers["differs"].str.contains("start_states ").any():
        found.append(OUR_START_STATES)
    if numbers["dba3c"].notna().any():
        found.append(
            "DBA3C: scores listed for Adamski et al. 2018, by results/published/dba3c_scores.csv; random frame skip, "
            "an emulator of 2017, and believed to have sticky actions. A frame of reference, no equal."
        )
    return tuple(found)
