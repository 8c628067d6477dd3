from pathlib import Path

import numpy as np

from pipeline.results.load import LoadedRuns, load_runs
from pipeline.results.published import load_published
from pipeline.results.run_scores import COLUMNS, entries, rliable_scores, run_scores, score_matrix
from tests.results.run_folders import evaluation, write_run


def load(tmp_path: Path) -> LoadedRuns:
    return load_runs(tmp_path / "runs")


def test_a_run_is_worth_the_mean_of_its_newest_parameters(tmp_path: Path) -> None:
    old = [evaluation(9.0, number, version=10) for number in range(2)]
    write_run(tmp_path, [*old, evaluation(1.0, version=20), evaluation(4.0, 1, version=20)], seed=7, commit="abc")
    scores = run_scores(load(tmp_path))
    assert list(scores.columns) == list(COLUMNS)
    assert scores[["entry", "seed", "score", "episodes", "version", "differs", "commit"]].to_numpy().tolist() == [
        ["gorila", 7, 2.5, 2, 20, "", "abc"]
    ]


def test_evaluations_during_training_are_no_scores_but_the_best_played_again_is_one(tmp_path: Path) -> None:
    rows = [evaluation(99.0, version=10, agent="training"), evaluation(5.0, version=10, agent="best"), evaluation(3.0)]
    write_run(tmp_path, rows)
    scores = run_scores(load(tmp_path))
    assert scores.set_index("entry")["score"].to_dict() == {"gorila": 3.0, "gorila, best": 5.0}


def test_each_protocol_of_a_run_is_a_score_of_its_own(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(1.0), evaluation(8.0, protocol="sticky", sticky_probability=0.25)])
    scores = run_scores(load(tmp_path)).set_index("protocol")
    assert scores["score"].to_dict() == {"noop_starts": 1.0, "sticky": 8.0}
    assert scores["differs"].to_dict() == {"noop_starts": "", "sticky": "sticky_probability 0.25 instead of 0.0"}


def test_one_name_played_in_two_ways_is_two_scores(tmp_path: Path) -> None:
    write_run(tmp_path, [evaluation(1.0), evaluation(8.0, max_frames=400)])
    assert sorted(run_scores(load(tmp_path))["score"]) == [1.0, 8.0]


def test_a_game_that_was_played_twice_counts_once(tmp_path: Path) -> None:
    once = [evaluation(float(number), number) for number in range(4)]
    write_run(tmp_path, [*once, *once])
    (score,) = run_scores(load(tmp_path)).to_dict("records")
    assert (score["score"], score["episodes"]) == (1.5, 4)


def test_several_points_of_one_recorded_game_are_several_games(tmp_path: Path) -> None:
    """They share its seed."""
    points = [evaluation(float(i), i, episode_seed=7, start_step=10 * i, start_states="4 points") for i in range(4)]
    write_run(tmp_path, points)
    (score,) = run_scores(load(tmp_path)).to_dict("records")
    assert (score["score"], score["episodes"]) == (1.5, 4)


def test_the_newest_parameters_count_before_the_number_of_their_games(tmp_path: Path) -> None:
    more = [evaluation(5.0, number, protocol="noop_starts_100") for number in range(3)]
    write_run(tmp_path, [*more, evaluation(1.0, version=200)])
    (rows,) = entries(run_scores(load(tmp_path))).values()
    assert rows["score"].tolist() == [1.0]


def test_two_names_of_the_same_settings_are_one_score_of_a_run_and_the_one_with_more_games_counts(
    tmp_path: Path,
) -> None:
    more = [evaluation(5.0, number, protocol="noop_starts_100") for number in range(3)]
    write_run(tmp_path, [*more, evaluation(1.0)])
    (rows,) = entries(run_scores(load(tmp_path))).values()
    assert rows[["protocol", "score"]].to_numpy().tolist() == [["noop_starts_100", 5.0]]


def test_entries_are_trained_agents_under_the_published_protocol(tmp_path: Path) -> None:
    rows = [evaluation(1.0), evaluation(0.0, agent="random", epsilon=1.0, version=0), evaluation(2.0, agent="best")]
    write_run(tmp_path, rows)
    write_run(tmp_path, [evaluation(1.0, max_frames=400)], experiment="short")
    found = entries(run_scores(load(tmp_path)))
    assert {name: rows["score"].tolist() for name, rows in found.items()} == {"gorila": [1.0], "gorila, best": [2.0]}


def test_the_same_parameters_played_greedily_and_drawn_from_are_two_entries(tmp_path: Path) -> None:
    best = [evaluation(6.0, agent="best", sampled=True)]
    write_run(tmp_path, [evaluation(1.0), evaluation(5.0, sampled=True), *best], experiment="dba3c")
    found = entries(run_scores(load(tmp_path)))
    assert {name: rows["score"].tolist() for name, rows in found.items()} == {
        "dba3c": [1.0],
        "dba3c, sampled": [5.0],
        "dba3c, best, sampled": [6.0],
    }


def test_a_matrix_has_runs_in_order_of_seed_and_nan_where_one_is_missing(tmp_path: Path) -> None:
    for game, seed, score in [("Pong", 10, 3.0), ("Pong", 2, 1.0), ("Hero", 2, 5.0)]:
        write_run(tmp_path, [evaluation(score)], game=game, seed=seed)
    matrix = score_matrix(run_scores(load(tmp_path)), ["Hero", "Alien", "Pong"])
    np.testing.assert_array_equal(matrix, [[5.0, np.nan, 1.0], [np.nan, np.nan, 3.0]])


def test_no_evaluation_at_all_gives_no_row_and_all_columns(tmp_path: Path) -> None:
    write_run(tmp_path, [])
    scores = run_scores(load(tmp_path))
    assert len(scores) == 0 and list(scores.columns) == list(COLUMNS)
    assert entries(scores) == {}


def test_arrays_for_rliable_hold_whole_seeds_of_whole_entries_with_the_human_at_one(tmp_path: Path) -> None:
    human = load_published()["human_noop"]
    for seed in range(2):
        write_run(tmp_path, [evaluation(human["Pong"])], seed=seed)
        write_run(tmp_path, [evaluation(0.0)], "dqn", seed=seed)
    write_run(tmp_path, [evaluation(human["Hero"])], game="Hero")
    found = rliable_scores(entries(run_scores(load(tmp_path))), ["Hero", "Pong"])
    assert list(found) == ["gorila"]
    np.testing.assert_allclose(found["gorila"], [[1.0, 1.0]])
