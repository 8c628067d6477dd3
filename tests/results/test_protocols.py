from typing import Any

import pytest

from pipeline.config.overrides import compose
from pipeline.results.protocols import (
    BA3C,
    BA3C_PLAYED,
    DQN,
    GORILA,
    HUMAN_STARTS,
    NOOP_STARTS,
    Starts,
    differences,
    published_scores,
)
from pipeline.results.published import load_published
from pipeline.rows import PROTOCOL_FIELDS

PLAYED: dict[str, Any] = {
    "epsilon": 0.05,
    "sampled": False,
    "max_equal_actions": 0,
    "frame_skip": 4,
    "min_frame_skip": 4,
    "sticky_probability": 0.0,
    "noop_max": 30,
    "max_frames": 18_000,
    "full_action_set": False,
    "grey": True,
    "start_states": "none",
}


def test_what_was_played_like_the_papers_differs_in_nothing() -> None:
    assert differences(PLAYED, NOOP_STARTS) == ""
    # It is the agent's own way to act, and stands in its name.
    assert differences(PLAYED | {"sampled": True}, NOOP_STARTS) == ""


def test_the_settings_of_dba3c_s_protocol_are_those_that_it_is_played_with() -> None:
    protocol = compose(["experiment=dba3c_paper", "game=Breakout"]).evaluation
    of_agent = {
        "epsilon": protocol.epsilon,
        "sampled": protocol.policy == "sampled",
        "max_equal_actions": protocol.max_equal_actions,
        "start_states": "none",
    }
    assert protocol.protocol == BA3C and protocol.start_states is None
    assert (
        of_agent | {name: getattr(protocol.environment, name) for name in PROTOCOL_FIELDS if name not in of_agent}
        == BA3C_PLAYED
    )


def test_a_published_protocol_says_what_each_field_was_but_for_an_agent_s_own_way() -> None:
    assert NOOP_STARTS.played is not None
    assert {*PROTOCOL_FIELDS} - NOOP_STARTS.played.keys() == {"sampled", "grey"}
    assert NOOP_STARTS.played.keys() < {*PROTOCOL_FIELDS} == BA3C_PLAYED.keys()


def test_each_difference_is_named_with_both_values() -> None:
    played = PLAYED | {"min_frame_skip": 2, "sticky_probability": 0.25}
    assert differences(played, NOOP_STARTS) == "min_frame_skip 2 instead of 4, sticky_probability 0.25 instead of 0.0"
    differs = differences(PLAYED | {"max_equal_actions": 30}, NOOP_STARTS)
    assert differs == "max_equal_actions 30 instead of none"


def test_a_random_player_has_no_exploration_that_could_differ() -> None:
    assert differences(PLAYED | {"epsilon": 1.0}, NOOP_STARTS, is_random_player=True) == ""
    assert differences(PLAYED | {"noop_max": 0}, NOOP_STARTS, is_random_player=True) == "noop_max 0 instead of 30"


def test_nobody_can_play_like_the_human_starts() -> None:
    assert "never published" in differences(PLAYED, HUMAN_STARTS)


@pytest.mark.parametrize("starts", [NOOP_STARTS, HUMAN_STARTS])
def test_every_column_of_a_kind_of_starts_is_there(starts: Starts) -> None:
    assert {starts.random, starts.human, *starts.agents.values()} <= set(load_published().columns)
    assert {"random player", "human", *starts.agents} == set(starts.papers)


def test_published_scores_of_a_game_are_those_of_the_starts() -> None:
    assert published_scores(NOOP_STARTS, "Pong") == {"random player": -20.7, "human": 9.3, DQN: 18.9, GORILA: 18.3}
    assert published_scores(HUMAN_STARTS, "Pong")[GORILA] == 16.71
    assert published_scores(NOOP_STARTS, "Skiing") == {}
