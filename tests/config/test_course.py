"""How much of its budget a run has spent, and how to go on beyond it."""

import pytest

from pipeline.config.course import BudgetConfig, fraction_spent


@pytest.mark.parametrize(
    ("budget", "fraction"),
    [
        (BudgetConfig(frames=400, minutes=None, score=None), 0.25),
        (BudgetConfig(frames=None, minutes=1.0, score=None), 0.5),
        (BudgetConfig(frames=400, minutes=1.0, score=None), 0.5),
        (BudgetConfig(frames=50, minutes=1.0, score=None), 1.0),
    ],
)
def test_of_two_limits_the_nearer_one_counts(budget: BudgetConfig, fraction: float) -> None:
    assert fraction_spent(budget, num_frames=100, wall_seconds=30.0) == fraction


@pytest.mark.parametrize(
    ("num_frames", "wall_seconds", "doubled"),
    [
        (999, 89.0, []),
        (1_000, 0.0, ["budget.frames=2_000"]),
        (0, 90.0, ["budget.minutes=3"]),
        (1_004, 90.5, ["budget.frames=2_000", "budget.minutes=3"]),
        (2_000, 0.0, ["budget.frames=4_000"]),
        (3_008, 550.0, ["budget.frames=4_000", "budget.minutes=12"]),
    ],
)
def test_the_limits_that_a_run_has_reached_are_doubled(
    num_frames: int, wall_seconds: float, doubled: list[str]
) -> None:
    assert BudgetConfig(frames=1_000, minutes=1.5, score=None).doubled(num_frames, wall_seconds) == doubled


def test_a_limit_that_there_is_not_is_not_reached() -> None:
    assert BudgetConfig(frames=None, minutes=10.0, score=None).doubled(10**9, 0.0) == []
    assert BudgetConfig(frames=10, minutes=None, score=None).doubled(0, 1e9) == []
