"""How soon an experiment is good."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.results.equal_frames import our_points
from pipeline.results.load import load_runs
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.sample_efficiency import NUM_BUDGETS, budgets_of, efficiency, efficiency_figure, newest
from tests.results.run_folders import evaluation, write_run


def write(tmp_path: Path, scores: list[float], frames: list[int], seed: int = 0, **changes: Any) -> None:
    """A run of Pong that was evaluated so."""
    rows = [
        evaluation(score, version=at, total_frames=at, wall_seconds=at / 10, agent="training", **changes)
        for score, at in zip(scores, frames, strict=True)
    ]
    write_run(tmp_path, rows, seed=seed)


def test_a_budget_has_the_newest_evaluation_before_it() -> None:
    places, scores = np.array([300.0, 100.0, 200.0]), np.array([3.0, 1.0, 2.0])
    assert newest(places, scores, np.array([100.0, 150.0, 200.0, 400.0])).tolist() == [1.0, 1.0, 2.0, 3.0]


def test_budgets_are_those_that_all_runs_have_reached() -> None:
    budgets = budgets_of([np.array([100.0, 900.0]), np.array([300.0, 500.0])])
    assert (budgets[0], budgets[-1], len(budgets)) == (300.0, 500.0, NUM_BUDGETS)
    assert not len(budgets_of([np.array([1.0, 2.0]), np.array([3.0, 4.0])]))


def test_a_curve_is_normalised_and_has_a_band_where_there_are_seeds(tmp_path: Path) -> None:
    write(tmp_path, [-20.7, 9.3], [1000, 3000])
    write(tmp_path, [-20.7, -20.7], [1000, 3000], seed=1)
    curves = efficiency(our_points(load_runs(tmp_path / "runs").evaluations))
    by_frames = curves[curves["axis"] == "frames"]
    assert by_frames["budget"].iloc[[0, -1]].tolist() == [1000.0, 3000.0]
    # Pong: 0 % is -20.7 and 100 % is 9.3; of two runs one is there at the end.
    assert by_frames["iqm"].iloc[[0, -1]].tolist() == pytest.approx([0.0, 50.0])
    assert by_frames[["low", "high"]].iloc[-1].tolist() == pytest.approx([0.0, 100.0])
    by_hours = curves[curves["axis"] == "hours"]
    assert by_hours["budget"].iloc[-1] == pytest.approx(300 / 3600)
    panels = efficiency_figure(curves, NOOP_STARTS).axes
    assert panels[0].get_legend_handles_labels()[1] == ["ours: gorila, 1 game"]


def test_one_evaluation_is_no_curve_and_another_protocol_no_part_of_it(tmp_path: Path) -> None:
    write(tmp_path, [1.0], [1000])
    write(tmp_path, [1.0, 2.0], [1000, 2000], seed=1, sticky_probability=0.25)
    assert efficiency(our_points(load_runs(tmp_path / "runs").evaluations)).empty
