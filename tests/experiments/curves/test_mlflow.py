import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest
from mlflow.entities import Experiment, Run
from mlflow.tracking import MlflowClient

from pipeline.experiments.curves.logger import LoggedRun
from pipeline.experiments.curves.mlflow import DATABASE, FOLDER_TAG, MlflowLogger
from pipeline.experiments.curves.scalars import EVALUATIONS, Scalar
from tests.experiments.smoke_runs import smoke_config

STARTED_AT = 1_700_000_000.0


@pytest.fixture(scope="module")
def results_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests: MLflow takes seconds to make a database."""
    return tmp_path_factory.mktemp("results")


def logged_run(results_dir: Path, seed: int, *, goes_on: bool = False) -> LoggedRun:
    config = smoke_config(results_dir, f"seed={seed}")
    config.folder.mkdir(parents=True, exist_ok=True)
    return LoggedRun(config, config.folder, STARTED_AT, goes_on)


def log(run: LoggedRun, *points: Scalar) -> None:
    logger = MlflowLogger(run)
    logger.log(points)
    logger.close()


def runs_of(results_dir: Path, seed: int) -> tuple[MlflowClient, list[Run]]:
    """What another program finds, without the runs that are marked as deleted."""
    client = MlflowClient(tracking_uri=f"sqlite:///{results_dir / DATABASE}")
    experiment = client.get_experiment_by_name("smoke_gorila")
    assert experiment is not None
    return client, list(client.search_runs([experiment.experiment_id], f"tags.seed = '{seed}'"))


def history(client: MlflowClient, run: Run, name: str) -> list[tuple[int, float, int]]:
    metrics = client.get_metric_history(run.info.run_id, name)
    return [(metric.step, metric.value, metric.timestamp) for metric in metrics]


@pytest.mark.slow
def test_of_two_runs_that_begin_an_experiment_both_are_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find, looks = MlflowClient.get_experiment_by_name, []

    def late(client: MlflowClient, name: str) -> Experiment | None:
        looks.append(name)
        # Another run makes it between this one's look and its own attempt.
        return find(client, name) if len(looks) != 2 else None

    monkeypatch.setattr(MlflowClient, "get_experiment_by_name", late)
    for seed in (0, 1):
        log(logged_run(tmp_path, seed), Scalar("bundle-0", "episodes/score", 1.5, 100, 1.0))
    assert [len(runs_of(tmp_path, seed)[1]) for seed in (0, 1)] == [1, 1] and len(looks) == 5


@pytest.mark.slow
def test_points_settings_and_folder_of_a_run_are_read_back(results_dir: Path) -> None:
    run = logged_run(results_dir, seed=0)
    log(
        run,
        Scalar("bundle-0", "episodes/score", 1.5, 100, 1.0),
        Scalar("bundle-0", "episodes/score", 2.5, 200, 2.0),
        Scalar("bundle-1", "episodes/score", -1.0, 150, 1.5),
        Scalar(EVALUATIONS, "evaluations/smoke/random", 0.5, 0, 0.0),
    )
    client, (found,) = runs_of(results_dir, 0)
    assert history(client, found, "episodes/score/bundle-0") == [
        (100, 1.5, 1_700_000_001_000),
        (200, 2.5, 1_700_000_002_000),
    ]
    assert history(client, found, "episodes/score/bundle-1") == [(150, -1.0, 1_700_000_001_500)]
    assert history(client, found, "evaluations/smoke/random") == [(0, 0.5, 1_700_000_000_000)]
    params: Mapping[str, str] = found.data.params
    assert params["game"] == "Breakout" and params["algorithm.kind"] == "q_learning"
    assert found.data.tags[FOLDER_TAG] == str(run.folder.resolve())
    assert found.info.status == "FINISHED" and found.info.run_name == "Breakout/0"


@pytest.mark.slow
def test_a_resumed_run_goes_on_in_the_same_run_of_mlflow(results_dir: Path) -> None:
    log(logged_run(results_dir, seed=1), Scalar("bundle-0", "episodes/score", 1.0, 100, 1.0))
    log(logged_run(results_dir, seed=1, goes_on=True), Scalar("bundle-0", "episodes/score", 2.0, 200, 2.0))
    client, (found,) = runs_of(results_dir, 1)
    assert [step for step, *_ in history(client, found, "episodes/score/bundle-0")] == [100, 200]


@pytest.mark.slow
def test_a_run_that_begins_anew_has_a_new_run_and_the_old_one_is_marked_as_deleted(results_dir: Path) -> None:
    for _ in range(2):
        log(logged_run(results_dir, seed=2), Scalar("bundle-0", "episodes/score", 1.0, 100, 1.0))
    client, (found,) = runs_of(results_dir, 2)
    assert len(history(client, found, "episodes/score/bundle-0")) == 1


@pytest.mark.slow
def test_more_points_than_mlflow_takes_at_once_all_arrive(results_dir: Path) -> None:
    log(
        logged_run(results_dir, seed=3),
        *(Scalar("bundle-0", "updates/version", 1.0, step, 1.0) for step in range(1500)),
    )
    client, (found,) = runs_of(results_dir, 3)
    assert [step for step, *_ in history(client, found, "updates/version/bundle-0")] == list(range(1500))


@pytest.mark.slow
def test_nothing_is_written_but_the_database(results_dir: Path) -> None:
    log(logged_run(results_dir, seed=4))
    files = [path for path in results_dir.rglob("*") if path.is_file()]
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in files} == {DATABASE}


def test_what_is_no_database_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_text("this is none")
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        MlflowLogger(logged_run(tmp_path, seed=0))


def test_a_path_that_mlflow_would_cut_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "why?").mkdir()
    with pytest.raises(sqlite3.Error, match="MLflow cuts a path at its question mark"):
        MlflowLogger(logged_run(tmp_path / "why?", seed=0))


@pytest.mark.slow
def test_a_folder_with_an_apostrophe_has_one_run_and_odd_names_of_points_arrive(tmp_path: Path) -> None:
    results_dir = tmp_path / "o'brien"
    results_dir.mkdir()
    tag = "evaluations/mine+1 (2)/checkpoint"
    log(logged_run(results_dir, seed=0), Scalar(EVALUATIONS, tag, 1.0, 100, 1.0))
    log(logged_run(results_dir, seed=0, goes_on=True), Scalar(EVALUATIONS, tag, 2.0, 200, 2.0))
    client, (found,) = runs_of(results_dir, 0)
    assert [step for step, *_ in history(client, found, "evaluations/mine_1 2/checkpoint")] == [100, 200]
