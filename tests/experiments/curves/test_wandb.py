"""Files as wandb itself writes them, offline. What a run gives it: `test_loggers.py`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.experiments.curves.logger import LoggedRun
from pipeline.experiments.curves.scalars import EVALUATIONS, Scalar
from tests.experiments.smoke_runs import smoke_config
from tests.experiments.wandb_files import read_history, read_records

wandb = pytest.importorskip("wandb", reason="an extra: pip install '.[wandb]'")

SCORES = [Scalar("bundle-0", "episodes/score", 1.5, 200, 2.0), Scalar("bundle-0", "episodes/num_steps", 50.0, 200, 2.0)]
MEAN = Scalar(EVALUATIONS, "evaluations/noop_starts/checkpoint", 3.5, 300, 3.0)


@pytest.fixture(autouse=True)
def ended_service(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody asks for more than the default, and the process beside this one ends."""
    for name in ("WANDB_MODE", "WANDB_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    yield
    wandb.teardown()


def log(folder: Path, *points: Scalar, goes_on: bool = False) -> None:
    from pipeline.experiments.curves.wandb import WandbLogger

    logger = WandbLogger(LoggedRun(smoke_config(folder, "seed=3"), folder, 1_700_000_000.0, goes_on))
    logger.log(points)
    logger.close()


def files(folder: Path) -> list[Path]:
    return sorted((folder / "wandb").glob("offline-run-*/*.wandb"))


@pytest.mark.slow
def test_points_of_a_row_are_together_and_nothing_leaves_the_run_folder(tmp_path: Path) -> None:
    log(tmp_path, *SCORES, MEAN)
    (file,) = files(tmp_path)
    assert read_history(file) == [
        {"frames": 200, "training_seconds": 2.0, "episodes/score/bundle-0": 1.5, "episodes/num_steps/bundle-0": 50.0},
        {"frames": 300, "training_seconds": 3.0, "evaluations/noop_starts/checkpoint": 3.5},
    ]


def test_their_run_has_our_names_and_settings(tmp_path: Path) -> None:
    log(tmp_path, MEAN)
    (file,) = files(tmp_path)
    (run,) = [record.run for record in read_records(file) if record.WhichOneof("record_type") == "run"]
    assert (run.run_group, run.display_name, run.project) == ("smoke_gorila", "Breakout/3", "pipeline")
    settings = {item.key: json.loads(item.value_json) for item in run.config.update}
    assert settings["optimizer.kind"] == smoke_config(tmp_path).optimizer.kind and settings["seed"] == 3


def test_a_run_that_goes_on_has_a_file_more_of_the_same_id_and_one_that_begins_anew_a_single_one(
    tmp_path: Path,
) -> None:
    log(tmp_path, *SCORES)
    log(tmp_path, MEAN, goes_on=True)
    assert [len(read_history(file)) for file in files(tmp_path)] == [1, 1]
    assert len({file.name for file in files(tmp_path)}) == 1
    log(tmp_path, *SCORES)
    assert len(files(tmp_path)) == 1


def test_more_points_may_come_after_the_end(tmp_path: Path) -> None:
    from pipeline.experiments.curves.wandb import WandbLogger

    logger = WandbLogger(LoggedRun(smoke_config(tmp_path), tmp_path, 1_700_000_000.0, goes_on=False))
    for point in (SCORES[0], SCORES[0]._replace(frames=180)):
        logger.log([point])
        logger.close()
    assert [row["frames"] for file in files(tmp_path) for row in read_history(file)] == [200, 180]
