"""What a run begins with, in the folder of an earlier start, and where it stays when its program goes elsewhere."""

import io
import json
import os
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from pipeline.evaluation.start_states import load as load_start_states
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.run import train
from pipeline.param_server.snapshot import first_snapshot
from pipeline.results.load import load_run
from pipeline.start_states import main as make_start_states
from tests.experiments.smoke_runs import smoke_config

WORDS = ["budget.frames=3_000", "evaluation.num_episodes=1"]


def carry_out(results_dir: Path, *words: str) -> tuple[Path, str]:
    """Where the run is, and what it printed."""
    output = io.StringIO()
    config = smoke_config(results_dir, *WORDS, "checkpoint.replay=true", *words, experiment="smoke_dqn")
    folder = train(config, Console(file=output, width=200)).folder
    assert folder is not None
    return folder, output.getvalue()


def fact(folder: Path, name: str) -> object:
    """Of `run.json`."""
    return json.loads((folder / "run.json").read_text())[name]


@pytest.mark.slow
def test_a_start_that_saved_no_checkpoint_leaves_its_replay_to_the_next_one_which_has_other_numbers(
    tmp_path: Path,
) -> None:
    folder, _ = carry_out(tmp_path)
    saves = folder / "checkpoints" / "replay" / "bundle-0"
    (before,) = saves.iterdir()
    # As if it had been killed before its first checkpoint: what is there is the one that it began with.
    params = checkpoint.load_newest(folder / "checkpoints").server.params
    for path in (folder / "checkpoints").glob("*.npz"):
        path.unlink()
    checkpoint.save(folder / "checkpoints", Checkpoint(first_snapshot(params), {}, generation=0), keep=1)
    run = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(run | {"end_reason": None}))

    _, printed = carry_out(tmp_path, "resume=true")
    assert "the replay goes on as it was saved" in printed
    (after,) = saves.iterdir()
    assert after.name > before.name
    assert load_run(folder).updates["replay_transitions"].iloc[0] > 3_000 / 4 / 2
    assert fact(folder, "generation") == 2
    # Roles of a killed run may go on for a while, and write into the folder that takes the place of its own.
    carry_out(tmp_path, "overwrite=true")
    assert fact(folder, "generation") == checkpoint.load_newest(folder / "checkpoints").generation == 3


def test_a_run_of_an_older_version_goes_on(tmp_path: Path) -> None:
    folder, _ = carry_out(tmp_path)
    run = json.loads((folder / "run.json").read_text())
    del run["generation"]
    (folder / "run.json").write_text(json.dumps(run))
    carry_out(tmp_path, "resume=true", "budget.frames=4_000")
    assert fact(folder, "generation") == 2


class _LeavingConsole(Console):
    """The program goes elsewhere when it hears something of its run."""

    def __init__(self, place: Path) -> None:
        super().__init__(file=io.StringIO(), width=200)
        self._place = place

    def print(self, *objects: object, **settings: object) -> None:
        super().print(*objects, **settings)  # type: ignore[arg-type]
        os.chdir(self._place)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, beside the one that the program is in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere"


@pytest.mark.parametrize("how", ["checkpoint.replay=true", "deterministic=true", "overwrite=true"])
def test_a_run_stays_where_it_began_when_its_program_goes_elsewhere(how: str, elsewhere: Path) -> None:
    here = Path.cwd()
    config = smoke_config(Path("runs"), *WORDS, how, experiment="smoke_dqn")
    result = train(config, _LeavingConsole(elsewhere))
    assert Path.cwd() == elsewhere and list(elsewhere.iterdir()) == []
    assert result.folder == here / "runs" / "smoke_dqn" / "Breakout" / "0" and result.end_reason == "budget"
    loaded = load_run(result.folder)
    assert not loaded.updates.empty and not loaded.evaluations.empty and loaded.problems == ()
    assert checkpoint.load_newest(result.folder / "checkpoints").num_steps > 0
    assert "results_dir: runs" in (result.folder / "config.yaml").read_text()


@pytest.mark.slow
def test_what_a_run_goes_on_from_is_found_wherever_its_program_goes(elsewhere: Path) -> None:
    begun, _ = carry_out(Path("begun"))
    assert make_start_states([f"recordings={begun}", "num_points=2", "output=points"]) == 0
    more = ["init_from=begun/smoke_dqn/Breakout/0", "evaluation=start_states", "evaluation.start_states=points"]
    config = smoke_config(Path("runs"), *WORDS, *more, "resume=true", experiment="smoke_dqn")
    result = train(config, _LeavingConsole(elsewhere))
    assert result.folder is not None and result.end_reason == "budget" and list(elsewhere.iterdir()) == []
    evaluations = load_run(result.folder).evaluations
    assert set(evaluations["start_states"]) == {
        load_start_states(elsewhere.parent / "here" / "points" / "Breakout.json").name
    }
    told = (result.folder / "config.yaml").read_text()
    assert "init_from: begun/smoke_dqn/Breakout/0\n" in told and "start_states: points\n" in told
    assert cast(dict[str, Any], fact(result.folder, "init_from"))["path"] == "begun/smoke_dqn/Breakout/0"
    os.chdir(elsewhere.parent / "here")
    assert train(config, Console(file=io.StringIO(), width=200)).end_reason == "budget", "the same command goes on"
