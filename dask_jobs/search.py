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
from dask_jobs.terminal import lasting_output
from dask_jobs.trials import Best, Space, Trials, space_of

RESULTS = "optimization_results.yaml"
"""Name of the file with the best trial, in the folder of the sweep."""


class AskingLauncher(Protocol):
    """A launcher that asks for its jobs."""

    def launch_asked(self, source: JobSource, num_at_once: int | None) -> Sequence[JobReturn]:
        """Run them."""
        ...

    def program(self) -> Program:
        """What they have in common."""
        ...


def search(settings: SearchSettings, words: Sequence[str], launcher: AskingLauncher, config: DictConfig) -> None:
    """Run all trials, those of earlier commands counted; tell of the best one, and write it down, however that ends.

    `words`: overrides of the command line. Raises CompactHydraException for what keeps it from being run; the error of
    a job that failed, when all have ended.
    """
    space = space_of([*(f"{name}={values}" for name, values in settings.params.items()), *words])
    trials = Trials(settings, space, launcher.program())
    try:
        returns = launcher.launch_asked(trials, settings.n_jobs)
    finally:
        # After Ctrl-C, or without its scheduler, a search is often left as it is.
        _tell(trials, space, Path(str(config.hydra.sweep.dir)) / RESULTS)
    for job_return in returns:
        _ = job_return.return_value  # of a job that failed, it raises


def _tell(trials: Trials, space: Space, file: Path) -> None:
    if num := trials.num_without_number:
        _print(f"{num} trial{'s' * (num != 1)} returned no number, and the search learns nothing of them")
    if (best := trials.best()) is None:
        return
    where = f"in {file}"
    try:
        _write(file, best, space)
    except OSError as error:
        where = f"{file} cannot be written: {error}"
    values = " ".join(f"{name}={value}" for name, value in best.params.items())
    again = best.num_trials - best.num_jobs
    same = f", and {again} more with the same values as others" if again else ""
    _print(f"best of {best.num_jobs} trials{same}: {best.value:g} with {values}; {where}")


def _print(text: str) -> None:
    print(text, file=lasting_output())


def _write(file: Path, best: Best, space: Space) -> None:
    """The words that all trials share stand there too: other searches may have the same folder."""
    found = {"best_value": best.value, "best_params": dict(best.params), "num_trials": best.num_jobs}
    OmegaConf.save(OmegaConf.create(found | {"fixed": list(space.fixed)}), file)
