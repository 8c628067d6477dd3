"""The command that makes start states, and what it feeds: an evaluation that goes on from them."""

import io
import shutil
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from pipeline import seeding
from pipeline.evaluate import parse_request
from pipeline.evaluation import recordings, start_states
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.plan import network_of
from pipeline.experiments.scoring.afterwards import evaluate_runs
from pipeline.param_server.snapshot import first_snapshot
from pipeline.results.load import load_run
from pipeline.results.table import game_table, notes
from pipeline.start_states import main
from tests.experiments.smoke_runs import opened, smoke_config

GO_ON = ("evaluation=start_states", "evaluation.num_episodes=2", "evaluation.environment.max_frames=80")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was killed at its start, with two recorded games of 400 frames at most."""
    config = smoke_config(tmp_path_factory.mktemp("runs"))
    params = network_of(config).initial_parameters(seeding.stream(0, "parameters")).astype(np.float32)
    folder = opened(config)
    checkpoint.save(folder.checkpoints, Checkpoint(first_snapshot(params), {}, generation=0), keep=1)
    evaluate(f"run={folder.path}")
    return folder.path


def evaluate(*words: str) -> None:
    evaluate_runs(parse_request(words), Console(file=io.StringIO()))


@pytest.mark.slow
def test_games_go_on_from_points_of_recorded_games_and_are_called_so(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "states"
    assert main([f"recordings={run}", "num_points=3", f"output={output}"]) == 0
    assert capsys.readouterr().out == f"{output / 'Breakout.json'}\n"
    assert "not the paper's human starts" in (output / "Breakout.json").read_text()
    evaluate(f"run={run}", *GO_ON, f"evaluation.start_states={output}")
    rows = load_run(run).evaluations.query("protocol == 'start_states_not_the_papers'")
    starts = start_states.load(output / "Breakout.json")
    assert rows["start_states"].tolist() == [starts.name] * 2
    assert (rows["num_steps"] <= 20).all() and (rows["max_frames"] == 80).all()
    by_seed = {state.seed for state in starts.states}
    assert set(rows["episode_seed"]) <= by_seed
    (recording,) = (run / "recordings").glob("start_states_*.npz")
    for played in recordings.load(recording):
        assert played.episode.start_step > 0
        assert any(played.episode.actions.startswith(state.actions) for state in starts.states)
    table = game_table(load_run(run), "Breakout")
    (ours,) = table[table["protocol"] == "start_states_not_the_papers"].to_dict("records")
    assert f"start_states {starts.name} instead of none" in ours["differs"]
    assert np.isnan(ours["normalised"])
    assert any("not the paper's human starts" in note for note in notes(table))


def test_the_same_words_draw_the_same_points_and_nothing_is_replaced_unasked(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"recordings={run / 'recordings' / '*'}", "num_points=3", f"output={tmp_path}"]
    assert main(words) == 0
    first = (tmp_path / "Breakout.json").read_text()
    assert main(words) == 2
    assert "Breakout.json is there: replace it with overwrite=true" in capsys.readouterr().err
    assert main([*words, "overwrite=true"]) == 0
    assert (tmp_path / "Breakout.json").read_text() == first
    assert main([*words, "overwrite=true", "seed=1"]) == 0
    assert (tmp_path / "Breakout.json").read_text() != first


def test_a_folder_with_commas_and_brackets_in_its_name_is_one_place(run: Path, tmp_path: Path) -> None:
    place = tmp_path / "mine, [2026]"
    shutil.copytree(run, place)
    assert main([f"recordings={place},{run}", "num_points=3", f"output={tmp_path}"]) == 0
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "0").symlink_to(run)
    assert main([f"recordings={tmp_path / 'linked'}", "num_points=3", f"output={tmp_path / 'of_link'}"]) == 0
    drawn = [start_states.load(folder / "Breakout.json") for folder in (tmp_path, tmp_path / "of_link")]
    assert drawn[0].states == drawn[1].states


def test_all_mistakes_are_told_at_once(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["num_points=0", "seed=-1"]) == 2
    found = capsys.readouterr().err
    assert "recordings is missing" in found and "num_points=0 must" in found and "seed=-1 must" in found
    assert main([f"recordings={tmp_path},{run}", "agent=person"]) == 2
    found = capsys.readouterr().err
    assert "2 mistakes" in found and f"recordings={run}: no game is recorded there, agent=person" in found
    (tmp_path / "file").touch()
    assert main([f"recordings={run}", f"output={tmp_path}/file"]) == 2
    assert f"output={tmp_path}/file cannot be written: " in capsys.readouterr().err
    assert main([f"recordings={run}", "num_points=100_000"]) == 2
    assert "num_points=100000 is more than the" in capsys.readouterr().err
