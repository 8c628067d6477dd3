"""Our scores beside published ones at the same frames."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.results import equal_frames
from pipeline.results.budgets import yardsticks
from pipeline.results.equal_frames import budget_table, equal_frames_table, our_points
from pipeline.results.load import LoadedRuns, load_runs
from pipeline.results.run_scores import run_scores
from tests.results.run_folders import evaluation, write_run


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedRuns:
    """Breakout with two seeds of two million frames, one of them evaluated on the way, and Pong with a short one."""
    on_the_way = [evaluation(9.0, agent="training", version=10, total_frames=1_000_400)]
    write_run(tmp_path, [*on_the_way, evaluation(20.0, version=20, total_frames=2_000_100)], game="Breakout")
    write_run(tmp_path, [evaluation(30.0, version=20, total_frames=2_000_100)], game="Breakout", seed=1)
    write_run(tmp_path, [evaluation(5.0, version=20, total_frames=400_000)], game="Pong")
    return load_runs(tmp_path / "runs")


def test_a_game_has_its_budgets_as_columns_and_ours_on_top(loaded: LoadedRuns) -> None:
    table = budget_table(our_points(loaded.evaluations), "Breakout")
    assert table is not None
    rows = table.text.set_index("agent")
    assert rows.loc[["ours: gorila"], ["1 M", "2 M", "5 M", "seeds"]].to_numpy().tolist() == [
        ["9.0 (1 of 2)", "25.0 [20.0, 30.0]", "-", "2"]
    ]
    assert any(note.startswith("(1 of 3): of three seeds one was evaluated there") for note in table.notes)
    assert rows.loc["DQN (nnabla-rl)", "2 M"] == "3.7 [1.3, 5.6]"
    letter = str(rows.loc["DQN (Dopamine)", "played"])
    assert f"{letter}: training games of the last million frames, sticky actions 0.25." in table.notes
    ours = table.numbers.query("agent == 'ours: gorila'")
    assert ours[["frames", "seeds"]].to_numpy().tolist() == [[1_000_000, 1], [2_000_000, 2]]


def test_a_game_of_which_no_run_came_to_a_mark_has_no_table(loaded: LoadedRuns) -> None:
    assert budget_table(our_points(loaded.evaluations), "Pong") is None


def test_each_published_agent_stands_beside_ours_at_our_frames(loaded: LoadedRuns) -> None:
    table = equal_frames_table(run_scores(loaded))
    assert table is not None
    numbers = table.numbers.set_index("published")
    # 25 points; the seeds of nnabla-rl's DQN have 1.3 to 5.6. Random 1.7, human 31.8.
    nnabla = numbers.loc[["DQN (nnabla-rl)"]]
    assert nnabla[["games", "above", "within", "below"]].to_numpy().tolist() == [[1, 1, 0, 0]]
    assert nnabla["median"].item() == pytest.approx(100 * (25 - 1.7) / (31.8 - 1.7))
    assert set(table.text["ours"]) == {"gorila"} and set(table.text["frames"]) == {"2 M"}
    published_ranges = table.text.set_index("published")["above / within / below"]
    assert published_ranges["DQN (nnabla-rl)"] == "1 / 0 / 0"
    assert published_ranges["A2C (SB3 zoo)"] == "range not published"


def test_what_was_played_otherwise_is_marked_and_a_budget_between_marks_said(tmp_path: Path) -> None:
    sticky = evaluation(20.0, protocol="sticky", sticky_probability=0.25, total_frames=3_000_000)
    write_run(tmp_path, [sticky], game="Breakout")
    loaded = load_runs(tmp_path / "runs")
    table = equal_frames_table(run_scores(loaded))
    assert table is not None and set(table.text["ours"]) == {"gorila *"}
    assert any(note.startswith("* ours was played otherwise") for note in table.notes)
    assert any("between two published marks" in note for note in table.notes)
    assert budget_table(our_points(loaded.evaluations), "Breakout") is None


def test_few_published_games_stand_in_numbers_alone(tmp_path: Path) -> None:
    for game in ("Breakout", "Alien", "Amidar"):
        write_run(tmp_path, [evaluation(20.0, total_frames=2_000_000)], game=game)
    table = equal_frames_table(run_scores(load_runs(tmp_path / "runs")))
    assert table is not None
    # nnabla-rl's QR-DQN has one of these three games.
    assert "QR-DQN (nnabla-rl)" in set(table.numbers["published"])
    assert "QR-DQN (nnabla-rl)" not in set(table.text["published"])


def test_the_best_of_a_killed_run_stand_where_the_run_had_come(tmp_path: Path) -> None:
    rows = [
        evaluation(25.0, agent="best", total_frames=2_000_000),
        *(evaluation(20.0, agent="training", total_frames=frames) for frames in (2_000_000, 10_000_000)),
    ]
    write_run(tmp_path, rows, game="Breakout")
    scores = run_scores(load_runs(tmp_path))
    assert scores[["total_frames", "reach"]].to_numpy().tolist() == [[2_000_000, 10_000_000]]
    table = equal_frames_table(scores)
    assert table is not None and set(table.numbers["frames"]) == {10_000_000}


def test_of_runs_of_unequal_length_the_longest_count_and_their_best_stand_at_their_frames(tmp_path: Path) -> None:
    for seed, (frames, score) in enumerate([(2_000_000, 10.0), (5_000_000, 50.0), (4_950_000, 70.0)]):
        best = evaluation(score, agent="best", total_frames=frames // 2)
        write_run(tmp_path, [evaluation(score, total_frames=frames), best], game="Breakout", seed=seed)
    table = equal_frames_table(run_scores(load_runs(tmp_path / "runs")))
    assert table is not None
    of_last, of_best = (table.numbers[table.numbers["agent"] == agent].iloc[0] for agent in ("gorila", "gorila, best"))
    assert of_last["frames"] == of_best["frames"] == 4_975_000
    assert of_last["published_median"] == of_best["published_median"], "nothing is won by picking"
    # Random play has 1.7 points, the human 31.8 (Mnih et al. 2015): 60 points are 193.7 %.
    assert of_last["median"] == pytest.approx(100 * (60 - 1.7) / 30.1)
    assert "Of a game's runs those count that have come as far as the longest." in table.notes
    assert any(note.startswith("The best parameters of a run were picked from all of it") for note in table.notes)


def test_runs_without_a_million_frames_have_no_place(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(20.0, total_frames=100_000)])
    assert equal_frames_table(run_scores(load_runs(tmp_path / "runs"))) is None


def test_parameters_count_by_their_own_age_and_not_by_how_far_their_run_has_gone_since(tmp_path: Path) -> None:
    sticky: dict[str, Any] = {"protocol": "sticky", "sticky_probability": 0.25}
    of_before = evaluation(10.0, version=20, total_frames=2_000_000, **sticky)
    write_run(tmp_path, [of_before, evaluation(90.0, version=100, total_frames=10_000_000)], game="Breakout")
    write_run(tmp_path, [evaluation(50.0, total_frames=10_000_000, **sticky)], game="Breakout", seed=1)
    table = equal_frames_table(run_scores(load_runs(tmp_path / "runs")))
    assert table is not None
    of_sticky = table.numbers[table.numbers["protocol"] == "sticky"]
    assert set(of_sticky["frames"]) == {10_000_000}
    # Random play has 1.7 points, the human 31.8 (Mnih et al. 2015).
    assert of_sticky["median"].tolist() == pytest.approx([100 * (50 - 1.7) / 30.1] * len(of_sticky))


def test_games_of_which_nobody_published_anything_at_these_frames_hide_nobody(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(20.0, total_frames=2_000_000)], game="Breakout")
    for game in ("Alien", "Amidar"):
        write_run(tmp_path, [evaluation(20.0, total_frames=400_000)], game=game)
    table = equal_frames_table(run_scores(load_runs(tmp_path / "runs")))
    assert table is not None
    assert set(table.numbers["our_games"]) == {1}
    assert "DQN (nnabla-rl)" in set(table.text["published"])


def test_where_every_published_agent_lacks_most_games_there_is_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_one = [next(one for one in yardsticks() if game in one.curves.index) for game in ("Breakout", "Alien", "Pong")]
    known = [
        one._replace(agent=game, curves=one.curves.loc[[game]])
        for one, game in zip(of_one, ("Breakout", "Alien", "Pong"), strict=True)
    ]
    monkeypatch.setattr(equal_frames, "yardsticks", lambda: tuple(known))
    for game in ("Breakout", "Alien", "Pong"):
        write_run(tmp_path, [evaluation(20.0, total_frames=10_000_000)], game=game)
    assert equal_frames_table(run_scores(load_runs(tmp_path / "runs"))) is None
