"""`python -m pipeline.train experiment=gorila game=Breakout seed=0`: one run, or many with -m.

All mistakes of a command line are reported together before Hydra or anything else starts. With `hydra/launcher=dask`
the runs of a sweep share a cluster, and each is in a process of its own, which comes here too.
What computes is imported when a run begins: `--help` and mistakes are told at once.
Not here: what a job of such a sweep does (`pipeline.experiments.sweeps.job`).
"""

from dask_jobs.terminal import INTERRUPTED_STATUS, begin

if __name__ == "__main__":
    begin()  # before the other imports, which take seconds

import sys

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import CompactHydraException
from hydra.types import RunMode
from omegaconf import DictConfig

from dask_jobs.needs import current_grant
from pipeline.cluster.coordination.host_logs import leave_dask_out
from pipeline.config.command_line import hydra_arguments
from pipeline.config.composition import config_directory, jobs_composed_in_turn
from pipeline.config.forced_words import for_hydra
from pipeline.config.help_text import help_text
from pipeline.config.overrides import check_command_line, from_hydra
from pipeline.config.sweep_jobs import jobs_to_plan
from pipeline.errors import ConfigError, PipelineError, status_of


@hydra.main(version_base="1.3", config_path=str(config_directory()), config_name="config")
def _job(config: DictConfig) -> float | None:
    print("loading torch, Dask and the emulator", flush=True)
    # Seconds, which a command line with mistakes has no use for.
    from pipeline.experiments.life import INTERRUPTED
    from pipeline.experiments.run import train

    # Again: Hydra has set up logging meanwhile.
    leave_dask_out()
    if (grant := current_grant()) is not None:
        from pipeline.experiments.sweeps.job import failed_job, run_granted

        try:
            return run_granted(from_hydra(config), grant)
        except PipelineError as error:
            raise failed_job(error) from error
    try:
        result = train(from_hydra(config))
        if result.end_reason == INTERRUPTED and HydraConfig.get().mode == RunMode.MULTIRUN:
            # Who stops one of many runs means all of them.
            sys.exit(INTERRUPTED_STATUS)
        return None if result.score is None else result.score.mean
    except PipelineError as error:
        # A foreseen error is a message, not a traceback.
        if HydraConfig.get().mode != RunMode.MULTIRUN:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(status_of(error))
        # The other runs of a sweep go on; Hydra names this one again at their end.
        print(f"error: {error}", file=sys.stderr)
        raise CompactHydraException(str(error)) from error


def main() -> None:
    """Show the help, or check the whole command line and hand it to Hydra."""
    # Hydra reads them from there.
    sys.argv[1:], wrong = hydra_arguments(sys.argv[1:])
    arguments = sys.argv[1:]
    try:
        if (text := help_text(arguments)) is not None:
            print(text)
            return
        if mistakes := [*wrong, *check_command_line(arguments)]:
            raise ConfigError(mistakes)
        if (jobs := jobs_to_plan(arguments)) is not None:
            from rich.console import Console

            from pipeline.experiments.sweeps.plan import show

            show(jobs, Console())
            return
        sys.argv[1:] = for_hydra(arguments)
    except PipelineError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(status_of(error))
    leave_dask_out()
    with jobs_composed_in_turn():
        _job()


if __name__ == "__main__":
    main()
