"""One search from its words to its best trial: what `hydra/sweeper=ask_and_tell` does.

Not here: choosing trials (`trials`), running them (`sweep`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from hydra.core.utils import JobReturn
from omegaconf import DictConfig, OmegaConf

from dask_jobs.asking import JobSource
from dask_jobs.job import Program
from dask_jobs.search_settings import SearchSettings
from dask_jobs.trials import Best, Trials, space_of

RESULTS = "optimization_results.yaml"
"""Name of the file with the best trial, in the folder of the sweep."""
_NOTE = "multirun.yaml"
"""Where Hydra's own sweeper keeps what a multirun was composed of."""


class AskingLauncher(Protocol):
    """A launcher that asks for its jobs."""

    def launch_asked(self, source: JobSource, num_at_once: int | None) -> Sequence[JobReturn]:
        """Run them."""
        ...

    def program(self) -> Program:
        """What they have in common."""
        ...


def search(settings: SearchSettings, words: Sequence[str], launcher: AskingLauncher, config: DictConfig) -> None:
    """Run all trials, those of earlier commands counted; tell of the best one, and write it down.

    `words`: overrides of the command line. Raises CompactHydraException for what keeps it from being run; the error of
    a job that failed, when all have ended.
    """
    space = space_of([*(f"{name}={values}" for name, values in settings.params.items()), *words])
    trials = Trials(settings, space, launcher.program())
    folder = Path(str(config.hydra.sweep.dir))
    folder.mkdir(parents=True, exist_ok=True)
    OmegaConf.save(config, folder / _NOTE)
    returns = launcher.launch_asked(trials, settings.n_jobs)
    if (best := trials.best()) is not None:
        _write(folder / RESULTS, best)
        values = " ".join(f"{name}={value}" for name, value in best.params.items())
        print(f"best of {best.num_trials} trials: {best.value:g} with {values}; in {folder / RESULTS}")
    for job_return in returns:
        _ = job_return.return_value  # of a job that failed, it raises


def _write(file: Path, best: Best) -> None:
    found = {"best_value": best.value, "best_params": dict(best.params), "num_trials": best.num_trials}
    OmegaConf.save(OmegaConf.create(found), file)
