"""Other tools get what the run folder gets, cannot end a run, and are missed before it starts."""

import contextlib
import importlib.util
import io
import json
import os
import shutil
import signal
import threading
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from pipeline.config.run_config import LOGGING_TOOLS, WANDB
from pipeline.errors import ConfigError, PipelineError, RunFolderError
from pipeline.experiments import run
from pipeline.experiments.curves import loggers
from pipeline.experiments.curves.logger import LoggedRun
from pipeline.experiments.curves.loggers import Loggers, check_installed, log_run
from pipeline.experiments.curves.tensorboard import FOLDER
from pipeline.experiments.files import run_lock
from pipeline.experiments.run import train
from pipeline.experiments.run_result import RunResult
from pipeline.results.load import load_run
from tests.experiments.event_files import read_events
from tests.experiments.smoke_runs import smoke_config
from tests.experiments.wandb_files import read_history
from tests.results.run_folders import episode, write_run


class Failing:
    """A tool that fails at its first points."""

    def __init__(self) -> None:
        self.num_calls = 0

    def log(self, points: object) -> None:
        self.num_calls += 1
        raise OSError("disk\nfull")

    def close(self) -> None:
        pytest.fail("a tool that failed is left alone")


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Folder and output of a run that TensorBoard sees, and MLflow would if its database were none."""
    results_dir = tmp_path_factory.mktemp("logged")
    (results_dir / "mlflow.db").mkdir()
    words = ("budget.frames=6_000", "evaluation.num_episodes=1", "logging=[mlflow,tensorboard]")
    output = io.StringIO()
    result = train(smoke_config(results_dir, *words), Console(file=output, width=300))
    assert result.folder is not None
    return result.folder, output.getvalue()


@pytest.fixture
def copied(logged: tuple[Path, str], tmp_path: Path) -> Path:
    """The same folder, for a test that changes it."""
    folder = tmp_path / "copy" / "Breakout" / "0"
    shutil.copytree(logged[0], folder)
    return folder


@pytest.mark.slow
def test_a_run_gives_tensorboard_the_rows_that_it_gives_its_folder(logged: tuple[Path, str]) -> None:
    loaded, events = load_run(logged[0]), read_events(logged[0] / FOLDER)
    for role, games in loaded.episodes.groupby("role"):
        drawn = [(point.step, point.value) for point in events[str(role), "episodes/score"]]
        assert Counter(drawn) == Counter(zip(games["total_frames"], games["score"], strict=True))
    for role, groups in loaded.updates.groupby("role"):
        drawn = [(point.step, point.value) for point in events[str(role), "updates/version"]]
        assert drawn == list(zip(groups["total_frames"], groups["version"], strict=True))
    of_agents = {tag for source, tag in events if source == "evaluations"}
    assert of_agents == {"evaluations/smoke/checkpoint", "evaluations/smoke/random"}


@pytest.mark.slow
def test_a_run_that_is_over_can_be_given_to_a_tool_from_its_first_row_on(copied: Path) -> None:
    live = read_events(copied / FOLDER)
    log_run(copied, ["tensorboard"])
    afterwards = read_events(copied / FOLDER)
    assert afterwards.keys() == live.keys()
    for curve in live:
        assert Counter(afterwards[curve]) == Counter(live[curve])


@pytest.mark.slow
def test_a_run_under_way_keeps_its_curves(copied: Path) -> None:
    before = read_events(copied / FOLDER)
    with run_lock.hold(copied / "config.yaml"), pytest.raises(RunFolderError, match="is being trained or evaluated by"):
        log_run(copied, ["tensorboard"])
    assert read_events(copied / FOLDER) == before


@pytest.mark.slow
def test_a_tool_that_fails_over_a_finished_run_is_an_error(copied: Path) -> None:
    shutil.rmtree(copied / FOLDER)
    (copied / FOLDER).touch()
    with pytest.raises(PipelineError, match="tensorboard failed: FileExistsError"):
        log_run(copied, ["tensorboard"])


@pytest.mark.slow
def test_a_tool_that_cannot_begin_is_named_once_and_the_run_goes_on(logged: tuple[Path, str]) -> None:
    folder, printed = logged
    assert printed.count("warning: logging=") == 1
    assert "warning: logging=mlflow failed and gets nothing more: OperationalError" in printed
    assert len(load_run(folder).evaluations) == 2


def test_a_tool_that_fails_in_the_middle_gets_nothing_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool, said = Failing(), list[str]()
    monkeypatch.setattr(loggers, "_open", lambda name, run, rows: tool)
    seeing = Loggers(["tensorboard"], said.append)
    seeing.open(LoggedRun(smoke_config(tmp_path), tmp_path, 0.0, goes_on=False))
    for _ in range(2):
        seeing.see([episode(1.0)])
    seeing.close()
    assert tool.num_calls == 1
    (sentence,) = said
    assert "OSError: disk full. The run goes on" in sentence


class Waiting:
    """A tool whose end takes until it may go on."""

    def __init__(self, folder: Path) -> None:
        self.may_go_on = threading.Event()
        self.was_closed = False
        self.run: dict[str, object] = {}
        self._folder = folder

    def log(self, points: object) -> None:
        """Takes all of it at once."""

    def close(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.run = json.loads((self._folder / "run.json").read_text())
        self.may_go_on.wait(60.0)
        self.was_closed = True


@pytest.mark.parametrize("has_hurry", [True, False])
def test_a_tool_that_hangs_costs_no_other_its_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_hurry: bool
) -> None:
    tools, said = {"tensorboard": Waiting(tmp_path), "mlflow": Waiting(tmp_path)}, list[str]()
    tools["mlflow"].may_go_on.set()
    monkeypatch.setattr(loggers, "_open", lambda name, run, rows: tools[name])
    long, short = 3_600.0, 0.3
    seeing = Loggers(tools, said.append, *((long, short) if has_hurry else (short, long)))
    seeing.open(LoggedRun(smoke_config(tmp_path), tmp_path, 0.0, goes_on=False))
    seeing.close(lambda: has_hurry)
    tools["tensorboard"].may_go_on.set()
    (sentence,) = said
    assert sentence.startswith("warning: logging=tensorboard failed") and tools["mlflow"].was_closed


class Interrupting(Waiting):
    """As if the user lost patience with it."""

    def close(self) -> None:
        super().close()
        os.kill(os.getpid(), signal.SIGINT)


def trained_with(kind: type[Waiting], patch: pytest.MonkeyPatch, results_dir: Path) -> tuple[RunResult, Waiting]:
    """A short run whose only tool is one of these."""
    words = ("budget.frames=400", "evaluation.num_episodes=1", "logging=tensorboard")
    config = smoke_config(results_dir, *words, experiment="smoke_dba3c")
    tool = kind(config.folder)
    tool.may_go_on.set()
    patch.setattr(loggers, "_open", lambda name, run, rows: tool)
    return train(config, Console(file=io.StringIO())), tool


def test_ctrl_c_while_a_tool_is_waited_for_is_heard_by_the_caller_and_changes_nothing_of_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result, _ = trained_with(Interrupting, monkeypatch, tmp_path)
    assert result.end_reason == "interrupted" and result.folder is not None
    run = json.loads((result.folder / "run.json").read_text())
    assert run["end_reason"] == "budget" and "ended_at" in run


def test_the_folder_says_how_the_run_ended_before_a_tool_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, tool = trained_with(Waiting, monkeypatch, tmp_path)
    assert tool.run["end_reason"] == "budget" and "ended_at" in tool.run


def test_a_missing_package_is_named_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(run, "open_session", lambda *_: pytest.fail("a cluster was started"))
    with pytest.raises(ConfigError) as caught:
        train(smoke_config(tmp_path, "logging=[tensorboard,mlflow]"))
    assert caught.value.mistakes == (
        "logging=tensorboard: not installed here: tensorboard: pip install 'gorila-dba3c-pipeline[tensorboard]'",
        "logging=mlflow: not installed here: mlflow, sqlalchemy, alembic: pip install 'gorila-dba3c-pipeline[mlflow]'",
    )
    assert list(tmp_path.iterdir()) == []


def test_each_tool_is_an_extra_of_the_project_and_all_are_here() -> None:
    file = Path(loggers.__file__).parents[3] / "pyproject.toml"
    assert set(LOGGING_TOOLS) <= set(tomllib.loads(file.read_text())["project"]["optional-dependencies"])
    # wandb is as large as all the others together: who does without it misses its own tests alone.
    check_installed(tool for tool in LOGGING_TOOLS if tool != WANDB or importlib.util.find_spec(WANDB) is not None)


@pytest.mark.slow
def test_wandb_gets_the_rows_of_a_run_that_is_over(copied: Path) -> None:
    wandb = pytest.importorskip("wandb", reason="an extra: pip install '.[wandb]'")
    log_run(copied, ["wandb"])
    wandb.teardown()
    (file,) = (copied / "wandb").glob("offline-run-*/*.wandb")
    history, loaded = read_history(file), load_run(copied)
    games = [row["episodes/score/bundle-0"] for row in history if "episodes/score/bundle-0" in row]
    assert games == loaded.episodes.query("role == 'bundle-0'").sort_values("total_frames")["score"].tolist()
    assert {"evaluations/smoke/random", "evaluations/smoke/checkpoint"} <= {name for row in history for name in row}


@pytest.mark.parametrize("word", ["logging=tensorbord", "logging=[mlflow,tensorbord]"])
def test_an_unknown_tool_is_answered_with_the_nearest(tmp_path: Path, word: str) -> None:
    with pytest.raises(ConfigError, match=r"logging=tensorbord: no such tool; did you mean tensorboard\?"):
        smoke_config(tmp_path, word)
    with pytest.raises(ConfigError, match="no such tool"):
        log_run(tmp_path, ["tensorbord"])


def test_one_tool_several_and_none_can_be_named(tmp_path: Path) -> None:
    words = {"null": (), "mlflow": ("mlflow",), "[mlflow,tensorboard,mlflow]": ("mlflow", "tensorboard")}
    for word, tools in words.items():
        assert smoke_config(tmp_path, f"logging={word}").logging_tools == tools


def test_a_folder_that_cannot_be_given_to_a_tool_says_why(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="no run folder"):
        log_run(tmp_path, ["tensorboard"])
    with pytest.raises(RunFolderError, match="does not say when the run started"):
        log_run(write_run(tmp_path, []), ["tensorboard"])
