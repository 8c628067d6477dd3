"""Evaluations as tasks on real hosts. Which one starts where: `test_queue`; hosts that die: `test_at_the_end`."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.cluster.session import open_session
from pipeline.envs.rom import ale_version, rom_md5
from pipeline.errors import ConfigError
from pipeline.evaluation.start_states import StartState, StartStates, save
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.run import train
from pipeline.experiments.scoring.tasks import Evaluation, evaluator_spec, play_all, starts_of
from pipeline.param_server.snapshot import first_snapshot
from pipeline.rows import CHECKPOINT
from tests.clusters import cluster_config, wait_until
from tests.experiments.smoke_runs import smoke_config


def test_start_states_that_are_too_few_for_games_beside_the_training_are_told_before_it(tmp_path: Path) -> None:
    config = smoke_config(tmp_path, "training_evaluation.every_frames=100", "training_evaluation.num_episodes=3")
    points = tuple(StartState(seed, b"\x00", 0.0) for seed in (1, 2))
    environment = config.evaluation.environment
    starts = StartStates(config.game, environment, "a test", ale_version(), rom_md5(config.game), points)
    save(tmp_path / "two.json", starts)
    evaluation = replace(config.evaluation, num_episodes=2, start_states=str(tmp_path / "two.json"))
    config = replace(config, evaluation=evaluation)
    with pytest.raises(ConfigError, match=r"training_evaluation.num_episodes=3 is more than the 2 start states"):
        train(config)
    assert not config.folder.exists()
    alone = replace(config, training_evaluation=replace(config.training_evaluation, every_frames=None))
    assert starts_of(alone) == starts
    (tmp_path / "two.json").unlink()
    end = Checkpoint(first_snapshot(np.zeros(1, np.float32)), {}, generation=1)
    assert evaluator_spec(config, end, CHECKPOINT, starts).starts == starts, "a file that goes later ends no training"


def test_what_ends_while_other_games_are_taken_is_kept_though_ctrl_c_comes(tmp_path: Path) -> None:
    config = smoke_config(tmp_path)
    end = Checkpoint(first_snapshot(np.zeros(1, np.float32)), {}, generation=1)
    spec = evaluator_spec(config, end, CHECKPOINT, None)
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
