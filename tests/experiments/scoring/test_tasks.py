"""Evaluations as tasks on real hosts. Which one starts where: `test_queue`; hosts that die: `test_at_the_end`."""

import threading
from pathlib import Path

import numpy as np

from pipeline.cluster.session import open_session
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.scoring.tasks import Evaluation, evaluator_spec, play_all
from pipeline.param_server.snapshot import first_snapshot
from pipeline.rows import CHECKPOINT
from tests.clusters import cluster_config, wait_until
from tests.experiments.smoke_runs import smoke_config


def test_what_ends_while_other_games_are_taken_is_kept_though_ctrl_c_comes(tmp_path: Path) -> None:
    config = smoke_config(tmp_path)
    spec = evaluator_spec(config, Checkpoint(first_snapshot(np.zeros(1, np.float32)), {}, generation=1), CHECKPOINT)
    interrupt = threading.Event()
    taken: list[int] = []
    shown: list[tuple[int, int]] = []
    with open_session(cluster_config("threads"), num_hosts=2, threads_per_host=1) as session:

        def is_idle() -> bool:
            return not any(session.client.processing().values())

        evaluations = [Evaluation(spec, load=None)] * 3

        def show(*counts: int) -> None:
            shown.append(counts)  # type: ignore[arg-type]

        for index, games in play_all(session, config.cluster, evaluations, interrupt, print, show=show):
            wait_until(is_idle, "all that was started has ended")
            interrupt.set()
            taken.append(index)
            assert len(games) == config.evaluation.num_episodes
    assert sorted(taken) == [0, 1], "two hosts, and nothing is started any more"
    size = config.evaluation.num_episodes
    assert shown[0] == (0, 3 * size) and shown == sorted(shown)
