from pathlib import Path

import pytest

from pipeline.experiments.curves.logger import LoggedRun
from pipeline.experiments.curves.rows_of_roles import rows_of_roles
from pipeline.experiments.curves.scalars import EVALUATIONS, Scalar
from pipeline.experiments.curves.tensorboard import FOLDER, MEAN_OF_GAMES, TensorBoardLogger
from tests.experiments.event_files import Point, read_events, read_hyper_parameters
from tests.experiments.smoke_runs import smoke_config
from tests.results.run_folders import append_rows, episode, update, write_run

STARTED_AT = 1_700_000_000.0


def logged_run(folder: Path, *, goes_on: bool = False) -> LoggedRun:
    return LoggedRun(smoke_config(folder), folder, STARTED_AT, goes_on)


def points(source: str, *frames: int, value: float = 1.0) -> list[Scalar]:
    return [Scalar(source, "episodes/score", value, number, number / 100) for number in frames]


def log(logger: TensorBoardLogger, *of_sources: list[Scalar]) -> None:
    for some in of_sources:
        logger.log(some)
    logger.close()


def steps(folder: Path, source: str) -> list[int]:
    return [point.step for point in read_events(folder / FOLDER)[source, "episodes/score"]]


def test_a_point_is_drawn_at_its_frames_and_at_its_training_time(tmp_path: Path) -> None:
    log(TensorBoardLogger(logged_run(tmp_path)), points("bundle-0", 200, value=1.5))
    (point,) = read_events(tmp_path / FOLDER)["bundle-0", "episodes/score"]
    assert point == Point(200, 1.5, STARTED_AT + 2.0)


def test_points_of_two_roles_out_of_step_are_all_drawn(tmp_path: Path) -> None:
    log(TensorBoardLogger(logged_run(tmp_path)), points("bundle-0", 100, 900) + points("bundle-1", 50, 500))
    assert (steps(tmp_path, "bundle-0"), steps(tmp_path, "bundle-1")) == ([100, 900], [50, 500])


def test_a_resumed_run_replaces_what_was_drawn_beyond_its_checkpoint(tmp_path: Path) -> None:
    log(TensorBoardLogger(logged_run(tmp_path)), points("bundle-0", 100, 200, 300), points("bundle-1", 150, 250))
    log(TensorBoardLogger(logged_run(tmp_path, goes_on=True)), points("bundle-0", 180, 280))
    assert steps(tmp_path, "bundle-0") == [100, 180, 280]
    assert steps(tmp_path, "bundle-1") == [150, 250]


def test_what_a_resume_has_set_aside_is_purged_row_by_row(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path,
        [episode(1.0, 100), update(total_frames=150), episode(3.0, 160, role="bundle-1")],
        experiment="smoke_gorila",
    )
    # The checkpoint is at 170: the rows behind it are set aside.
    log(TensorBoardLogger(logged_run(folder)), points("bundle-0", 100, 150, 180), points("bundle-1", 160, 190))
    rows = rows_of_roles(folder)
    # Roles write while a tool is opened.
    append_rows(folder, [episode(4.0, 300)])
    log(TensorBoardLogger(logged_run(folder, goes_on=True), rows), points("bundle-0", 300))
    assert steps(folder, "bundle-0") == [100, 150, 300], "180 is before the first new point"
    assert steps(folder, "bundle-1") == [160], "it has no new point"


def test_a_run_that_goes_back_purges_what_has_no_row_any_more(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [episode(1.0, 100), episode(2.0, 200)], experiment="smoke_gorila")
    logger = TensorBoardLogger(logged_run(folder))
    log(logger, points("bundle-0", 100, 200, 250))
    # As a run does it: its rows come first.
    append_rows(folder, [episode(4.0, 300)])
    log(logger, points("bundle-0", 300, value=4.0))
    assert steps(folder, "bundle-0") == [100, 200, 300]
    means = read_events(folder / FOLDER)["bundle-0", MEAN_OF_GAMES]
    assert means[-1].step == 300 and means[-1].value == pytest.approx(7 / 3), "of the games of before, too"


def test_the_mean_is_of_the_last_hundred_games_of_a_role(tmp_path: Path) -> None:
    games = [Scalar("bundle-0", "episodes/score", float(score), 10 * score, 1.0) for score in range(103)]
    log(TensorBoardLogger(logged_run(tmp_path)), games, points("bundle-1", 50, value=7.0))
    drawn = read_events(tmp_path / FOLDER)
    assert [point.value for point in drawn["bundle-0", MEAN_OF_GAMES]][:2] == [0.0, 0.5]
    assert drawn["bundle-0", MEAN_OF_GAMES][-1].value == pytest.approx(sum(range(3, 103)) / 100)
    assert drawn["bundle-1", MEAN_OF_GAMES] == [Point(50, 7.0, STARTED_AT + 0.5)]


def test_settings_are_hyper_parameters_whose_metric_is_the_mean_of_the_final_evaluation(tmp_path: Path) -> None:
    log(TensorBoardLogger(logged_run(tmp_path)), [Scalar(EVALUATIONS, "evaluations/smoke/checkpoint", 4.5, 300, 3.0)])
    log(TensorBoardLogger(logged_run(tmp_path, goes_on=True)), points("bundle-0", 400))
    values, metrics = read_hyper_parameters(tmp_path / FOLDER / EVALUATIONS)
    config = smoke_config(tmp_path)
    assert values["optimizer.kind"] == config.optimizer.kind and values["game"] == "Breakout"
    assert values["seed"] == 0.0 and values["environment.grey"] == 1.0 and values["init_from"] == "null"
    assert not any(name.startswith(("cluster", "progress", "results_dir")) for name in values)
    (metric,) = metrics
    assert read_events(tmp_path / FOLDER)[EVALUATIONS, metric] == [Point(300, 4.5, STARTED_AT + 3.0)]


def test_files_are_read_in_the_order_of_their_making_beyond_the_ninth(tmp_path: Path) -> None:
    # The count in a file's name is of all files of the process: one of twelve resumes meets its tenth.
    log(TensorBoardLogger(logged_run(tmp_path)), points("bundle-0", 100))
    for step in (200, 300):
        log(TensorBoardLogger(logged_run(tmp_path, goes_on=True)), *(points(f"bundle-{i}", step) for i in range(6)))
    assert steps(tmp_path, "bundle-0") == [100, 200, 300]
    assert [steps(tmp_path, f"bundle-{i}") for i in range(1, 6)] == [[200, 300]] * 5


def test_a_run_that_goes_back_after_the_loss_of_a_shard_does_the_same(tmp_path: Path) -> None:
    logger = TensorBoardLogger(logged_run(tmp_path))
    log(logger, points("bundle-0", 100, 200, 300))
    log(logger, points("bundle-0", 180))
    assert steps(tmp_path, "bundle-0") == [100, 180]


def test_evaluations_stay_whatever_becomes_of_the_training_after_them(tmp_path: Path) -> None:
    log(TensorBoardLogger(logged_run(tmp_path)), points(EVALUATIONS, 100, 300))
    log(TensorBoardLogger(logged_run(tmp_path, goes_on=True)), points(EVALUATIONS, 200))
    assert sorted(steps(tmp_path, EVALUATIONS)) == [100, 200, 300]


def test_a_run_that_begins_anew_leaves_nothing_of_before(tmp_path: Path) -> None:
    log(TensorBoardLogger(logged_run(tmp_path)), points("bundle-0", 100), points("bundle-1", 100))
    log(TensorBoardLogger(logged_run(tmp_path)), points("bundle-0", 50))
    assert {source for source, _ in read_events(tmp_path / FOLDER)} == {"bundle-0"}
    assert steps(tmp_path, "bundle-0") == [50]
