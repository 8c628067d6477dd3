from pathlib import Path

from pipeline.experiments.curves.logger import LoggedRun
from pipeline.experiments.curves.scalars import EVALUATIONS, Scalar
from pipeline.experiments.curves.tensorboard import FOLDER, TensorBoardLogger
from tests.experiments.event_files import Point, read_events
from tests.experiments.smoke_runs import smoke_config

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
    assert list(read_events(tmp_path / FOLDER)) == [("bundle-0", "episodes/score")]
    assert steps(tmp_path, "bundle-0") == [50]
