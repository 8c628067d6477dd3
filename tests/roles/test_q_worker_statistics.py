"""Rows of a worker that learns values."""

import torch

from pipeline.algorithms.q_learning import MinibatchLoss
from pipeline.roles.q_worker_statistics import QWorkerStatistics
from pipeline.types import Receipt

FIRST_LAYER = torch.zeros(2, 2)


def loss(mean_loss: float, mean_q: float) -> MinibatchLoss:
    return MinibatchLoss(
        torch.tensor(0.0), torch.tensor(mean_loss), torch.tensor(mean_q), torch.zeros(1), torch.zeros(1)
    )


def test_a_row_holds_the_means_of_its_group_and_the_next_group_begins_at_nothing() -> None:
    statistics = QWorkerStatistics("worker-0", 50, epsilon=lambda: 0.25, heldout_max_q=lambda: 1.5)
    for mean_loss, mean_q, norm in ((1.0, 2.0, 3.0), (3.0, 4.0, 5.0), (5.0, 6.0, 7.0)):
        statistics.computed(loss(mean_loss, mean_q), norm, FIRST_LAYER)
    for reason in ("", "late", "stale"):
        statistics.answered((Receipt(reason == "", reason, 9, 0),))
    statistics.answered(())
    statistics.waited(0.25)
    statistics.waited(0.5)
    assert statistics.num_updates == 3
    row = statistics.row(version=7, num_steps=90, total_frames=360, wall_seconds=5.0)
    assert (row.role, row.num_updates, row.version, row.total_frames, row.wall_seconds) == ("worker-0", 3, 7, 360, 5.0)
    assert (row.mean_loss, row.mean_q, row.mean_gradient_norm) == (3.0, 4.0, 5.0)
    assert (row.num_admitted, row.num_dropped_stale, row.num_refused, row.num_dropped_outlier) == (1, 2, 0, 0)
    assert (row.epsilon, row.heldout_max_q, row.waited_seconds, row.replay_transitions) == (0.25, 1.5, 0.75, 0)

    statistics.computed(loss(1.0, 1.0), 1.0, FIRST_LAYER)
    row = statistics.row(version=8, num_steps=91, total_frames=364, wall_seconds=6.0)
    assert (row.num_updates, row.num_admitted, row.waited_seconds, row.mean_q) == (1, 0, 0.0, 1.0)
