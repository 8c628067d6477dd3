"""Whole runs whose network is an ordinary torch module: trained, gone on with, scored and asked for its opinion."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from pipeline.errors import RunFolderError
from pipeline.evaluate import parse_request
from pipeline.evaluation import recordings
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.saved_config import read_config
from pipeline.experiments.run import train
from pipeline.experiments.run_result import RunResult
from pipeline.experiments.scoring.afterwards import evaluate_runs
from pipeline.experiments.scoring.recorded_games import opinions_of_player
from pipeline.results.load import load_run
from tests.experiments.smoke_runs import frames_beyond, smoke_config

FRAMES = 3_000
VALUES = ("network=module", "network.class=tests.networks.modules.Values", "evaluation.num_episodes=1")
POLICY = ("network=module", "network.class=tests.networks.modules.PolicyAndValues", "evaluation.num_episodes=1")


def carry_out(results_dir: Path, experiment: str, *words: str) -> RunResult:
    return train(smoke_config(results_dir, *words, experiment=experiment), Console(file=io.StringIO()))


@pytest.mark.slow
def test_a_module_learns_values_and_its_run_can_be_gone_on_with_scored_and_shown(tmp_path: Path) -> None:
    more = ("algorithm.double=true", "algorithm.n_step=3", "training_evaluation.every_frames=null")
    first = carry_out(tmp_path, "smoke_gorila", *VALUES, *more, f"budget.frames={FRAMES}")
    assert first.folder is not None and first.end_reason == "budget"
    before = checkpoint.load_newest(first.folder / "checkpoints")
    assert np.isfinite(before.server.params).all() and before.server.version > 20
    budget = frames_beyond(first.folder, FRAMES)
    carry_out(tmp_path, "smoke_gorila", *VALUES, *more, f"budget.frames={budget}", "resume=true")
    after = checkpoint.load_newest(first.folder / "checkpoints")
    assert after.server.version > before.server.version
    request = parse_request([f"run={first.folder}", "evaluation=sticky", "evaluation.num_episodes=1",
                             "evaluation.environment.max_frames=400"])  # fmt: skip
    assert evaluate_runs(request, Console(file=io.StringIO())).num_played == 1
    loaded = load_run(first.folder)
    assert loaded.problems == () and set(loaded.evaluations["protocol"]) == {"smoke", "sticky"}
    (recording,) = (first.folder / "recordings").glob(f"smoke_checkpoint_{after.server.version:012d}.npz")
    (played, *_) = recordings.load(recording)
    shape = (played.episode.config.stack, *played.episode.config.frame_shape)
    opinion = opinions_of_player(first.folder, played)(np.zeros(shape, np.uint8))
    assert opinion.of_actions.shape == (4,)


@pytest.mark.slow
def test_a_module_learns_a_policy_by_a_quorum_of_workers(tmp_path: Path) -> None:
    run = carry_out(tmp_path, "smoke_dba3c", *POLICY, "environment.max_frames=300", f"budget.frames={FRAMES}")
    assert run.folder is not None and run.end_reason == "budget"
    end, loaded = checkpoint.load_newest(run.folder / "checkpoints"), load_run(run.folder)
    assert len(set(end.server.versions)) == 1 and end.server.version > 10
    assert np.isfinite(end.server.params).all()
    assert set(loaded.actor_critic_updates["role"]) == {"worker-0", "worker-1"}
    assert set(loaded.evaluations["agent"]) == {"checkpoint", "random"}


@pytest.mark.slow
def test_a_run_whose_module_is_gone_says_so_and_blames_no_other_version(tmp_path: Path) -> None:
    run = carry_out(tmp_path, "smoke_dqn", *VALUES, "budget.frames=400")
    assert run.folder is not None
    file = run.folder / "config.yaml"
    file.write_text(file.read_text().replace("tests.networks.modules", "tests.networks.gone"))
    with pytest.raises(RunFolderError, match=r"names what cannot be used here: network\.class=tests\.networks\.gone"):
        read_config(run.folder)
