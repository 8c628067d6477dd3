"""Runs of the study of learning at a toy size: rows, curves, failures, and which figures are drawn."""

import math
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline.errors import DivergedError, PipelineError
from pipeline.roles.divergence import DivergenceGuard
from studies.dba3c import learning, learning_cases
from studies.dba3c.settings import OUTPUT
from studies.dba3c.simulation_grid import WORKERS
from studies.row_file import RowFile
from tests.studies.dba3c.toy import TINY, is_figure, learning_rows, network_speeds


@pytest.mark.slow
def test_a_run_leaves_its_row_and_its_curve_and_is_not_made_again(tmp_path: Path) -> None:
    arguments = ["--game=Pong", "--frames=600", "--seeds", "0", "--cases", "adam_usual"]
    arguments += [f"--runs-dir={tmp_path / 'runs'}", f"--output={tmp_path}", f"--figures={tmp_path}", "--overrides"]
    arguments += [
        *TINY,
        "evaluation=smoke",
        "evaluation.num_episodes=1",
        "environment.max_frames=48",
        "progress=none",
    ]
    learning.main(arguments)
    (row,) = pd.read_csv(tmp_path / "learning.csv").to_dict("records")
    assert (row["case"], row["beta1"], row["beta2"], row["network"]) == ("adam_usual", 0.9, 0.999, "nature 16")
    assert row["data_points_per_second"] > 0
    curve = pd.read_csv(tmp_path / "learning_curves.csv")
    assert curve["steps"].is_monotonic_increasing and curve["steps"].iloc[0] > 0
    before = (tmp_path / "learning.csv").read_text()
    learning.main(arguments)
    assert (tmp_path / "learning.csv").read_text() == before


def test_a_run_that_fails_is_named_at_the_end_and_the_others_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def train(config: object, case: str) -> Any:
        made.append(case)
        raise PipelineError("diverged")

    monkeypatch.setattr(learning, "_train", train)
    with pytest.raises(SystemExit, match=r"without a row:\nbase, seed 0: diverged\nasync, seed 0: diverged"):
        learning.main([f"--output={tmp_path}", f"--figures={tmp_path}", "--seeds", "0", "--cases", "base", "async"])
    assert made == ["base", "async"]


def test_runs_with_other_words_are_neither_put_to_those_that_are_there_nor_drawn_as_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "_train", lambda *_: pytest.fail("it was trained"))
    monkeypatch.setattr(learning, "draw", lambda *_: pytest.fail("it was drawn"))
    shutil.copy(OUTPUT / "learning.csv", tmp_path)
    words = [f"--output={tmp_path}", f"--figures={tmp_path}", "--overrides", "optimizer.epsilon=1e-6"]
    told = r"without a row:\nbase, seed 0, and all others that are missing: .*\.csv has rows of runs with no more "
    with pytest.raises(SystemExit, match=told):
        learning.main(words)


@pytest.mark.slow
def test_a_run_that_diverges_has_a_row_without_a_score_and_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def admits(guard: object, measure: float, version: int) -> bool:
        if version < 4:
            return True
        raise DivergedError("no number")

    monkeypatch.setattr(DivergenceGuard, "admits", admits)
    arguments = ["--game=Pong", "--frames=2000", "--seeds", "0", "--cases", "base"]
    arguments += [f"--runs-dir={tmp_path / 'runs'}", f"--output={tmp_path}", f"--figures={tmp_path}", "--overrides"]
    arguments += [*TINY, "progress=none"]
    learning.main(arguments)
    (row,) = pd.read_csv(tmp_path / "learning.csv").to_dict("records")
    assert row["end_reason"] == "diverged" and math.isnan(row["evaluation_mean"])
    assert row["num_updates"] >= 2 and row["wall_seconds"] > 0
    before = (tmp_path / "learning.csv").read_text()
    learning.main(arguments)
    assert (tmp_path / "learning.csv").read_text() == before


def test_speeds_of_the_models_are_of_as_many_workers_as_the_authors_had() -> None:
    speeds = network_speeds()
    assert speeds.many_workers[["network", "study", "num_workers"]].to_numpy().tolist() == [
        ["dba3c_authors_32", WORKERS, 64],
        ["ba3c_authors_32", WORKERS, 64],
    ]
    assert speeds.complete
    assert not speeds._replace(rounds=speeds.rounds[:1]).complete
    assert not speeds._replace(simulated=speeds.simulated[:3]).complete


@pytest.mark.slow
def test_all_figures_of_learning_are_drawn_when_their_cases_are_there(tmp_path: Path) -> None:
    learning.draw(*learning_rows(list(learning_cases.CASES)), network_speeds(), tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    topics = ("settings", "models", "hidden_layer", "workers", "sync", "adam")
    assert names == {f"dba3c_{topic}.png" for topic in topics}
    assert all(is_figure(path) for path in tmp_path.iterdir())


def test_another_game_or_budget_does_not_take_the_place_of_what_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RowFile, "has", lambda *_: True)
    runs, curves = learning_rows(["base", "steps_10", "async"])
    monkeypatch.setattr(learning, "alike", lambda rows, game, frames: curves if "steps" in rows else runs)
    arguments = ["--seeds", "0", "--cases", "base", f"--output={tmp_path}", f"--figures={tmp_path}"]
    for words in ([], ["--game", "Pong"], ["--frames", "4000"]):
        learning.main([*arguments, *words])
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"dba3c_sync.png", "dba3c_sync_pong_2000000.png", "dba3c_sync_breakout_4000.png"}


def test_runs_of_a_processor_that_nobody_noted_are_not_added_to() -> None:
    rows = learning.learning_rows(OUTPUT)
    assert rows.has("base", 0, "Breakout", learning_cases.FRAMES)
    with pytest.raises(SystemExit, match=r"learning\.csv has the columns case, .*; these rows have .*, processor, "):
        rows.has("base", 9, "Breakout", learning_cases.FRAMES)


def test_a_figure_whose_cases_are_missing_is_not_drawn(tmp_path: Path) -> None:
    cases = ["base", "steps_10", "async", *learning_cases.MODEL_CASES, *learning_cases.LARGE_MODEL_CASES]
    speeds = network_speeds()
    learning.draw(*learning_rows(cases), speeds._replace(rounds=speeds.rounds[:0]), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["dba3c_sync.png"], "no speeds of the authors' networks"
