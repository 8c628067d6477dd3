"""Averages with their intervals, side by side."""

from pathlib import Path

from pipeline.results.interval_plot import PANELS, interval_figure
from pipeline.results.load import load_runs
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.random_player import OUR_RANDOM_PLAYER, random_scores
from pipeline.results.run_scores import entries, run_scores
from pipeline.results.summary import summary
from tests.results.run_folders import evaluation, write_run


def test_the_games_that_most_of_our_agents_have_are_drawn(tmp_path: Path) -> None:
    for experiment, game in [("gorila", "Pong"), ("gorila", "Breakout"), ("dqn", "Pong"), ("apex", "Pong")]:
        for seed in range(2):
            rows = [evaluation(20.0 + seed), evaluation(-20.0, agent="random", epsilon=1.0, version=0)]
            write_run(tmp_path, rows, experiment=experiment, game=game, seed=seed)
    loaded = load_runs(tmp_path / "runs")
    numbers = summary(NOOP_STARTS, entries(run_scores(loaded)), random_scores(loaded))
    figure = interval_figure(numbers, NOOP_STARTS)
    assert figure is not None
    panels = figure.axes
    assert [axes.get_title() for axes in panels] == list(PANELS.values())
    labels = [text.get_text() for text in panels[0].get_yticklabels()]
    assert labels[::-1] == ["DQN (Nature)", "Gorila DQN", OUR_RANDOM_PLAYER, "ours: apex", "ours: dqn"]
    assert "1 game; normalised by the random player and the human" in figure.get_suptitle()


def test_published_agents_alone_have_no_intervals_and_no_figure(tmp_path: Path) -> None:
    nobody = load_runs(tmp_path)
    assert interval_figure(summary(NOOP_STARTS, {}, random_scores(nobody)), NOOP_STARTS) is None
