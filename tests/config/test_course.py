"""How much of its budget a run has spent."""

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
