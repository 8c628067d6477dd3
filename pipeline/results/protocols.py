"""How published scores were played: which columns belong together, and whether a score of ours was played the same way.

Scores stand side by side only where the protocol is the same; otherwise each difference is named.
Not here: the numbers (`pipeline.results.published`), playing (`pipeline.evaluation`).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from pipeline.results.published import load_published
from pipeline.rows import NO_START_STATES, PROTOCOL_FIELDS, AgentPlayed, HowPlayed

OUR_START_STATES = (
    "Start states are points of recorded games of ours, not the paper's human starts, which were never published."
)
"""What stands below every table that holds such games."""

BA3C = "ba3c_50"
"""Name of the protocol that DBA3C's authors score with."""

BA3C_PLAYED: Mapping[str, float | bool | str] = dataclasses.asdict(
    HowPlayed(
        epsilon=0.0,
        sampled=False,
        max_equal_actions=30,
        frame_skip=4,
        min_frame_skip=2,
        sticky_probability=0.25,
        noop_max=0,
        max_frames=30_000,
        full_action_set=False,
        grey=False,
        start_states=NO_START_STATES,
    )
)
"""Its PROTOCOL_FIELDS (Adamski et al. 2018, authors' code; `conf/evaluation/ba3c_50.yaml`)."""

_OF_PARAMETERS = {field.name for field in dataclasses.fields(AgentPlayed)}

RANDOM_FIELDS = tuple(field for field in PROTOCOL_FIELDS if field not in {*_OF_PARAMETERS, "grey"})
"""Of these, what a random player has as well; it does not look at the colour of pictures."""


class Starts(NamedTuple):
    """Published columns that were played alike, with the random player and the human that normalise them."""

    name: str
    """As in a caption: "no-op starts"."""
    key: str
    """As in a file name, and the protocol that EvaluationRow names."""
    random: str
    """Column of `atari49_reference` that is 0 % of the human."""
    human: str
    """Column that is 100 %."""
    normalised_by: str
    """Who these two are: there is more than one human in the literature."""
    agents: Mapping[str, str]
    """Agent -> column."""
    papers: Mapping[str, str]
    """Row of a table -> the paper it is from."""
    played: Mapping[str, float | bool | str] | None
    """PROTOCOL_FIELDS of a score that may stand beside these; None where nobody can play like that again. Without
    "sampled": whether an agent has a policy to draw from is its own matter, and stands in its name."""


DQN, GORILA = "DQN (Nature)", "Gorila DQN"

_PAPERS = {
    "random player": "Mnih et al. 2015",
    "human": "Mnih et al. 2015",
    DQN: "Mnih et al. 2015",
    GORILA: "Nair et al. 2015",
}

NOOP_STARTS = Starts(
    name="no-op starts",
    key="noop_starts",
    random="random_noop",
    human="human_noop",
    normalised_by="the random player and the human of Mnih et al. 2015, not the later human of Wang et al. 2016",
    agents={DQN: "dqn_nature_noop", GORILA: "gorila_noop"},
    papers=_PAPERS,
    # Mnih et al. 2015, Methods: evaluation. 30 games of at most 5 minutes, up to 30 no-ops, epsilon 0.05.
    played={
        "epsilon": 0.05,
        "max_equal_actions": 0,
        "frame_skip": 4,
        "min_frame_skip": 4,
        "sticky_probability": 0.0,
        "noop_max": 30,
        "max_frames": 18_000,
        "full_action_set": False,
        "start_states": NO_START_STATES,
    },
)

HUMAN_STARTS = Starts(
    name="human starts",
    key="human_starts",
    random="random_human_starts",
    human="human_human_starts",
    normalised_by="the random player and the human of Nair et al. 2015, from the same start points",
    agents={DQN: "dqn_human_starts", GORILA: "gorila_human_starts"},
    papers=dict.fromkeys(_PAPERS, "Nair et al. 2015"),
    # The 100 start points of each game were never published, so no score of ours can stand beside these.
    played=None,
)


def published_scores(starts: Starts, game: str) -> dict[str, float]:
    """Row of a table ("random player", "human", agents) -> score of one game; empty for one that nobody published."""
    table = load_published()
    if game not in table.index:
        return {}
    columns = {"random player": starts.random, "human": starts.human, **starts.agents}
    return {row: float(table[column][game]) for row, column in columns.items()}


def differences(played: Mapping[Any, Any], starts: Starts, *, is_random_player: bool = False) -> str:
    """How a score with these PROTOCOL_FIELDS was played otherwise: "max_frames 2000 instead of 18000"; "" if alike.

    What only an agent with parameters has is not asked of a random player.
    """
    if starts.played is None:
        return f"{starts.name}: the start points were never published"
    return ", ".join(
        f"{field} {_in_words(field, played[field])} instead of {_in_words(field, wanted)}"
        for field, wanted in starts.played.items()
        if played[field] != wanted and not (is_random_player and field in _OF_PARAMETERS)
    )


def told_apart(names: "pd.Series[str]", games: pd.DataFrame) -> "pd.Series[str]":
    """`names` of `games`, each with those PROTOCOL_FIELDS that differ among its games: "sticky, epsilon 0.01".

    The name of a protocol alone says too little: its settings can be changed on the command line.
    """
    found = names
    for field in PROTOCOL_FIELDS:
        is_mixed = games[field].groupby(names).transform("nunique", dropna=False) > 1
        if is_mixed.any():
            told = games[field].map(lambda value, field=field: f", {field} {_in_words(field, value)}")
            found = found.where(~is_mixed, found + told)
    return found


def _in_words(field: str, value: Any) -> str:
    # A row is of numbers; 0 there would read as the strictest limit.
    return "none" if field == "max_equal_actions" and not value else str(value)
