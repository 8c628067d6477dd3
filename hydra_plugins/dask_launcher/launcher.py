"""`hydra/launcher=dask`: what Hydra calls to run the jobs of a multirun.

A job that failed raises where its value is read, as with Hydra's own launcher: a sweeper that reads it ends the program
with a status other than 0, here after all other jobs have ended (see `command` for what `fail_fast` and Ctrl-C do).
Not here: the settings (`config`), and the work, which is imported when there is some: Hydra imports this module for
every program that it finds it beside, multirun or not.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hydra.core.utils import JobReturn, configure_log, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from dask_jobs.refusing import refuse
from dask_jobs.settings import LauncherSettings

if TYPE_CHECKING:
    from dask_jobs.asking import JobSource
    from dask_jobs.command import Command
    from dask_jobs.job import Program


class DaskLauncher(Launcher):
    """Runs each job in a process of its own on a host of one Dask cluster, which stays open between launches."""

    def __init__(self, **settings: Any) -> None:
        """`settings`: fields of LauncherSettings."""
        self._settings = LauncherSettings(**settings)
        self._command: Command | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra's first call. Raises CompactHydraException with all mistakes in the settings."""
        refuse(self._settings.mistakes(), "the Dask launcher", "hydra.launcher")
        self._hydra_context = hydra_context
        self._task_function = task_function
        self._config = config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run these jobs; returns in their order. Raises CompactHydraException for what keeps them from being run."""
        return self._opened().launch(job_overrides, initial_job_idx)

    def launch_asked(self, source: "JobSource", num_at_once: int | None) -> Sequence[JobReturn]:
        """Run the jobs of a source as they are asked for; returns in the order in which they ended. Raises alike."""
        return self._opened().launch_asked(source, num_at_once)

    def program(self) -> "Program":
        """What its jobs have in common."""
        from dask_jobs.job import Program

        return Program(self._task_function, self._config, self._hydra_context, self._settings)

    def _opened(self) -> "Command":
        from dask_jobs.command import Command

        setup_globals()
        configure_log(self._config.hydra.hydra_logging, self._config.hydra.verbose)
        if self._command is None:
            self._command = Command(self.program())
        return self._command
