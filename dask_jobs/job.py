"""One job of Hydra's: composed when it is first looked at, packed for its process, its JobReturn made or made again.

Not here: running it (`sweep`, `work`).
"""

import json
import os
import sys
import sysconfig
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any, cast

import cloudpickle
from hydra import version
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from dask_jobs.needs import JobFailedError, JobNeeds, Part
from dask_jobs.outcome import HostSetup, Outcome
from dask_jobs.settings import LauncherSettings, locate
from dask_jobs.work import Work, in_one_line

_MAX_VALUE = 10_000
"""Letters of a returned value that go into the ledger, which is written anew at each change."""


@dataclass(frozen=True)
class Program:
    """What all jobs of a launcher have in common."""

    task_function: TaskFunction
    config: DictConfig
    """Of the multirun."""
    hydra_context: HydraContext
    settings: LauncherSettings

    @cached_property
    def needs(self) -> Callable[[DictConfig], JobNeeds]:
        """What a job with this config needs."""
        if self.settings.needs is not None:
            return locate(self.settings.needs)
        same = Part(self.settings.threads, self.settings.memory_bytes or 0, self.settings.gpus)
        return lambda config: JobNeeds((same,))

    def key(self, overrides: Sequence[str]) -> str:
        """What the job with these overrides is known by in the ledger."""
        ignored = self.settings.ignored_overrides
        names = [override.lstrip("+~").partition("=")[0] for override in overrides]
        told = [not any(name == one or name.startswith(f"{one}.") for one in ignored) for name in names]
        return " ".join(override for override, tells in zip(overrides, told, strict=True) if tells)


@dataclass(frozen=True, eq=False)
class Job:
    """One job of a sweep."""

    number: int
    overrides: tuple[str, ...]
    program: Program

    @property
    def key(self) -> str:
        """What it is known by in the ledger."""
        return self.program.key(self.overrides)

    @cached_property
    def config(self) -> DictConfig:
        """Its whole config, with Hydra's own part."""
        loader = self.program.hydra_context.config_loader
        config = loader.load_sweep_config(self.program.config, list(self.overrides))
        with open_dict(config):
            config.hydra.job.id = str(self.number)
            config.hydra.job.num = self.number
        return config

    @cached_property
    def needs(self) -> JobNeeds:
        """What it needs to start."""
        return self.program.needs(_without_hydra(self.config))

    def work(self) -> bytes:
        """What its process runs, pickled. Functions and classes of a script (`__main__`) travel by value."""
        program = self.program
        work = Work(program.task_function, self.config, program.hydra_context, Singleton.get_state())
        pickled: bytes = cloudpickle.dumps(work)
        return pickled

    def job_return(self, outcome: Outcome) -> JobReturn:
        """What Hydra gets for a job that ended now."""
        reason = outcome.reason
        if outcome.job_return is not None:
            try:
                job_return: JobReturn = cloudpickle.loads(outcome.job_return)
            except Exception as error:  # whatever the user's objects raise
                reason = f"what it returned cannot be read here: {in_one_line(error)}"
            else:
                return job_return
        try:
            job_return = self._unended_return()
        except Exception:  # its config cannot be composed, which is why it has failed
            job_return = JobReturn(overrides=list(self.overrides))
        job_return.status = JobStatus.FAILED
        job_return.return_value = JobFailedError(f"job {self.number} {self.key}: {reason}")
        return job_return

    def earlier_return(self, return_value: str) -> JobReturn:
        """What Hydra gets for a job that an earlier command has done, with what the ledger kept of its value."""
        return EarlierReturn(self._unended_return, json.loads(return_value) if return_value else None)

    def _unended_return(self) -> JobReturn:
        """The fields that Hydra's `run_job` fills in, without its files and folders."""
        config = self.config
        before = HydraConfig.instance().cfg
        HydraConfig.instance().set_config(config)
        try:
            folder = Path(str(config.hydra.sweep.dir)) / str(config.hydra.sweep.subdir)
            with read_write(config.hydra.runtime), open_dict(config.hydra.runtime):
                config.hydra.runtime.output_dir = os.path.abspath(folder)
            HydraConfig.instance().set_config(config)
            return JobReturn(
                overrides=_strings(config.hydra.overrides.task),
                cfg=_without_hydra(config),
                hydra_cfg=cast(DictConfig, HydraConfig.instance().cfg),
                working_dir=str(folder) if _changes_directory(config) else os.getcwd(),
                task_name=str(config.hydra.job.name),
            )
        finally:
            HydraConfig.instance().cfg = before


class EarlierReturn(JobReturn):
    """Of a job that was done before: what else than its value belongs to it is made when somebody asks for it.

    That takes 0.2 s, of thousands of jobs half an hour, and Hydra itself asks for values alone.
    """

    def __init__(self, make: Callable[[], JobReturn], value: Any) -> None:
        """`make` gives all else."""
        super().__init__(status=JobStatus.COMPLETED, _return_value=value)
        self._make: Callable[[], JobReturn] | None = make

    def __getattribute__(self, name: str) -> Any:
        if name in _MADE_LATER and (make := self._make) is not None:
            self._make = None
            made = make()
            vars(self).update({one: getattr(made, one) for one in _MADE_LATER})
        return super().__getattribute__(name)


_MADE_LATER = frozenset(("overrides", "cfg", "hydra_cfg", "working_dir", "task_name"))


def as_json(job_return: bytes | None) -> str:
    """What a ledger keeps of the value that a job returned; empty for what JSON cannot hold, or is too long for it."""
    if job_return is None:
        return ""
    try:
        text = json.dumps(cloudpickle.loads(job_return).return_value, default=plain)
    except Exception:  # whatever the user's objects raise
        return ""
    return text if len(text) <= _MAX_VALUE else ""


def plain(value: Any) -> Any:
    """Python's own number for one of another kind: a NumPy scalar, a tensor with one element, a fraction.

    Raises TypeError for anything else, and what a library raises for an array of its own with several elements.
    """
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"{type(value).__name__} is no number")


def _without_hydra(config: DictConfig) -> DictConfig:
    own = config.copy()
    with read_write(own), open_dict(own):
        del own["hydra"]
    return own


def _changes_directory(config: DictConfig) -> bool:
    chdir = config.hydra.job.chdir
    return not version.base_at_least("1.2") if chdir is None else bool(chdir)


def _strings(overrides: Any) -> Sequence[str]:
    listed = OmegaConf.to_container(overrides)
    assert isinstance(listed, list)
    return listed


def host_setup(program: Program, log_folder: Path) -> HostSetup:
    """What the program's jobs have in common on a host, for one sweep."""
    settings = program.settings
    return HostSetup(
        sweep=uuid.uuid4().hex[:8],
        folder=os.getcwd(),
        log_folder=str(log_folder),
        sys_path=tuple(_own_places()),
        preload=tuple(settings.preload),
        memory_factor=settings.memory_factor,
        stop_seconds=settings.stop_seconds,
        gpus_per_host=settings.gpus_per_host,
    )


def _own_places() -> list[str]:
    """Where this program imports from beside the Python installation, which may be elsewhere on another machine."""
    installed = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    places = [Path(place).absolute() for place in sys.path]
    return [str(p) for p in places if p.exists() and not any(p.is_relative_to(known) for known in installed)]
