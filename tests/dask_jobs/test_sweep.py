"""Searches and sweeps in this process: when trials fail, pause, or cannot be chosen; when hosts or connections go."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from distributed import Client
from hydra.core.hydra_config import HydraConfig
from hydra.errors import CompactHydraException
from omegaconf import DictConfig
from optuna.samplers import RandomSampler

from dask_jobs import sweep
from dask_jobs.ledger import DONE, FAILED, LEDGER, RUNNING, WAITING, Ledger, LedgerRow, read_ledger
from dask_jobs.needs import JobFailedError, current_grant
from tests.clusters import wait_until
from tests.dask_jobs.programs import scheduler_and_host
from tests.dask_jobs.test_job import multirun

pytestmark = [
    pytest.mark.usefixtures("end_commands", "hydra_restore_singletons"),
    pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning"),
]

EACH_ONCE = "hydra.sweeper.sampler={_target_:optuna.samplers.BruteForceSampler,seed:0}"


class Searched:
    """Searches in one folder."""

    def __init__(self, folder: Path, scheduler_address: str) -> None:
        self.folder = folder
        self._address = f"hydra.launcher.address={scheduler_address}"

    def search(self, *words: str, task: Callable[[DictConfig], Any]) -> None:
        multirun(self.folder, ["hydra/sweeper=ask_and_tell", "hydra/launcher=dask", self._address, *words], task)

    def rows(self) -> list[LedgerRow]:
        return read_ledger(self.folder)

    def found(self) -> Any:
        return yaml.safe_load((self.folder / "optimization_results.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def searched(tmp_path: Path, scheduler_here: str) -> Searched:
    return Searched(tmp_path, scheduler_here)


def folder_of_sweep() -> Path:
    return Path(HydraConfig.get().sweep.dir)


def bar(config: DictConfig) -> Any:
    """What jobs make of their config."""
    return config.bar


class LacksPackage(RandomSampler):
    """Cannot choose a third trial, as Optuna's CmaEsSampler without its package."""

    def __init__(self, file: str) -> None:
        """`file` is there from then on."""
        super().__init__(seed=0)
        self._file = Path(file)

    def sample_independent(self, study: Any, trial: Any, *of: Any) -> Any:
        if trial.number == 2:
            self._file.touch()
            raise ModuleNotFoundError("No module named 'cmaes'")
        return super().sample_independent(study, trial, *of)


def second_ends_after_the_error(config: DictConfig) -> Any:
    if HydraConfig.get().job.num == 1:
        wait_until((folder_of_sweep() / "raised").exists, "the third trial is asked for")
    return config.bar


@pytest.mark.slow
def test_a_sampler_that_raises_ends_no_trial_that_runs(searched: Searched, capsys: pytest.CaptureFixture[str]) -> None:
    sampler = f"hydra.sweeper.sampler={{_target_:{__name__}.LacksPackage,file:{searched.folder / 'raised'}}}"
    words = ("bar=interval(0,1)", sampler, "hydra.sweeper.n_trials=4", "hydra.sweeper.n_jobs=2")
    with pytest.raises(
        CompactHydraException, match="LacksPackage, cannot choose a trial: ModuleNotFoundError: No module named 'cmaes'"
    ):
        searched.search(*words, task=second_ends_after_the_error)
    assert [row.status for row in searched.rows()] == [DONE, DONE]
    assert searched.found()["num_trials"] == 2
    assert "no more jobs are asked for, and those that run go on to their end: the sampler" in capsys.readouterr().out


@pytest.mark.slow
def test_a_trial_that_cannot_be_composed_fails_alone(searched: Searched) -> None:
    words = ("group1=file1,nofile", "bar=5", EACH_ONCE, "hydra.sweeper.n_trials=2")
    with pytest.raises(JobFailedError, match=r"^job \d bar=5 group1=nofile: .*nofile"):
        searched.search(*words, task=bar)
    assert sorted(row.status for row in searched.rows()) == [DONE, FAILED]
    assert searched.found() == {
        "best_value": 5.0,
        "best_params": {"group1": "file1"},
        "num_trials": 1,
        "fixed": ["bar=5"],
    }


def lose_scheduler(*_: object) -> None:
    """In the place of what asks the scheduler for something."""
    raise OSError("the scheduler is gone")


def test_what_was_returned_is_kept_and_told_of_whatever_ends_the_command_then(
    searched: Searched, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep, "give_back", lose_scheduler)
    with pytest.raises(OSError, match="the scheduler is gone"):
        searched.search("bar=3,4", "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=1", task=bar)
    (row,) = searched.rows()
    assert row.status == DONE
    assert searched.found()["best_value"] == float(row.return_value)
    assert "best of 1 trials: " in capsys.readouterr().out


def fail_first_once(config: DictConfig) -> Any:
    grant = current_grant()
    assert grant is not None
    with (folder_of_sweep() / "events").open("a", encoding="utf-8") as file:
        file.write(f"{grant.job} {grant.attempt}\n")
    if (grant.job, grant.attempt) == (0, 1):
        raise ValueError("once")
    return config.bar


@pytest.mark.slow
def test_a_trial_that_pauses_keeps_no_room_free(searched: Searched) -> None:
    words = ("bar=3,4", EACH_ONCE, "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=1")
    searched.search(*words, "hydra.launcher.backoff_seconds=2", task=fail_first_once)
    events = (searched.folder / "events").read_text(encoding="utf-8").splitlines()
    assert events == ["0 1", "1 1", "0 2"]


def spare_beside_the_first(config: DictConfig) -> float:
    """The first waits until another process of this sweep stands ready on its host."""
    host = psutil.Process().parent()
    assert host is not None

    def ready() -> bool:
        return sum("dask_jobs.work" in " ".join(child.cmdline()) for child in host.children()) > 1

    if HydraConfig.get().job.num == 0:
        wait_until(ready, "another process stands ready")
    return 1.0


@pytest.mark.slow
def test_a_process_stands_ready_for_a_trial_that_is_still_to_be_chosen(searched: Searched) -> None:
    words = ("bar=3,4", EACH_ONCE, "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=1")
    searched.search(*words, "hydra.launcher.preload=[json]", task=spare_beside_the_first)
    assert [row.return_value for row in searched.rows()] == ["1.0", "1.0"]


@pytest.mark.slow
def test_jobs_are_counted_once_each_however_often_they_are_chosen(
    searched: Searched, end_commands: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("bar=choice(7)", "hydra.sweeper.n_trials=3")
    searched.search(*words, task=bar)
    assert "best of 1 trials, and 2 more with the same values as others: 7 with bar=7" in capsys.readouterr().out
    assert searched.found()["num_trials"] == 1
    end_commands()
    searched.search(*words, task=bar)
    assert "\n1 jobs are done already" in f"\n{capsys.readouterr().out}"


def nothing(_config: DictConfig) -> None:
    """Returns no number."""


@pytest.mark.slow
def test_trials_that_returned_no_number_are_told_of_and_not_made_up_for_by_the_same_command(
    searched: Searched, end_commands: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        searched.search("bar=interval(0,1)", "hydra.sweeper.n_trials=2", task=nothing)
        end_commands()
        assert "2 trials returned no number, and the search learns nothing of them" in capsys.readouterr().out
        assert len(searched.rows()) == 2


def test_a_folder_that_another_command_holds_is_left_as_it_is(searched: Searched) -> None:
    ledger = Ledger.open(searched.folder)
    before = {file.name: file.read_bytes() for file in searched.folder.iterdir()}
    with pytest.raises(CompactHydraException, match="is in use by another command"):
        searched.search("bar=1,2", task=bar)
    assert {file.name: file.read_bytes() for file in searched.folder.iterdir()} == before
    ledger.close()


def test_a_note_that_cannot_be_written_is_one_clear_error(searched: Searched) -> None:
    note = searched.folder / "multirun.yaml"
    note.mkdir(parents=True)
    with pytest.raises(CompactHydraException, match=rf"{note} cannot be written: "):
        searched.search("bar=1,2", task=bar)
    assert not (searched.folder / LEDGER).exists()


def waits_for_go(config: DictConfig) -> int:
    """A job that ends once there is a file called `go`."""
    wait_until((folder_of_sweep() / "go").exists, "it may go")
    return int(config.bar)


def rows(folder: Path) -> list[LedgerRow]:
    return read_ledger(folder) if (folder / LEDGER).exists() else []


def launch(folder: Path, address: str, *words: str) -> None:
    all_words = ("hydra/launcher=dask", f"hydra.launcher.address={address}", *words)
    multirun(folder, [*all_words, "hydra.launcher.stop_seconds=1"], waits_for_go)


def abort(client: Client) -> None:
    connection: Any = client.scheduler_comm
    connection.comm.abort()


def deafen(client: Client) -> None:
    """As when the first messages of a new connection come in another order."""
    listening: Any = client._handle_report_task
    listening.cancel()
    failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    failed.set_exception(AssertionError("stream-start"))
    client._handle_report_task = failed


@pytest.mark.slow
@pytest.mark.parametrize("break_it", [abort, deafen])
def test_a_connection_that_breaks_costs_no_retry(
    tmp_path: Path, scheduler_here: str, break_it: Callable[[Client], None]
) -> None:
    before = set(Client._instances)

    def break_connection() -> None:
        wait_until(lambda: any(row.status == RUNNING for row in rows(tmp_path)), "a job runs")
        (client,) = set(Client._instances) - before
        assert client.loop is not None
        client.loop.add_callback(break_it, client)
        wait_until(lambda: any(row.attempts == 2 for row in rows(tmp_path)), "the job was started again")
        (tmp_path / "go").touch()

    breaking = threading.Thread(target=break_connection)
    breaking.start()
    launch(tmp_path, scheduler_here, "bar=7", "hydra.launcher.retries=0")
    breaking.join()
    (row,) = rows(tmp_path)
    assert (row.status, row.attempts, row.return_value) == (DONE, 2, "7")


@pytest.mark.slow
def test_where_no_host_is_left_the_sweep_ends_and_no_job_has_failed(tmp_path: Path) -> None:
    with scheduler_and_host(tmp_path, "--nthreads", "1", "--no-nanny") as address:
        children = psutil.Process().children()
        (host,) = (child for child in children if "worker" in child.cmdline() and child.cwd() == str(tmp_path))

        def end_host() -> None:
            wait_until(lambda: any(row.status == RUNNING for row in rows(tmp_path)), "a job runs")
            host.kill()

        ending = threading.Thread(target=end_host)
        ending.start()
        words = ("bar=1,2,3", "hydra.launcher.start_timeout_seconds=4", "hydra.launcher.retries=1")
        with pytest.raises(CompactHydraException, match="no host has come back in time"):
            launch(tmp_path, address, *words)
        ending.join()
        assert [row.status for row in rows(tmp_path)] == [WAITING] * 3
