from pathlib import Path
from typing import Any

from pipeline.games import ATARI49
from pipeline.results.formats import MISSING
from pipeline.results.load import load_runs
from pipeline.results.random_play import random_play_table
from pipeline.rows import EvaluationRow
from tests.results.run_folders import evaluation, write_run


def random_games(*scores: float, **changes: Any) -> list[EvaluationRow]:
    return [evaluation(score, number, 0, agent="random", epsilon=1.0, **changes) for number, score in enumerate(scores)]


def test_each_frame_skip_has_its_column_beside_the_published_player(tmp_path: Path) -> None:
    # Breakout: the published random player has 1.7.
    rows = [*random_games(1.0, 2.0, 2.0), *random_games(5.0, 6.0, 7.0, frame_skip=6, min_frame_skip=6)]
    write_run(tmp_path, rows, game="Breakout")
    table = random_play_table(load_runs(tmp_path / "runs"))
    assert tuple(table.text["game"]) == ATARI49
    row = table.text.set_index("game").loc["Breakout"]
    assert row["published"] == "1.7"
    assert row["frame skip 4"].startswith("1.7 [") and row["frame skip 4: agrees"] == "yes"
    assert row["frame skip 6"].startswith("6.0 [") and row["frame skip 6: agrees"] == "no, below ours"
    assert table.text.set_index("game").loc["Pong", "frame skip 4"] == MISSING


def test_the_same_game_of_two_runs_counts_once_and_other_protocols_not_at_all(tmp_path: Path) -> None:
    rows = [*random_games(1.0, 3.0), *random_games(100.0, max_frames=400)]
    write_run(tmp_path, rows, experiment="dqn", game="Breakout")
    write_run(tmp_path, rows, experiment="gorila", game="Breakout")
    numbers = random_play_table(load_runs(tmp_path / "runs")).numbers.loc["Breakout"]
    assert numbers["frame skip 4 mean"] == 2.0


def test_trained_agents_are_left_out(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(1.0)])
    assert list(random_play_table(load_runs(tmp_path / "runs")).text.columns) == ["game", "published"]
