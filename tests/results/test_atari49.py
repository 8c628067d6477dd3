from pathlib import Path

import pytest

from pipeline.games import ATARI49
from pipeline.results.atari49 import atari49_table, entry_by_game
from pipeline.results.formats import MISSING, ReportTable
from pipeline.results.load import join_runs, load_runs
from pipeline.results.protocols import HUMAN_STARTS, NOOP_STARTS
from pipeline.results.random_player import random_scores
from pipeline.results.run_scores import entries, run_scores
from tests.results.run_folders import evaluation, write_run


def table_of(tmp_path: Path) -> ReportTable:
    loaded = load_runs(tmp_path / "runs")
    return atari49_table(NOOP_STARTS, entries(run_scores(loaded)), random_scores(loaded))


@pytest.fixture
def table(tmp_path: Path) -> ReportTable:
    # Three seeds of Pong, one of Video Pinball, two of Breakout.
    scores = {"Pong": [-19.0, -20.0, -21.0], "VideoPinball": [42_000.0], "Breakout": [500.0, 500.0]}
    for game, of_game in scores.items():
        for seed, score in enumerate(of_game):
            spread = (-1.0, 0.0, 1.0) if game == "VideoPinball" else (0.0,)
            write_run(tmp_path, [evaluation(score + add, n) for n, add in enumerate(spread)], game=game, seed=seed)
    return table_of(tmp_path)


def test_all_49_games_are_there_and_what_we_lack_is_marked(table: ReportTable) -> None:
    assert tuple(table.numbers.index) == tuple(table.text["game"]) == ATARI49
    assert (table.text["ours: gorila"] == MISSING).sum() == 46
    assert (table.text["gorila: above"] == MISSING).sum() == 46
    assert table.numbers["gorila score"].isna().sum() == 46


def test_a_game_of_three_seeds_has_their_mean_and_students_interval(table: ReportTable) -> None:
    pong = table.text.set_index("game").loc["Pong"]
    assert pong["ours: gorila"] == "-20.0 [-22.5, -17.5]"
    assert (pong["gorila: seeds"], pong["gorila: above"]) == ("3 of 3", "neither")
    # Random -20.7, human 9.3.
    assert pong["gorila %"] == "2.3"


def test_a_single_seed_is_marked_and_a_missing_one_counted(table: ReportTable) -> None:
    text = table.text.set_index("game")
    assert str(text.loc["VideoPinball", "ours: gorila"]).endswith("]†")
    assert text.loc["VideoPinball", "gorila: seeds"] == "1 of 3"
    assert text.loc["Breakout", "gorila: seeds"] == "2 of 3"
    assert any(note.startswith("†: a single seed") for note in table.notes)


def test_wins_are_counted_against_each_published_agent(table: ReportTable) -> None:
    above = table.text.set_index("game")["gorila: above"]
    assert above["Breakout"] == "DQN (Nature), Gorila DQN"
    assert above["VideoPinball"] == "neither"


def test_the_rows_that_normalise_are_named(table: ReportTable) -> None:
    assert any("random_noop and human_noop: the random player and the human of Mnih" in note for note in table.notes)


def test_human_starts_stand_alone_and_say_why() -> None:
    table = atari49_table(HUMAN_STARTS, {}, random_scores(join_runs([])))
    assert table.numbers["Gorila DQN %"].median() == pytest.approx(78.0, abs=0.05)
    assert any("start points were never published" in note for note in table.notes)


def test_a_human_below_the_random_player_does_not_turn_the_order_round(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(30_000.0)], game="VideoPinball")
    (scores,) = entries(run_scores(load_runs(tmp_path / "runs"))).values()
    # Human starts: random 20452, human 15641.1.
    percent = entry_by_game(scores, HUMAN_STARTS, random_scores(join_runs([])))["%"]
    assert percent["VideoPinball"] == pytest.approx(100 * (30_000 - 20_452) / (20_452 - 15_641.1))


def test_above_random_means_that_the_intervals_lie_apart(tmp_path: Path) -> None:
    scores = {"Pong": (-19.0, -18.0), "Breakout": (1.0, 3.0), "Alien": (0.0, 1.0), "Hero": (5.0, 6.0)}
    for game, ours in scores.items():
        random = [
            evaluation(score, 10 + number, 0, agent="random", epsilon=1.0)
            for number, score in enumerate({"Pong": (-21.0, -20.0), "Breakout": (1.0, 2.0)}.get(game, (2.0, 3.0)))
        ]
        rows = [evaluation(score, number) for number, score in enumerate(ours)]
        write_run(tmp_path, rows + ([] if game == "Hero" else random), game=game)
    table = table_of(tmp_path)
    found = table.text.set_index("game")
    assert found["gorila: above random"][["Pong", "Breakout", "Alien", "Hero"]].tolist() == [
        "yes",
        "no",
        "below",
        "not played",
    ]
    assert (found["gorila: above random"] == MISSING).sum() == 45
    assert table.numbers.loc["Pong", "our random mean"] == -20.5
    assert str(found.loc["Pong", "ours: random player"]).startswith("-20.5 [")


@pytest.mark.parametrize(("num_games", "expected"), [(30, "below"), (2, "not known")])
def test_seeds_that_all_score_the_same_are_known_by_the_games_of_each(
    tmp_path: Path, num_games: int, expected: str
) -> None:
    random = [evaluation(-20.0 + n % 2 / 2, n, 0, agent="random", epsilon=1.0) for n in range(30)]
    for seed in range(3):
        write_run(tmp_path, [*(evaluation(-21.0, n) for n in range(num_games)), *random], seed=seed)
    table = table_of(tmp_path)
    pong = table.text.set_index("game").loc["Pong"]
    assert pong["gorila: above random"] == expected
    assert pong["ours: gorila"] == ("-21.0 [-21.0, -21.0]" if num_games == 30 else "-21.0")
    assert any("Seeds that all score the same" in note for note in table.notes) == (num_games == 30)
    assert any('"not known": ' in note for note in table.notes) == (num_games == 2)
