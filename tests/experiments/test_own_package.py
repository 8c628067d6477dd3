"""A user's own package and folder of files, found by their names alone: tests/own, copied to where nobody knows it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from pipeline.config.overrides import check_command_line, compose
from pipeline.errors import ConfigError
from pipeline.results.load import load_run
from tests.clusters import LIMIT_SECONDS
from tests.conftest import OWN
from tests.experiments.commands import Command

pytestmark = pytest.mark.timeout(10 * LIMIT_SECONDS)

MINE = ("--config-dir", "conf", "experiment=mine", "game=Breakout")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the user's package and files, and nothing else."""
    return Path(shutil.copytree(OWN, tmp_path / "own"))


@pytest.fixture
def ends_well(folder: Path) -> Callable[..., str]:
    """Types a command in that folder; what it printed."""

    def run(*words: str) -> str:
        command = Command(folder / "printed.txt", "-m", *words)
        assert command.ends(5 * LIMIT_SECONDS) == 0, command.printed
        return command.printed

    return run


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["threads", "processes"])
def test_a_package_of_one_s_own_is_trained_with_from_its_folder(
    cluster: str, folder: Path, ends_well: Callable[..., str]
) -> None:
    ends_well("pipeline.train", *MINE, f"cluster={cluster}")
    run = folder / "results" / "runs" / "mine" / "Breakout" / "0"
    loaded = load_run(run)
    assert loaded.problems == () and loaded.updates["num_admitted"].sum() > 0
    assert set(loaded.evaluations["protocol"]) == {"short"}
    saved = yaml.safe_load((run / "config.yaml").read_text())
    assert saved["optimizer"]["kind"] == "mylab.lion.LionConfig"
    assert saved["network"]["torso"] == "mylab.torsos.OneConvolution" and saved["network"]["hidden_units"] == 4


@pytest.mark.slow
def test_an_algorithm_and_a_topology_of_one_s_own_are_trained_with(folder: Path, ends_well: Callable[..., str]) -> None:
    printed = ends_well("pipeline.train", "-cd", "conf", "experiment=twins", "game=Breakout")
    assert "castor" in printed and "shard-1" in printed
    loaded = load_run(folder / "results" / "runs" / "twins" / "Breakout" / "0")
    assert loaded.problems == () and set(loaded.actor_critic_updates["role"]) == {"castor", "pollux"}
    # No return is beyond a limit of half a point, and the mean of the values follows them.
    assert loaded.actor_critic_updates["mean_value"].abs().max() < 5


@pytest.mark.slow
def test_such_a_run_is_gone_on_with_and_scored_by_its_folder_alone(folder: Path, ends_well: Callable[..., str]) -> None:
    ends_well("pipeline.train", *MINE)
    run = "results/runs/mine/Breakout/0"
    budget = load_run(folder / run).runs["total_frames"].item() + 1_600
    assert "resumed at update" in ends_well("pipeline.train", *MINE, "resume=true", f"budget.frames={budget}")
    ends_well("pipeline.evaluate", f"run={run}", "config_dir=conf", "evaluation=short", "evaluation.epsilon=0.5")
    loaded = load_run(folder / run)
    scored = loaded.evaluations[loaded.evaluations["agent"] == "checkpoint"]
    assert sorted(scored["epsilon"].unique()) == [0.05, 0.5]


@pytest.mark.slow
def test_a_sweep_finds_them_in_each_of_its_jobs(folder: Path, ends_well: Callable[..., str]) -> None:
    words = ("-m", *MINE, "seed=0,1", "hydra/launcher=dask", "hydra.launcher.progress=lines")
    printed = ends_well("pipeline.train", *words)
    assert "2 done" in printed
    for seed in (0, 1):
        assert load_run(folder / "results" / "runs" / "mine" / "Breakout" / str(seed)).problems == ()


def test_groups_of_a_folder_of_one_s_own_are_checked_like_ours(own_package: None) -> None:
    conf = ["--config-dir", str(OWN / "conf")]
    assert check_command_line([*conf, "experiment=mine", "game=Pong"]) == []
    assert check_command_line([*conf, "-m", "experiment=mine,gorila", "optimizer=lion", "game=Pong"]) == []
    assert check_command_line([*conf, "experiment=mime", "optimizer=lino", "game=Pong"]) == [
        "experiment=mime: no such experiment; did you mean mine?",
        "optimizer=lino: no such optimizer; did you mean lion?",
    ]
    assert check_command_line([*conf, "experiment=mine", "game=Pong", "optimizer.beta3=1"]) == [
        "optimizer.beta3=1: no such setting; did you mean optimizer.beta2?"
    ]
    assert check_command_line([*conf, "experiment=mine", "game=Pong", "optimizer.beta1=2"]) == [
        "optimizer.beta1=2.0 must lie in [0, 1)"
    ]
    assert compose(["experiment=mine", "game=Pong"], OWN / "conf").experiment == "mine"


def test_a_folder_that_is_not_there_is_a_mistake() -> None:
    assert check_command_line(["-cd", "somewhere", "experiment=mine"]) == [
        "--config-dir somewhere: there is no such folder"
    ]


def test_what_cannot_be_imported_is_named_with_all_other_mistakes() -> None:
    with pytest.raises(ConfigError) as caught:
        compose(["experiment=mine", "game=Pong", "sede=1"], OWN / "conf")
    assert caught.value.mistakes == (
        "sede=1: no such setting; did you mean seed?",
        "optimizer.kind=mylab.lion.LionConfig cannot be imported: No module named 'mylab'; its package has to be "
        "installed, or in the folder where the command is typed",
    )
