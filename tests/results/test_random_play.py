from pathlib import Path
from typing import Any

from pipeline.games import ATARI49
from pipeline.results.formats import MISSING, ReportTable
from pipeline.results.load import load_runs
from pipeline.results.random_play import random_play_table
from pipeline.results.random_player import random_scores
from pipeline.rows import EvaluationRow
from tests.results.run_folders import evaluation, write_run


def table_of(tmp_path: Path) -> ReportTable:
    return random_play_table(random_scores(load_runs(tmp_path / "runs")))


def random_games(*scores: float, **changes: Any) -> list[EvaluationRow]:
    return [evaluation(score, number, 0, agent="random", epsilon=1.0, **changes) for number, score in enumerate(scores)]


def test_each_frame_skip_has_its_column_beside_the_published_player(tmp_path: Path) -> None:
    # Breakout: the published random player has 1.7.
    rows = [*random_games(1.0, 2.0, 2.0), *random_games(5.0, 6.0, 7.0, frame_skip=6, min_frame_skip=6)]
    write_run(tmp_path, rows, game="Breakout")
    table = table_of(tmp_path)
    assert tuple(table.text["game"]) == ATARI49
    row = table.text.set_index("game").loc["Breakout"]
    assert row["published"] == "1.7"
    assert row["frame skip 4"].startswith("1.7 [")
    # It is another player than the published one, and may well differ.
    assert "frame skip 4: agrees" not in row
    assert row["frame skip 6"].startswith("6.0 [") and row["frame skip 6: agrees"] == "no, below ours"
    assert table.text.set_index("game").loc["Pong", "frame skip 4"] == MISSING


def test_the_same_game_of_two_runs_counts_once_and_other_protocols_not_at_all(tmp_path: Path) -> None:
    rows = [*random_games(1.0, 3.0), *random_games(100.0, max_frames=400)]
    write_run(tmp_path, rows, experiment="dqn", game="Breakout")
    write_run(tmp_path, rows, experiment="gorila", game="Breakout")
    table = table_of(tmp_path)
    assert table.numbers.loc["Breakout", "frame skip 4 mean"] == 2.0
    assert table.notes[-1] == "Left out: 1 means of games under other protocols."


def test_trained_agents_are_left_out(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(1.0)])
    assert list(table_of(tmp_path).text.columns) == ["game", "published"]
