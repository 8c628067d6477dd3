"""Rows of a worker: means over a group of gradients, and what became of each."""

from types import SimpleNamespace

import pytest
import torch

from pipeline.algorithms.actor_critic import ActorCriticLoss
from pipeline.roles import worker_statistics
from pipeline.roles.worker_statistics import WorkerStatistics
from pipeline.types import Receipt


def loss(number: float) -> ActorCriticLoss:
    """Six scalars that can be told apart."""
    return ActorCriticLoss(*(torch.tensor(number + i) for i in range(6)))


FILTERS = torch.tensor([[3.0, 4.0], [0.0027, 0.0036], [0.0, 0.0], [0.06, 0.08]])
"""Gradients of four filters with root mean squares in the ratio 1,000 : 0.9 : 0 : 20."""


def receipts(reason: str, *staleness: int) -> tuple[Receipt, ...]:
    """One per shard."""
    return tuple(Receipt(reason == "", reason, 9, age) for age in staleness)


def test_a_row_holds_the_means_of_its_group_and_the_next_group_begins_at_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SimpleNamespace(monotonic=lambda: 100.0)
    monkeypatch.setattr(worker_statistics, "time", clock)
    statistics = WorkerStatistics("worker-0", num_steps=50)
    statistics.computed(loss(1.0), gradient_norm=2.0, first_layer=FILTERS)
    clock.monotonic = lambda: 100.5
    statistics.computed(loss(3.0), gradient_norm=4.0, first_layer=FILTERS)
    statistics.answered(receipts("", 0, 0))
    statistics.answered(receipts("", 2, 4))
    statistics.waited(0.25)
    statistics.waited(0.5)
    statistics.delayed(1.5)
    clock.monotonic = lambda: 104.0
    row = statistics.row(version=7, num_steps=90, total_frames=360, wall_seconds=5.0)
    assert (row.role, row.num_updates, row.version, row.total_frames, row.wall_seconds) == ("worker-0", 2, 7, 360, 5.0)
    # objective 2, policy 3, value loss 4, entropy 5, explained variance 6, value 7
    means = (row.mean_policy_loss, row.mean_value_loss, row.mean_entropy, row.mean_explained_variance, row.mean_value)
    assert means == (3.0, 4.0, 5.0, 6.0, 7.0) and row.mean_gradient_norm == 3.0
    assert (row.num_admitted, row.mean_staleness, row.max_staleness) == (2, 1.5, 4)
    assert row.active_filters == 0.5, "less than a thousandth of the largest is nothing"
    assert (row.steps_per_second, row.updates_per_second) == (10.0, 0.5)
    assert (row.waited_seconds, row.max_pause_seconds, row.delayed_seconds) == (0.75, 0.5, 1.5)

    statistics.computed(loss(0.0), gradient_norm=1.0, first_layer=FILTERS)
    clock.monotonic = lambda: 105.0
    row = statistics.row(version=8, num_steps=91, total_frames=364, wall_seconds=6.0)
    assert (row.num_updates, row.num_admitted, row.max_staleness, row.mean_staleness) == (1, 0, 0, 0.0)
    assert (row.waited_seconds, row.delayed_seconds, row.steps_per_second) == (0.0, 0.0, 1.0)
    assert row.max_pause_seconds == 3.5, "counted from the last gradient of the group before"


def test_each_gradient_is_counted_by_what_the_shards_said_of_it() -> None:
    statistics = WorkerStatistics("worker-0", num_steps=0)
    for reason in ("", "late", "late", "stale", "duplicate", "old_generation"):
        statistics.computed(loss(0.0), gradient_norm=0.0, first_layer=FILTERS)
        statistics.answered(receipts(reason, 1, 1))
    statistics.answered(())
    row = statistics.row(version=0, num_steps=0, total_frames=0, wall_seconds=0.0)
    assert (row.num_admitted, row.num_dropped_late, row.num_dropped_stale, row.num_refused) == (1, 2, 1, 2)
    assert row.num_updates == 6


def test_a_gradient_that_one_shard_dropped_for_its_age_is_stale() -> None:
    statistics = WorkerStatistics("worker-0", num_steps=0)
    statistics.computed(loss(0.0), gradient_norm=0.0, first_layer=FILTERS)
    statistics.answered(receipts("", 1) + receipts("stale", 9))
    row = statistics.row(version=0, num_steps=0, total_frames=0, wall_seconds=0.0)
    assert (row.num_admitted, row.num_dropped_stale, row.max_staleness) == (0, 1, 9)
