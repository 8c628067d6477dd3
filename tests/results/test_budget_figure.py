"""Our runs on published curves."""

from pathlib import Path

import numpy as np

from pipeline.results.budget_figure import budget_figure
from pipeline.results.equal_frames import our_points
from pipeline.results.load import load_runs
from pipeline.results.style import look
from tests.results.run_folders import evaluation, write_run


def test_each_run_is_a_line_and_each_entry_one_word_of_the_legend(tmp_path: Path) -> None:
    for seed in (0, 1):
        rows = [
            evaluation(frames / 1e5, version=frames, total_frames=frames) for frames in (100_000, 1_000_000, 2_000_000)
        ]
        write_run(tmp_path, rows, game="Breakout", seed=seed)
    figure = budget_figure(our_points(load_runs(tmp_path / "runs").evaluations), "Breakout")
    (axes,) = figure.axes
    ours = [line for line in axes.lines if line.get_marker() == "o"]
    # The first evaluation is before what the axis shows.
    assert [line.get_xdata().tolist() for line in ours] == [[1e6, 2e6], [1e6, 2e6]]  # type: ignore[union-attr]
    labels = axes.get_legend_handles_labels()[1]
    assert labels.count("ours: gorila, noop_starts") == 1
    assert labels[0] == "DQN (nnabla-rl)" and len(axes.collections) == 4


def test_eight_experiments_look_different(tmp_path: Path) -> None:
    for index in range(8):
        write_run(tmp_path, [evaluation(1.0, total_frames=1_000_000)], f"mine_{index}", "Breakout")
    (axes,) = budget_figure(our_points(load_runs(tmp_path / "runs").evaluations), "Breakout").axes
    ours = [line for line in axes.lines if str(line.get_label()).startswith("ours: ")]
    assert len({(line.get_color(), line.get_marker()) for line in ours}) == len(ours) == 8
    assert len({look(index) for index in range(8)}) == 8


def test_games_that_were_played_differently_under_one_name_are_lines_of_their_own(tmp_path: Path) -> None:
    rows = [
        evaluation(score, version=frames, total_frames=frames, epsilon=epsilon)
        for epsilon, score in ((0.05, 20.0), (0.01, 40.0))
        for frames in (1_000_000, 2_000_000)
    ]
    write_run(tmp_path, rows, game="Breakout")
    (axes,) = budget_figure(our_points(load_runs(tmp_path / "runs").evaluations), "Breakout").axes
    ours = {str(line.get_label()): np.asarray(line.get_ydata()).tolist() for line in axes.lines[-2:]}
    assert ours == {
        "ours: gorila, noop_starts, epsilon 0.01": [40.0, 40.0],
        "ours: gorila, noop_starts, epsilon 0.05": [20.0, 20.0],
    }
