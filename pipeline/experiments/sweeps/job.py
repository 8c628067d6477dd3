"""One run as a job of a sweep: what it needs, how it uses what it was granted, and what the sweep gets back.

    job_needs        before: the launcher asks what to grant (hydra.launcher.needs in conf/hydra/launcher/dask.yaml)
    run_granted      in the job's process: the run, in that process if one host was granted, else on the granted hosts

A run whose folder is there goes on from its checkpoint, one that is finished returns its score at once, and one that is
told to stop leaves a checkpoint and no evaluation: the same command goes on with it. `overwrite=true` begins anew.
Not here: granting, queue and ledger (`dask_jobs`), the run itself (`pipeline.experiments.run`).
"""

from dataclasses import replace

from omegaconf import DictConfig
from rich.console import Console

from dask_jobs.needs import Grant, JobFailedError, JobInterrupted, JobNeeds, Part
from dask_jobs.terminal import lasting_output
from pipeline.cluster.granted import GrantedHosts
from pipeline.cluster.kinds.address import at_scheduler
from pipeline.cluster.kinds.local import in_this_process
from pipeline.config.course import fraction_spent
from pipeline.config.overrides import from_hydra
from pipeline.config.run_config import RunConfig
from pipeline.config.sweep_words import unfit_cluster
from pipeline.disk import told_if_refused
from pipeline.errors import ConfigError, PipelineError, UnfitFolderError
from pipeline.experiments.files.run_folder import RunFolder, check_folder
from pipeline.experiments.life import BUDGET, INTERRUPTED
from pipeline.experiments.plan import COORDINATOR_BYTES, host_demands
from pipeline.experiments.run import train
from pipeline.experiments.run_result import RunResult
from pipeline.experiments.scoring.final_score import final_score
from pipeline.experiments.specs import check_roles


def job_needs(config: DictConfig) -> JobNeeds:
    """A part for each host that the plan of this run would have. Raises ConfigError with all mistakes in `config`."""
    run = from_hydra(config)
    # Where files are in the place of `conf/`, nobody has looked before.
    if mistakes := unfit_cluster(run):
        raise ConfigError(mistakes)
    check_roles(run)
    hosts = host_demands(run)
    parts = [Part(host.num_threads, host.memory_bytes, host.num_gpus) for host in hosts]
    first = parts[0]._replace(memory_bytes=parts[0].memory_bytes + COORDINATOR_BYTES)
    return JobNeeds((first, *parts[1:]))


@told_if_refused()
def run_granted(config: RunConfig, grant: Grant, console: Console | None = None) -> float | None:
    """Carry out the run, or what is left of it, with what was granted; its `mean_score`.

    Raises JobInterrupted if it was told to stop, and a PipelineError for everything that can be foreseen.
    """
    console = console or Console(file=lasting_output())
    run = granted_config(config, grant)
    if not config.plan and (score := _score_if_finished(run)) is not None:
        console.print(f"{run.folder} is finished", markup=False, highlight=False, soft_wrap=True)
        return score
    num_threads, num_hosts = sum(grant.hosts.values()), len(grant.hosts)
    console.print(
        f"job {grant.job}, attempt {grant.attempt}: granted {num_threads} threads on "
        + ("one host: all roles in this process" if grant.fits_one_host else f"{num_hosts} hosts"),
        markup=False,
        highlight=False,
    )
    result = train(
        run,
        console,
        granted=None if grant.fits_one_host else _granted_hosts(run, grant),
        evaluates_when_interrupted=False,
        launch_id=grant.launch_id,
    )
    if result.end_reason == INTERRUPTED:
        raise JobInterrupted(f"stopped with a checkpoint in {result.folder}")
    return mean_score(result)


def failed_job(error: PipelineError) -> JobFailedError:
    """What the launcher is told of a run that ended so: words, and whether it is worth another attempt."""
    always = isinstance(error, ConfigError | UnfitFolderError)
    return JobFailedError(f"{type(error).__name__}: {error}", again=not always)


def granted_config(config: RunConfig, grant: Grant) -> RunConfig:
    """The run as it is carried out with this grant: in this process, or on hosts of the sweep's cluster."""
    asked = replace(
        config.cluster,
        # Hosts come from the launcher.
        num_hosts=None,
        # What was asked for is granted: what is free by now holds the replays of its neighbours, too.
        memory_bytes=config.cluster.memory_bytes
        or COORDINATOR_BYTES + sum(demand.memory_bytes for demand in host_demands(config)),
    )
    cluster = in_this_process(asked) if grant.fits_one_host else at_scheduler(asked, grant.scheduler)
    # An earlier attempt of the same command is gone on with.
    is_ours = RunFolder(config.folder).read_run().get("launch_id") == grant.launch_id
    begins_anew = config.overwrite and not is_ours
    return replace(config, cluster=cluster, resume=not begins_anew, overwrite=begins_anew)


def _granted_hosts(config: RunConfig, grant: Grant) -> GrantedHosts:
    # Parts were asked for in this order (`job_needs`).
    roles = [demand.role for demand in host_demands(config)]
    return GrantedHosts(grant.hosts, dict(zip(roles, grant.seats, strict=True)))


def mean_score(result: RunResult) -> float | None:
    """What a sweep gets back: the mean of the run's final evaluation; None if there was none."""
    return None if result.score is None else result.score.mean


def _score_if_finished(config: RunConfig) -> float | None:
    """The score of a run that has spent its budget, by its own files; None if there is anything left to do."""
    if config.overwrite:
        return None
    check_folder(config)
    folder = config.folder
    run = RunFolder(folder).read_run()
    if run.get("end_reason") != BUDGET:
        return None
    if fraction_spent(config.budget, run.get("total_frames", 0), run.get("wall_seconds", 0.0)) < 1:
        return None
    score = final_score(folder, config)
    return None if score is None else score.mean
