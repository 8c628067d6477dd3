"""How fast a run was, from its rows."""

import pandas as pd
import pytest

from measuring.worker_speed import budget_seconds, speed
from pipeline.config.overrides import compose
from pipeline.roles import rollout_worker


@pytest.fixture(autouse=True)
def short_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of two gradients, so that a few of them are enough; in this process alone."""
    monkeypatch.setattr(rollout_worker, "UPDATES_PER_ROW", 2)


def update_rows(*rows: tuple[str, int, float, int, int, float]) -> pd.DataFrame:
    """(role, version, wall seconds, gradients, of them late, seconds waited) each."""
    names = ["role", "version", "wall_seconds", "num_updates", "num_dropped_late", "waited_seconds"]
    return pd.DataFrame(rows, columns=names)


def test_speed_is_counted_between_full_rows_of_the_first_worker() -> None:
    config = compose(["experiment=dba3c", "game=Pong", "topology.num_workers=2", "algorithm.batch_size=30"])
    updates = update_rows(
        ("worker-0", 2, 10.0, 2, 0, 5.0),
        ("worker-1", 5, 3.0, 2, 1, 0.0),
        ("worker-0", 4, 11.0, 2, 0, 0.2),
        ("worker-0", 6, 14.0, 2, 1, 0.8),
        ("worker-0", 7, 99.0, 1, 0, 9.0),  # left behind when it was stopped
    )
    measured = speed(config, updates)
    assert measured.num_updates == 4
    assert measured.seconds_per_update == 1.0
    assert measured.data_points_per_second == 2 * 30
    assert measured.late_share == 2 / 9
    assert measured.waited_share == 0.25


def test_of_asynchronous_workers_each_gradient_is_an_update() -> None:
    config = compose(["experiment=dba3c", "game=Pong", "topology.sync=false", "algorithm.batch_size=30"])
    measured = speed(config, update_rows(("worker-0", 2, 10.0, 2, 0, 0.0), ("worker-0", 6, 12.0, 2, 0, 0.0)))
    assert measured.data_points_per_second == 60


def test_a_run_that_was_too_short_is_refused() -> None:
    config = compose(["experiment=dba3c", "game=Pong"])
    with pytest.raises(ValueError, match="worker-0 has 1 full rows of 2 gradients, needed are 2"):
        speed(config, update_rows(("worker-0", 2, 10.0, 2, 0, 0.0), ("worker-1", 4, 12.0, 2, 0, 0.0)))


def test_a_run_lasts_until_slow_updates_have_filled_rows() -> None:
    assert budget_seconds(90.0, 0.0) == "budget.minutes=1.500000"
    # Four rows of two updates of fifteen seconds.
    assert budget_seconds(90.0, 15.0) == "budget.minutes=2.000000"
