import dataclasses

import pytest

from pipeline.experiments.curves.scalars import EVALUATIONS, Scalar, scalars
from pipeline.rows import ActorCriticUpdateRow, UpdateRow
from tests.results.run_folders import actor_critic_update, episode, evaluation, update


def test_a_game_gives_its_score_and_length_at_its_frames() -> None:
    assert scalars([episode(3.0, 1000, role="bundle-1")]) == [
        Scalar("bundle-1", "episodes/score", 3.0, 1000, 10.0),
        Scalar("bundle-1", "episodes/num_steps", 250.0, 1000, 10.0),
    ]


@pytest.mark.parametrize("row", [update(heldout_max_q=2.0), actor_critic_update()])
def test_every_measure_of_an_update_row_is_a_curve(row: UpdateRow | ActorCriticUpdateRow) -> None:
    columns = {field.name for field in dataclasses.fields(row)} - {"role", "total_frames", "wall_seconds"}
    points = scalars([row])
    assert {point.tag for point in points} == {f"updates/{name}" for name in columns}
    assert all(point.value == getattr(row, point.tag.removeprefix("updates/")) for point in points)
    assert {(point.source, point.frames) for point in points} == {(row.role, row.total_frames)}


def test_what_was_not_measured_gives_no_point() -> None:
    assert "updates/heldout_max_q" not in {point.tag for point in scalars([update()])}


def test_games_of_an_evaluation_are_one_mean_and_each_protocol_agent_and_version_has_its_own() -> None:
    games = [
        *(evaluation(score, number) for number, score in enumerate([1.0, 2.0, 6.0])),
        evaluation(10.0, agent="random", version=0, total_frames=0),
        evaluation(7.0, version=200, total_frames=8000),
        evaluation(8.0, protocol="sticky"),
        evaluation(99.0, epsilon=0.001),
    ]
    assert [(point.tag, point.value, point.frames) for point in scalars(games)] == [
        ("evaluations/noop_starts/checkpoint", 3.0, 4000),
        ("evaluations/noop_starts/random", 10.0, 0),
        ("evaluations/noop_starts/checkpoint", 7.0, 8000),
        ("evaluations/sticky/checkpoint", 8.0, 4000),
        ("evaluations/noop_starts (2)/checkpoint", 99.0, 4000),
    ]
    assert {point.source for point in scalars(games)} == {EVALUATIONS}
