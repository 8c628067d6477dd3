"""What Hydra gets for a job: from a process, from the ledger of an earlier command, or for want of both."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import cloudpickle
import numpy as np
import pytest
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import CompactHydraException
from hydra.test_utils.test_utils import SweepTaskFunction
from omegaconf import DictConfig, OmegaConf

from dask_jobs.job import EarlierReturn, as_json
from dask_jobs.ledger import FAILED, read_ledger
from dask_jobs.needs import JobFailedError, JobInterrupted
from dask_jobs.outcome import Outcome
from dask_jobs.work import carry_out, in_one_line

pytestmark = pytest.mark.usefixtures("end_commands", "hydra_restore_singletons")


def multirun(folder: Path, words: Sequence[str], task: Callable[[DictConfig], Any]) -> Any:
    """What a multirun with these words, in this folder and process, gives back; `task` is carried out for each job."""
    run = SweepTaskFunction()
    run.calling_module, run.config_path, run.config_name = "hydra.test_utils.a_module", "configs", "compose"
    run.overrides, run.temp_dir, run.task_function = list(words), str(folder), task
    run.__enter__()
    return run.returns


class Launched:
    """Multiruns in one folder, in this process."""

    def __init__(self, folder: Path, scheduler_address: str) -> None:
        self.folder = folder
        self._address = scheduler_address

    def launch(self, *words: str, task_function: Callable[[DictConfig], Any] | None = None) -> list[JobReturn]:
        all_words = ["hydra/launcher=dask", f"hydra.launcher.address={self._address}", *words]
        (returns,) = cast(list[list[JobReturn]], multirun(self.folder, all_words, task_function or returned))
        return returns


def returned(config: DictConfig) -> Any:
    """What a job makes of its config."""
    return {"bar": config.bar}


@pytest.fixture
def launched(tmp_path: Path, scheduler_here: str) -> Launched:
    return Launched(tmp_path, scheduler_here)


def test_a_job_that_an_earlier_command_has_done_returns_what_it_returned_then(
    launched: Launched, end_commands: Callable[[], None]
) -> None:
    (first,) = launched.launch("bar=7")
    end_commands()
    (again,) = launched.launch("bar=7")
    assert again.return_value == first.return_value == {"bar": 7}
    assert (again.status, again.overrides, again.task_name) == (JobStatus.COMPLETED, first.overrides, first.task_name)
    assert (again.cfg, again.working_dir) == (first.cfg, first.working_dir)
    assert OmegaConf.to_container(again.hydra_cfg) == OmegaConf.to_container(first.hydra_cfg)


def test_of_a_job_that_was_done_before_nothing_is_composed_until_somebody_asks() -> None:
    num_made = 0

    def make() -> JobReturn:
        nonlocal num_made
        num_made += 1
        return JobReturn(overrides=["bar=7"], cfg=OmegaConf.create({"bar": 7}), task_name="program")

    job_return = EarlierReturn(make, {"bar": 7})
    assert (job_return.status, job_return.return_value, num_made) == (JobStatus.COMPLETED, {"bar": 7}, 0)
    assert (job_return.overrides, job_return.task_name, num_made) == (["bar=7"], "program", 1)
    assert job_return.cfg == {"bar": 7} and num_made == 1


@pytest.mark.slow
def test_a_wider_sweep_runs_what_is_new_and_no_job_gets_another_ones_number_and_folder(
    launched: Launched, end_commands: Callable[[], None]
) -> None:
    launched.launch("bar=7")
    end_commands()
    returns = launched.launch("bar=5,7,5")
    assert [job.return_value["bar"] for job in returns] == [5, 7, 5]
    assert [(row.job, row.overrides, row.attempts) for row in read_ledger(launched.folder)] == [
        (0, "bar=7", 1),
        (1, "bar=5", 1),
    ]
    assert OmegaConf.load(launched.folder / "1/.hydra/config.yaml").bar == 5


def test_what_json_cannot_hold_is_not_kept() -> None:
    returns = [JobReturn(status=JobStatus.COMPLETED, _return_value=value) for value in (1.5, object(), [None, "a"])]
    assert [as_json(cloudpickle.dumps(value)) for value in returns] == ["1.5", "", '[null, "a"]']
    assert as_json(None) == ""
    scalars = {"loss": np.float32(0.5), "steps": np.int64(3), "rate": np.array(2.0)}
    kept = as_json(cloudpickle.dumps(JobReturn(status=JobStatus.COMPLETED, _return_value=scalars)))
    assert kept == '{"loss": 0.5, "steps": 3, "rate": 2.0}'
    assert as_json(cloudpickle.dumps(JobReturn(status=JobStatus.COMPLETED, _return_value="x" * 20_000))) == ""


class Unreadable:
    """Can be pickled, and not be read again."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return find_device, ()


def find_device() -> None:
    raise RuntimeError("no such device here")


def unreadable_at_seven(config: DictConfig) -> Any:
    return Unreadable() if config.bar == 7 else config.bar


def test_what_cannot_be_read_where_the_command_runs_fails_its_job_and_no_other(launched: Launched) -> None:
    with pytest.raises(JobFailedError, match="what it returned cannot be read here: RuntimeError: no such device"):
        launched.launch("bar=7,8", task_function=unreadable_at_seven)
    assert [(row.status, row.return_value) for row in read_ledger(launched.folder)] == [("done", ""), ("done", "8")]


def refused_at_seven(config: DictConfig) -> Any:
    if config.bar == 7:
        raise JobFailedError("bar=7 is\n  too much", again=False) from ValueError("of the job's own")
    return config.bar


def test_a_failure_that_words_tell_ends_with_them_and_is_not_tried_again(launched: Launched) -> None:
    with pytest.raises(CompactHydraException, match=r"^bar=7 is\n  too much$"):
        launched.launch("hydra.launcher.retries=3", "bar=7,8", task_function=refused_at_seven)
    rows = [(row.status, row.attempts, row.reason) for row in read_ledger(launched.folder)]
    assert rows == [("failed", 1, "bar=7 is too much"), ("done", 1, "")]


def test_an_error_is_told_in_one_line_by_its_name_and_its_words() -> None:
    assert in_one_line(ValueError("two\n  lines")) == "ValueError: two lines"
    assert in_one_line(ValueError()) == "ValueError"
    assert in_one_line(JobFailedError("its host was lost")) == "its host was lost"
    assert in_one_line(JobInterrupted("after 3 steps")) == "after 3 steps"


def test_a_job_whose_parts_cannot_be_loaded_has_failed(capsys: pytest.CaptureFixture[str]) -> None:
    def load() -> Any:
        raise ModuleNotFoundError("No module named 'task'")

    assert carry_out(load) == Outcome(FAILED, "ModuleNotFoundError: No module named 'task'")
    assert "Traceback" in capsys.readouterr().err
