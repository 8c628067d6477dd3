from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from pipeline.results.curves import HorizontalAxis, learning_curves, learning_panels, save_learning_curves
from pipeline.results.load import LoadedRuns, load_run, load_runs
from pipeline.results.style import COLOURS
from tests.results.run_folders import episode, evaluation, write_run


@pytest.fixture
def two_runs(tmp_path: Path) -> LoadedRuns:
    # Frames out of order, as rows of several bundles are; 150 episodes with scores 0, 1, … 149 in order of frames.
    games = [episode(float(number), 1_000_000 * (number + 1), version=number) for number in range(150)]
    random_game = evaluation(-21.0, agent="random", version=0, total_frames=0)
    played = [random_game, *(evaluation(float(number), number) for number in range(10))]
    folder = write_run(tmp_path, [*games[75:], *games[:75], *played])
    write_run(tmp_path, [episode(3.0), episode(5.0)], experiment="dqn")
    return load_runs(folder.parents[2])


def axes_of(loaded: LoadedRuns, x: HorizontalAxis = "frames") -> Axes:
    return learning_curves(loaded, "Pong", x=x).axes[0]


def labelled(axes: Axes) -> dict[str, object]:
    handles, labels = axes.get_legend_handles_labels()
    return dict(zip(labels, handles, strict=True))


def test_the_line_is_the_mean_of_the_last_100_episodes_in_order_of_frames(two_runs: LoadedRuns) -> None:
    axes = axes_of(two_runs)
    (line,) = [line for line in axes.lines if line.get_label() == "gorila, seed 0"]
    frames, means = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert frames.tolist() == [float(number + 1) for number in range(150)]
    assert means[[0, 1, 99, 149]].tolist() == [0.0, 0.5, 49.5, 99.5]


def test_evaluations_of_the_trained_agent_are_points_with_their_interval(two_runs: LoadedRuns) -> None:
    (bars,) = axes_of(two_runs).containers
    assert isinstance(bars, ErrorbarContainer)
    point, caps, _ = bars.lines
    assert np.asarray(point.get_xydata()).tolist() == [[0.004, 4.5]]
    low, high = (float(np.asarray(cap.get_ydata())[0]) for cap in caps)
    assert 0.0 < low < 4.5 < high < 9.0


@pytest.mark.parametrize(
    ("x", "label", "last"),
    [
        ("frames", "emulator frames (millions)", 150.0),
        ("hours", "wall time since the run's start (hours)", 1_500_000 / 3600),
        ("updates", "parameter updates (thousands)", 0.149),
    ],
)
def test_the_horizontal_axis_names_its_unit(two_runs: LoadedRuns, x: HorizontalAxis, label: str, last: float) -> None:
    axes = axes_of(two_runs, x)
    assert axes.get_xlabel() == label
    assert max(np.max(np.asarray(line.get_xdata())) for line in axes.lines) == pytest.approx(last)


def test_each_experiment_has_its_colour_and_the_title_names_game_experiments_and_seeds(two_runs: LoadedRuns) -> None:
    axes = axes_of(two_runs)
    colours = {str(line.get_label()).partition(",")[0]: line.get_color() for line in axes.lines}
    assert (colours["dqn"], colours["gorila"]) == COLOURS[:2]
    assert axes.get_title() == "Pong: dqn, gorila; seed 0"


@pytest.mark.parametrize("num_seeds", [1, 2])
def test_experiments_beyond_the_sixth_have_the_colours_again_with_another_line(tmp_path: Path, num_seeds: int) -> None:
    for index in range(len(COLOURS) + 2):
        for seed in range(num_seeds):
            write_run(tmp_path, [episode(3.0), episode(5.0, 2000)], experiment=f"mine_{index}", seed=seed)
    lines = learning_panels(load_runs(tmp_path), "Pong").axes[0].lines
    looks = {(line.get_color(), line.get_linestyle()) for line in lines}
    assert len(lines) == len(looks) == len(COLOURS) + 2


def test_evaluations_during_training_are_points_and_the_best_played_again_is_not(tmp_path: Path) -> None:
    points = [("training", 100), ("training", 200), ("checkpoint", 300), ("best", 200)]
    games = [
        evaluation(float(version), number, version, agent=agent) for agent, version in points for number in range(2)
    ]
    (bars,) = axes_of(load_run(write_run(tmp_path, games)), "updates").containers
    assert isinstance(bars, ErrorbarContainer)
    assert np.asarray(bars.lines[0].get_xydata()).tolist() == [[0.1, 100.0], [0.2, 200.0], [0.3, 300.0]]


def test_panels_show_frames_updates_and_hours_and_thin_out_long_lines(two_runs: LoadedRuns) -> None:
    long = two_runs._replace(episodes=pd.concat([two_runs.episodes] * 4, ignore_index=True))
    panels = learning_panels(long, "Pong").axes
    assert [axes.get_xlabel().partition(" (")[0] for axes in panels] == [
        "emulator frames",
        "parameter updates",
        "wall time since the run's start",
    ]
    (line,) = [line for line in panels[0].lines if line.get_label() == "gorila, seed 0"]
    assert len(np.asarray(line.get_xdata())) == 250
    # The first and the last point stay.
    assert np.asarray(line.get_xdata())[[0, -1]].tolist() == [1.0, 150.0]


@pytest.mark.parametrize("with_seeds", [False, True])
def test_seeds_are_one_line_with_their_range_and_thin_lines_if_asked_for(tmp_path: Path, with_seeds: bool) -> None:
    for seed in range(2):
        games = [episode(float(seed), 1_000_000 * (number + 1), version=number) for number in range(20)]
        write_run(tmp_path, [*games, evaluation(4.0 + seed)], seed=seed)
    axes = learning_panels(load_runs(tmp_path / "runs"), "Pong", with_seeds=with_seeds).axes[0]
    assert list(labelled(axes)) == ["gorila, 2 seeds", "gorila: noop_starts"]
    (mean,) = [line for line in axes.lines if line.get_label() == "gorila, 2 seeds"]
    assert set(np.asarray(mean.get_ydata())) == {0.5} and len(axes.collections) == 1
    thin = [line for line in axes.lines if line.get_linewidth() == 0.7]
    assert [set(np.asarray(line.get_ydata())) for line in thin] == ([{0.0}, {1.0}] if with_seeds else [])


def test_a_seed_that_has_only_begun_leaves_the_others_their_band_and_has_a_thin_line(tmp_path: Path) -> None:
    for seed, num_games in enumerate((10, 8, 2)):
        games = [episode(float(seed), total_frames=1_000 * (number + 1)) for number in range(num_games)]
        write_run(tmp_path, games, seed=seed, end_reason="budget" if seed == 0 else None)
    axes = learning_panels(load_runs(tmp_path / "runs"), "Pong").axes[0]
    assert list(labelled(axes)) == ["gorila, 2 of 3 seeds"]
    (mean,) = [line for line in axes.lines if line.get_label() == "gorila, 2 of 3 seeds"]
    assert set(np.asarray(mean.get_ydata())) == {0.5} and max(np.asarray(mean.get_xdata())) == 0.008
    (begun,) = [line for line in axes.lines if line is not mean]
    assert set(np.asarray(begun.get_ydata())) == {2.0}


def test_seeds_without_a_stretch_in_common_are_lines_of_their_own(tmp_path: Path) -> None:
    for seed in (0, 1):
        write_run(tmp_path, [episode(1.0, total_frames=1_000)], seed=seed)
    axes = learning_panels(load_runs(tmp_path / "runs"), "Pong").axes[0]
    assert list(labelled(axes)) == ["gorila, 2 seeds"] and len(axes.lines) == 2


def test_a_seed_that_was_over_sooner_is_among_the_others(tmp_path: Path) -> None:
    for seed, num_games in enumerate((10, 3)):
        games = [episode(float(seed), total_frames=1_000 * (number + 1)) for number in range(num_games)]
        write_run(tmp_path, games, seed=seed, end_reason="score")
    axes = learning_panels(load_runs(tmp_path / "runs"), "Pong").axes[0]
    assert list(labelled(axes)) == ["gorila, 2 seeds"]
    (mean,) = axes.lines
    assert max(np.asarray(mean.get_xdata())) == 0.003


def test_a_single_evaluation_game_is_a_point_without_a_bar(tmp_path: Path) -> None:
    axes = axes_of(load_run(write_run(tmp_path, [evaluation(2.0)])))
    assert list(labelled(axes)) == ["gorila, seed 0: noop_starts"]


def test_a_run_without_any_score_gives_an_empty_figure_and_no_error(tmp_path: Path) -> None:
    axes = axes_of(load_run(write_run(tmp_path, [])))
    assert labelled(axes) == {}


def test_the_figure_is_written_as_png_into_a_new_folder(two_runs: LoadedRuns, tmp_path: Path) -> None:
    path = tmp_path / "new" / "Pong.png"
    save_learning_curves(two_runs, "Pong", path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_each_protocol_has_a_symbol_of_its_own_which_is_that_of_all_runs(two_runs: LoadedRuns) -> None:
    drawn = two_runs.evaluations.assign(sampled=True)
    rows = [two_runs.evaluations, drawn, drawn.assign(experiment="dqn")]
    handles = labelled(learning_curves(two_runs._replace(evaluations=pd.concat(rows)), "Pong").axes[0])
    symbols = {
        label: bars.lines[0].get_marker() for label, bars in handles.items() if isinstance(bars, ErrorbarContainer)
    }
    assert symbols == {
        "gorila, seed 0: noop_starts": "o",
        "gorila, seed 0: noop_starts, sampled": "D",
        "dqn, seed 0: noop_starts, sampled": "D",
    }


@pytest.mark.parametrize("num_seeds", [1, 2])
def test_games_that_were_played_differently_under_one_name_have_symbols_and_labels_of_their_own(
    tmp_path: Path, num_seeds: int
) -> None:
    for seed in range(num_seeds):
        write_run(tmp_path, [evaluation(4.0, epsilon=0.05), evaluation(8.0, epsilon=0.01)], seed=seed)
    axes = learning_panels(load_runs(tmp_path / "runs"), "Pong").axes[0]
    named = "gorila, seed 0" if num_seeds == 1 else "gorila"
    assert set(labelled(axes)) == {f"{named}: noop_starts, epsilon {epsilon}" for epsilon in ("0.01", "0.05")}
    symbols = {
        line.get_marker(): set(np.asarray(line.get_ydata())) for line in axes.lines if line.get_marker() in ("o", "D")
    }
    assert symbols == {"o": {8.0}, "D": {4.0}}


@pytest.mark.parametrize("num_seeds", [1, 2])
def test_a_name_that_begins_with_an_underscore_is_in_the_legend(tmp_path: Path, num_seeds: int) -> None:
    for seed in range(num_seeds):
        games = [episode(3.0), episode(5.0, 2000)]
        write_run(tmp_path, [*games, evaluation(4.0)], experiment="_mine", seed=seed)
    figure = learning_panels(load_runs(tmp_path / "runs"), "Pong")
    shown = [text.get_text().lstrip("\u200b") for text in figure.legends[0].get_texts()]
    named = "_mine, seed 0" if num_seeds == 1 else "_mine, 2 seeds"
    assert shown == [named, "_mine, seed 0: noop_starts" if num_seeds == 1 else "_mine: noop_starts"]
