import numpy as np

from pipeline.results.profiles import performance_profile, profile_figure
from pipeline.results.style import COLOURS, FAINT


def test_the_share_of_runs_above_each_level_by_hand() -> None:
    # Two runs of two games; exactly at a level is not above it.
    found = performance_profile([[10.0, 100.0], [30.0, 200.0]], [0.0, 10.0, 100.0, 300.0])
    assert found.value.tolist() == [1.0, 0.75, 0.25, 0.0]
    assert np.all(found.low <= found.value) and np.all(found.value <= found.high)


def test_a_game_with_fewer_runs_counts_as_much() -> None:
    found = performance_profile([[10.0, 100.0], [30.0, np.nan]], [20.0])
    assert found.value.tolist() == [(0.5 + 1.0) / 2]


def test_published_agents_are_grey_and_ours_in_colour_with_a_band() -> None:
    published, ours = {"DQN": np.array([[50.0, 150.0]])}, {"gorila": np.array([[60.0, 120.0], [90.0, 20.0]])}
    (axes,) = profile_figure(published, ours, title="profiles").axes
    assert [line.get_color() for line in axes.lines[:2]] == [FAINT, COLOURS[0]]
    (band,) = axes.collections
    assert len(band.get_paths()[0]) > 0
    assert axes.get_xlabel() == "level (% of the human's normalised score)"


def test_a_single_run_of_each_game_has_no_band() -> None:
    (axes,) = profile_figure({}, {"gorila": np.array([[60.0, 120.0]])}, title="profiles").axes
    assert not axes.collections


def test_a_curve_falls_at_the_scores_and_not_before() -> None:
    (axes,) = profile_figure({"DQN": np.array([[39.0, 250.5]])}, {"gorila": np.array([[39.0]])}, title="profiles").axes
    published, ours, _ = axes.lines
    for line, scores in ((published, [39.0, 250.5]), (ours, [39.0])):
        assert line.get_drawstyle() == "steps-post"
        levels, shares = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        falls = levels[1:][np.diff(shares) < 0]
        assert falls.tolist() == scores
