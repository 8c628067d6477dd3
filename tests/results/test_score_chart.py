from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from pipeline.games import ATARI49
from pipeline.results.atari49 import entry_by_game
from pipeline.results.load import load_runs
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.random_player import random_scores
from pipeline.results.run_scores import entries, run_scores
from pipeline.results.score_chart import score_chart
from tests.results.run_folders import evaluation, write_run


def games_from_the_top(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()][::-1]


def test_without_scores_of_ours_the_bars_are_gorilas_best_game_first() -> None:
    (axes,) = score_chart(NOOP_STARTS, None).axes
    games = games_from_the_top(axes)
    assert games[:3] == ["VideoPinball", "Boxing", "Breakout"]
    assert games[-1] == "MontezumaRevenge"
    assert {*games} == {*ATARI49}


def test_bars_are_ours_and_a_missing_game_keeps_its_line(tmp_path: Path) -> None:
    for game, score in [("Pong", -20.9), ("Breakout", 31.8)]:
        write_run(tmp_path, [evaluation(score)], game=game)
    loaded = load_runs(tmp_path / "runs")
    ((name, rows),) = entries(run_scores(loaded)).items()
    (axes,) = score_chart(NOOP_STARTS, (name, entry_by_game(rows, NOOP_STARTS, random_scores(loaded)))).axes
    assert games_from_the_top(axes)[:2] == ["Breakout", "Pong"]
    widths = [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)][::-1]
    # Breakout as the human; Pong a little below the random player; the rest without a bar.
    assert round(widths[0]) == 100 and -1 < widths[1] < 0 and set(widths[2:]) == {0.0}
    assert [text.get_text() for text in axes.texts] == ["missing"] * 47
