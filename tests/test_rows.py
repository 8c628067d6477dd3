"""The columns of evaluation games: none is lost on the way, and a field that is new to the protocol is noticed.

A new field of `HowPlayed` reaches the report of the environment, the rows, what tells games apart and the tables by
itself. What it needs by hand fails here, or in mypy, until it is done.
"""

import dataclasses
from dataclasses import replace
from typing import Any

import pytest

from pipeline.envs.atari import EnvironmentReport
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.evaluation.play import how_played
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.evaluation.start_states import StartStates
from pipeline.results.protocols import BA3C_PLAYED
from pipeline.results.run_scores import COLUMNS
from pipeline.rows import (
    GAME_FIELDS,
    NO_START_STATES,
    PROTOCOL_FIELDS,
    TRUE_BEFORE,
    AgentPlayed,
    EnvironmentPlayed,
    EvaluationRow,
    HowPlayed,
)
from tests.protocols import nature_protocol

PROTOCOL = EvaluationConfig("noop_starts", 30, 0.05, "greedy", None, None, nature_protocol())

NOT_TOLD = {
    "fire_on_reset", "frame_height", "frame_width", "stack", "max_pool", "life_loss_ends_return", "clip_rewards",
}  # fmt: skip
"""Settings of an environment that no row tells of: how its pictures are made, and what only training does."""

FIRST_VERSION = {
    "epsilon", "frame_skip", "sticky_probability", "noop_max", "max_frames", "full_action_set", "grey",
}  # fmt: skip
"""Fields of the protocol in the rows of the first version."""


def names(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def test_the_columns_of_evaluations_are_in_the_order_of_the_files_that_are_there() -> None:
    assert names(EvaluationRow) == [
        "protocol", "agent", "version", "total_frames", "episode", "episode_seed", "start_step", "score", "num_steps",
        "truncated", "epsilon", "sampled", "max_equal_actions", "frame_skip", "min_frame_skip", "sticky_probability",
        "noop_max", "max_frames", "full_action_set", "grey", "start_states", "commit", "wall_seconds",
    ]  # fmt: skip


def test_all_lists_of_the_protocol_s_fields_are_the_same_list() -> None:
    assert [name for name in names(EvaluationRow) if name in PROTOCOL_FIELDS] == [*PROTOCOL_FIELDS] == names(HowPlayed)
    assert {*PROTOCOL_FIELDS} <= {*GAME_FIELDS} and {*PROTOCOL_FIELDS} <= {*COLUMNS}
    assert BA3C_PLAYED.keys() == {*PROTOCOL_FIELDS}


def test_every_setting_of_an_environment_is_told_by_its_rows_or_left_out_on_purpose() -> None:
    told = names(EnvironmentPlayed)
    assert {*names(EnvironmentConfig)} == {*told} | NOT_TOLD and not {*told} & NOT_TOLD
    settings = {field.name: field.type for field in dataclasses.fields(EnvironmentConfig)}
    for kind in (EnvironmentPlayed, EnvironmentReport, HowPlayed):
        assert {field.name: field.type for field in dataclasses.fields(kind) if field.name in told} == {
            name: settings[name] for name in told
        }


@pytest.mark.parametrize("name", names(EnvironmentPlayed))
def test_another_environment_is_another_way_to_play(name: str) -> None:
    value = getattr(PROTOCOL.environment, name)
    other = replace(PROTOCOL.environment, **{name: not value if isinstance(value, bool) else value + 1})
    before = how_played(PROTOCOL, PROTOCOL.environment, False, None)
    after = how_played(replace(PROTOCOL, environment=other), other, False, None)
    assert after == replace(before, **{name: getattr(other, name)}) != before


def test_another_agent_or_another_start_is_another_way_to_play() -> None:
    starts = StartStates("Breakout", nature_protocol(), "recorded games", "", "", ())
    before = how_played(PROTOCOL, PROTOCOL.environment, False, None)
    after = how_played(replace(PROTOCOL, epsilon=0.5, max_equal_actions=9), PROTOCOL.environment, True, starts)
    assert before.start_states == NO_START_STATES and before.max_equal_actions == 0
    changed = {name for name in PROTOCOL_FIELDS if getattr(before, name) != getattr(after, name)}
    assert changed == {*names(AgentPlayed), "start_states"}
    assert {*names(EvaluationConfig)} == {
        "protocol", "num_episodes", "environment", "policy", "epsilon", "max_equal_actions", "start_states",
    }, "a new setting of evaluations is told by their rows, or it is added here"  # fmt: skip


def test_rows_of_before_a_field_was_added_are_read_as_what_was_true_then() -> None:
    added = {*PROTOCOL_FIELDS} - FIRST_VERSION
    assert added <= TRUE_BEFORE[EvaluationRow].keys() <= {*names(EvaluationRow)}
