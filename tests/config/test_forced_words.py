"""Settings that files lack reach Hydra all the same; all other words reach it as they were typed."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.config.forced_words import for_hydra
from pipeline.config.overrides import check_command_line
from tests.config.test_sweep_words import hydra_config

OWN_ADAM = "kind: adam\nlearning_rate: 1e-3\nlearning_rate_changes: []\nbeta1: 0.9\nbeta2: 0.999\n"
"""An option that leaves epsilon to the command line."""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "optimizer").mkdir()
    (tmp_path / "optimizer" / "mine.yaml").write_text(OWN_ADAM)
    return tmp_path


BATCH, AS_CHOICE = "algorithm.batch_size=64", "algorithm.batch_size=choice(64)"


@pytest.mark.parametrize(
    ("line", "put"),
    [
        ("experiment=dqn game=Pong optimizer.learning_rate=1e-4", {}),
        ("-m experiment=dqn,gorila game=Pong optimizer.learning_rate=1e-4 seed=0,1", {}),
        (f"experiment=dba3c game=Pong {BATCH}", {}),
        (f"-m experiment=dba3c game=Pong,Boxing {BATCH}", {}),
        (f"-m experiment=dba3c,ba3c game=Pong {BATCH}", {BATCH: AS_CHOICE}),
        (f"-m experiment=choice(dba3c) game=Pong {BATCH}", {BATCH: AS_CHOICE}),
        ("-m experiment=dba3c,ba3c game=Pong algorithm.batch_size=64,80", {}),
        (f"-m experiment=dba3c,ba3c game=Pong ++{BATCH}", {}),
        ("-m +sweep=dba3c_games experiment=dba3c algorithm.entropy_weight=0.02", {}),
        ("--cfg job game=Pong", {}),
    ],
)
def test_only_what_hydra_would_refuse_is_changed(line: str, put: dict[str, str]) -> None:
    words = line.split()
    assert for_hydra(words) == [put.get(word, word) for word in words]


def test_a_setting_that_a_file_of_one_s_own_leaves_to_the_command_line_is_forced(own: Path) -> None:
    words = ["--config-dir", str(own), *"experiment=gorila game=Pong optimizer=mine optimizer.epsilon=1e-8".split()]
    assert for_hydra(words)[-1] == "++optimizer.epsilon=1e-8"
    several = ["-m", *words[:-2], "optimizer=adam,mine", words[-1], "results_dir=runs/${optimizer.kind}"]
    assert for_hydra(several)[-2] == "++optimizer.epsilon=1e-8"
    several[-2] = "optimizer.epsilon=1e-8,1e-4"
    assert for_hydra(several)[-2] == "++optimizer.epsilon=1e-8,1e-4"


def test_an_experiment_that_a_sweep_file_names_is_not_there_when_hydra_composes_first(tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    params = "    params:\n      experiment: dba3c\n      game: Pong,Boxing\n"
    (tmp_path / "sweep" / "mine.yaml").write_text(f"# @package _global_\nhydra:\n  sweeper:\n{params}")
    words = ["-m", "--config-dir", str(tmp_path), "+sweep=mine", BATCH]
    assert check_command_line(words) == []
    assert for_hydra(words) == [*words[:-1], AS_CHOICE]


def test_the_launcher_hears_of_the_cluster_that_only_the_jobs_have(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    text = "# @package _global_\ndefaults:\n  - dqn\n  - override /cluster: address\n  - _self_\nexperiment: {}\n"
    for name in ("mine", "ours"):
        (tmp_path / "experiment" / f"{name}.yaml").write_text(text.format(name))
    words = ["-m", "--config-dir", str(tmp_path), *"hydra/launcher=dask game=Pong experiment=mine,ours".split()]
    words.append("cluster.address=tcp://10.0.0.1:8786")
    assert check_command_line(words) == []
    *others, forced = for_hydra(words)
    assert others == words[:-1] and forced == f"++{words[-1]}"
    assert hydra_config("hydra/launcher=dask", forced).launcher.address == "tcp://10.0.0.1:8786"


@pytest.mark.slow
@pytest.mark.parametrize("multirun", [False, True])
def test_hydra_starts_what_was_checked(own: Path, multirun: bool) -> None:
    folder = own / "work"
    folder.mkdir()
    if multirun:
        given = ["-m", "experiment=smoke_dba3c,smoke_pqn", "algorithm.batch_size=80", "budget.frames=400"]
    else:
        given = ["experiment=smoke_gorila", "optimizer=mine", "optimizer.epsilon=1e-4", "budget.frames=400"]
    words = ["--config-dir", str(own), *given, "game=Breakout"]
    assert check_command_line(words) == []
    command = [sys.executable, "-m", "pipeline.train", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(folder.glob("results/runs/*/Breakout/0/run.json"))) == (2 if multirun else 1)
