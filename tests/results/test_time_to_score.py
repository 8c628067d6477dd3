from pathlib import Path
from typing import Any

import numpy as np

from pipeline.results.load import LoadedRuns, load_runs
from pipeline.results.time_to_score import games_past, hours_to_score, time_to_score_figure
from pipeline.rows import EvaluationRow
from tests.results.run_folders import evaluation, write_run


def evaluations(hours: float, *scores: float, **changes: Any) -> list[EvaluationRow]:
    settings: dict[str, Any] = {
        "agent": "training",
        "version": int(100 * hours),
        "wall_seconds": 3600 * hours,
    } | changes
    return [evaluation(score, number, **settings) for number, score in enumerate(scores)]


def load(tmp_path: Path) -> LoadedRuns:
    return load_runs(tmp_path / "runs")


def test_the_first_evaluation_whose_mean_is_above_dqn_counts(tmp_path: Path) -> None:
    # Pong: DQN has 18.9. A single game above it is not enough.
    rows = [*evaluations(1, 21.0, 10.0), *evaluations(2, 19.0, 19.0), *evaluations(3, 21.0, 21.0)]
    write_run(tmp_path, rows)
    assert hours_to_score(load(tmp_path))["hours"].tolist() == [2.0]


def test_a_run_that_never_was_above_has_infinite_hours_and_the_end_counts_too(tmp_path: Path) -> None:
    write_run(tmp_path, evaluations(1, 18.9), seed=0)
    write_run(tmp_path, [*evaluations(1, 0.0), *evaluations(4, 20.0, agent="checkpoint")], seed=1)
    write_run(tmp_path, [*evaluations(1, 0.0), *evaluations(1, 21.0, agent="best", version=9)], seed=2)
    assert hours_to_score(load(tmp_path))["hours"].tolist() == [np.inf, 4.0, np.inf]


def test_a_run_that_was_evaluated_at_its_end_alone_says_nothing_of_when(tmp_path: Path) -> None:
    write_run(tmp_path, evaluations(4, 20.0, agent="checkpoint"))
    assert len(hours_to_score(load(tmp_path))) == 0


def test_training_evaluations_under_another_protocol_do_not_say_when_either(tmp_path: Path) -> None:
    write_run(tmp_path, [*evaluations(1, 0.0, noop_max=0), *evaluations(4, 20.0, agent="checkpoint")])
    assert len(hours_to_score(load(tmp_path))) == 0


def test_what_was_drawn_from_a_policy_is_nothing_that_the_greedy_player_reached(tmp_path: Path) -> None:
    drawn = [*evaluations(1, 20.0, sampled=True), *evaluations(2, 20.0, sampled=True, agent="checkpoint")]
    write_run(tmp_path, [*evaluations(1, 0.0), *drawn], experiment="dba3c")
    hours = hours_to_score(load(tmp_path))
    assert hours[["experiment", "hours"]].to_numpy().tolist() == [["dba3c", np.inf], ["dba3c, sampled", 1.0]]


def test_another_protocol_and_another_game_do_not_count(tmp_path: Path) -> None:
    write_run(tmp_path, evaluations(1, 21.0, max_frames=400), seed=0)
    write_run(tmp_path, evaluations(1, 21.0), game="Skiing")
    assert len(hours_to_score(load(tmp_path))) == 0


def test_a_game_is_passed_when_half_of_its_seeds_are(tmp_path: Path) -> None:
    for seed, hours in enumerate([5.0, 1.0, 3.0]):
        write_run(tmp_path, evaluations(hours, 21.0), seed=seed)
    for seed, score in enumerate([21.0, 0.0, 0.0]):
        write_run(tmp_path, evaluations(1, score), experiment="dqn", seed=seed)
    assert games_past(hours_to_score(load(tmp_path))).to_numpy().tolist() == [
        ["dqn", "Pong", np.inf],
        ["gorila", "Pong", 3.0],
    ]


def test_the_curve_climbs_by_a_game_at_its_hour_and_says_of_how_many(tmp_path: Path) -> None:
    write_run(tmp_path, evaluations(2, 21.0))
    write_run(tmp_path, evaluations(1, 500.0), game="Breakout")
    write_run(tmp_path, evaluations(1, 0.0), game="Alien")
    (axes,) = time_to_score_figure(hours_to_score(load(tmp_path))).axes
    (line,) = axes.lines
    assert np.asarray(line.get_xydata()).tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [2.1, 2.0]]
    assert line.get_label() == "gorila (2 of 3 games played)"


def test_a_figure_of_nobody_past_the_line_is_still_a_figure(tmp_path: Path) -> None:
    write_run(tmp_path, evaluations(2, 0.0))
    (axes,) = time_to_score_figure(hours_to_score(load(tmp_path))).axes
    assert axes.lines[0].get_label() == "gorila (0 of 1 games played)"


def test_a_name_that_begins_with_an_underscore_is_in_the_legend(tmp_path: Path) -> None:
    write_run(tmp_path, evaluations(2, 21.0), experiment="_mine")
    (axes,) = time_to_score_figure(hours_to_score(load(tmp_path))).axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text().lstrip("\u200b") for text in legend.get_texts()] == ["_mine (1 of 1 games played)"]
