"""`hydra/sweeper=ask_and_tell`: Optuna chooses each job of a multirun when there is room for it.

Hydra's own Optuna sweeper launches trials in batches, and waits for the slowest of each. Here the launcher asks.
Not here: the settings (`config`), and the work, which is imported when there is some.
"""

from typing import Any

from hydra.core.plugins import Plugins
from hydra.errors import CompactHydraException
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from dask_jobs.refusing import refuse
from dask_jobs.search_settings import SearchSettings


class AskAndTellSweeper(Sweeper):
    """Searches for the values that make jobs return the best number."""

    def __init__(self, **settings: Any) -> None:
        """`settings`: fields of SearchSettings."""
        self._settings = SearchSettings(**settings)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra's first call. Raises CompactHydraException with all mistakes in the settings."""
        refuse(self._settings.mistakes(), "the search", "hydra.sweeper")
        self._sweep_config = config
        self._launcher: Any = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        """Run the search. Raises CompactHydraException for what keeps it from being run, or a job's own error."""
        if not hasattr(self._launcher, "launch_asked"):
            raise CompactHydraException("hydra/sweeper=ask_and_tell needs hydra/launcher=dask, which asks for jobs")
        try:
            from dask_jobs.search import search
        except ModuleNotFoundError as error:
            if error.name != "optuna":
                raise
            raise CompactHydraException(
                "hydra/sweeper=ask_and_tell needs the package optuna: pip install 'optuna>=4,<5'"
            ) from error
        search(self._settings, arguments, self._launcher, self._sweep_config)
