"""A Dask cluster in jobs of Slurm, through dask-jobqueue; the scheduler runs in the process of the run itself.

A job that was killed or has left is submitted again when a role waits for a host (`Session.survey_again`).
"""

import shutil
from typing import Any

from dask_jobqueue.slurm import SLURMCluster, SLURMJob
from distributed.core import Status
from distributed.deploy.spec import SpecCluster

from pipeline.cluster.config import SlurmConfig
from pipeline.cluster.hosts import GPU, HOST_ENVIRONMENT


def start_slurm(config: SlurmConfig, num_hosts: int, threads_per_host: int) -> SpecCluster:
    """The cluster; its jobs are submitted when it is entered. Raises FileNotFoundError where there is no `sbatch`."""
    if shutil.which("sbatch") is None:
        raise FileNotFoundError("there is no sbatch on this machine: type the command where jobs are submitted")
    cluster: SpecCluster = SLURMCluster(
        job_cls=_Job,
        scheduler_options={"dashboard_address": config.dashboard_address},
        **_options(config, threads_per_host),
    )
    # Not by scaling, which submits in the background: a job that Slurm refuses would go unnoticed.
    for _ in range(-(-num_hosts // config.hosts_per_job)):
        cluster.worker_spec.update(cluster.new_worker_spec())
    return cluster


def job_script(config: SlurmConfig, threads_per_host: int) -> str:
    """What would be handed to `sbatch` for each job, the scheduler's address and the host's name left open."""
    job = _Job("SCHEDULER", name="HOST", **_options(config, threads_per_host))
    return str(job.job_script())


class _Job(SLURMJob):  # type: ignore[misc]  # its package is typed by halves, and taken as untyped
    """Says that it is closed, which its base forgets: a cluster one of whose jobs was refused could not be closed."""

    async def close(self) -> None:
        await super().close()
        self.status = Status.closed


def _options(config: SlurmConfig, threads_per_host: int) -> dict[str, Any]:
    hosts = config.hosts_per_job
    lifetime = config.walltime_minutes - config.leave_minutes
    # The last word counts: Dask's own limit would pause or kill a host whose replay has grown.
    arguments = [
        "--memory-limit",
        "0",
        "--lifetime",
        f"{lifetime}m",
        "--lifetime-stagger",
        f"{config.leave_minutes / 2:g}m",
    ]
    if config.gpus_per_host:
        arguments += ["--resources", f"{GPU}={config.gpus_per_host}"]
    return {
        "queue": config.partition,
        "account": config.account,
        "job_name": "pipeline",
        "cores": threads_per_host * hosts,
        "job_cpu": (config.host_cores or threads_per_host) * hosts,
        "processes": hosts,
        "memory": f"{(config.memory_bytes or 0) * hosts}B",
        "walltime": f"{config.walltime_minutes // 60:02}:{config.walltime_minutes % 60:02}:00",
        "job_extra_directives": list(config.directives),
        "job_script_prologue": [
            *(f"export {name}={value}" for name, value in HOST_ENVIRONMENT.items()),
            *config.prologue,
        ],
        "worker_extra_args": arguments,
        "python": config.python,
        "interface": config.interface,
    }
