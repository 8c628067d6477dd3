"""A Dask cluster in jobs of Slurm, through dask-jobqueue; the scheduler runs in the process of the run itself.

A job that was killed or has left is submitted again when a role waits for a host (`Session.survey_again`). What this
module leaves open, dask-jobqueue takes from the site's `jobqueue.yaml`: `docs/clusters/slurm.md` says what wins.
"""

import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dask_jobs.certificates import TLS, tls_mistakes
from pipeline.cluster.config import (
    AskedHost,
    cluster_kind,
    listening_host,
    missing_memory,
    negative_gpus,
    python_word,
)
from pipeline.cluster.groups import HostGroup, declared, num_in_groups
from pipeline.cluster.host_settings import HOST_ENVIRONMENT
from pipeline.cluster.tls import TlsConfig
from pipeline.run_folders import absolute

if TYPE_CHECKING:
    from distributed.deploy.spec import SpecCluster

_NAME = "pipeline"
"""Of jobs that are of no run."""
_ENDED = frozenset("BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY TIMEOUT".split())
"""States of a job that will not run again (squeue(1))."""
_ANSWER_SECONDS = 30.0
_MOST_LETTERS = 300


@cluster_kind("slurm")
@dataclass(frozen=True)
class SlurmConfig(TlsConfig):
    """Hosts in jobs of the batch system Slurm; the scheduler runs where the command was typed."""

    restarts_hosts: ClassVar[bool] = True
    group_settings: ClassVar[tuple[str, ...] | None] = (
        "host_cores",
        "memory_bytes",
        "gpus_per_host",
        "partition",
        "directives",
    )
    needed_package: ClassVar[str | None] = "dask_jobqueue"

    partition: str | None
    """Queue of the jobs; None: the site's default."""
    account: str | None
    """Who pays for the jobs; None: the site's default."""
    hosts_per_job: int
    """Hosts that share one job, and die with it."""
    host_cores: int | None
    """Cores of each host; None: its compute threads."""
    gpus_per_host: int
    """GPUs that each host declares; the job asks for them by `directives`."""
    walltime_minutes: int
    """After which Slurm kills a job."""
    leave_minutes: int
    """How long before that a host leaves by itself, give or take half of it, so that not all leave at once."""
    directives: tuple[str, ...]
    """More #SBATCH lines, such as --gres=gpu:1."""
    prologue: tuple[str, ...]
    """Shell commands before a job's hosts start, such as module load cuda."""
    python: str | None
    """Python of the jobs; None: the one that runs here, on a shared disk."""
    interface: str | None
    """Network interface that scheduler and hosts use, such as ib0; None: the site's, or the one that Dask finds."""
    job_name: str | None
    """What queues call the jobs; None: experiment, game and seed."""
    log_dir: str | None
    """Folder of what jobs print, `slurm-<id>.out`; None: the site's, or the run folder."""
    dashboard_address: str
    """Where the Dask dashboard listens; ":0" takes any free port."""

    def mistakes(self) -> list[str]:
        found = super().mistakes() + missing_memory(self) + negative_gpus(self.gpus_per_host)
        for name in ("hosts_per_job", "host_cores", "walltime_minutes", "leave_minutes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                found.append(f"{name}={value} must be at least 1")
        # A host leaves at most 1.5 times leave_minutes before the end.
        if 2 * self.leave_minutes > self.walltime_minutes:
            found.append(
                f"leave_minutes={self.leave_minutes} must be at most half of walltime_minutes={self.walltime_minutes}"
            )
        # dask-jobqueue puts them into the script as they are, with the folder that a relative one is in.
        paths = {name: str(absolute(file)) for name, file in self.tls_files.items()}
        torn = [
            f"{name}={path}: a shell would not take this path for one word; use letters, digits and -_./ alone"
            for name, path in paths.items()
            if shlex.quote(path) != path
        ]
        return found + tls_mistakes(self) + torn

    @property
    def asked_host(self) -> AskedHost:
        return AskedHost(self.host_cores, self.gpus_per_host)

    @property
    def lifetime_seconds(self) -> float:
        # Half of `leave_minutes` is left to chance.
        return 60 * (self.walltime_minutes - 1.5 * self.leave_minutes)

    @property
    def dashboard_host(self) -> str | None:
        return listening_host(self.dashboard_address)

    def num_hosts_to_come(self, num_wanted: int) -> int:
        return self.hosts_per_job * sum(self._num_jobs(num_wanted).values())

    def _num_jobs(self, num_hosts: int) -> dict[HostGroup | None, int]:
        """Jobs of no group (None) and of each."""
        sizes = {None: max(num_hosts - num_in_groups(self.groups), 0)} | {group: group.size for group in self.groups}
        return {group: -(-size // self.hosts_per_job) for group, size in sizes.items()}

    def of_group(self, group: HostGroup | None) -> Self:
        own = super().of_group(group)
        return own if group is None else replace(own, directives=(*self.directives, *group.directives))

    def of_run(self, name: str, log_dir: Path) -> Self:
        import dask

        # `jobqueue.yaml` of the site or the user, which Dask has read with its own files.
        of_site = dask.config.get("jobqueue.slurm.log-directory", None)
        given = str(absolute(self.log_dir or of_site or str(log_dir)))
        return replace(self, job_name=self.job_name or name, log_dir=given)

    def start(self, num_hosts: int, threads_per_host: int) -> "SpecCluster":
        """Its jobs are submitted when it is entered. Raises FileNotFoundError where there is no `sbatch`."""
        from pipeline.cluster.slurm_jobs import Job, JobCluster

        if shutil.which("sbatch") is None:
            raise FileNotFoundError("there is no sbatch on this machine: type the command where jobs are submitted")
        if self.log_dir is not None:
            # Slurm makes no folder, and ends a job at once whose output has none.
            absolute(self.log_dir).mkdir(parents=True, exist_ok=True)
        cluster: SpecCluster = JobCluster(
            job_cls=Job,
            scheduler_options={**_of_site("scheduler-options", {}), "dashboard_address": self.dashboard_address},
            security=self.security(),
            **_options(self, threads_per_host, None),
        )
        # Not by scaling, which submits in the background: a job that Slurm refuses would go unnoticed.
        of_all = cluster.new_spec
        for group, num_jobs in self._num_jobs(num_hosts).items():
            cluster.new_spec = {**of_all, "options": of_all["options"] | _options(self, threads_per_host, group)}
            for _ in range(num_jobs):
                cluster.worker_spec.update(cluster.new_worker_spec())
        cluster.new_spec = of_all
        return cluster

    def why_hosts_stay_away(self, cluster: Any) -> str | None:
        jobs = [str(job.job_id) for job in cluster.workers.values() if job.job_id is not None]
        if not jobs:
            return None
        words = ["squeue", "--noheader", "--states=all", "--format=%i %T", f"--jobs={','.join(jobs)}"]
        try:
            answer = subprocess.run(words, capture_output=True, text=True, check=True, timeout=_ANSWER_SECONDS).stdout
        except (OSError, subprocess.SubprocessError):  # a controller may be busy: it is asked again
            return None
        return None if (ended := ended_job(answer)) is None else _obituary(*ended, self.log_dir)

    def submission(self, num_hosts: int, threads_per_host: int) -> str:
        """The script of each job, the scheduler's address and the host's name left open."""
        from pipeline.cluster.slurm_jobs import Job

        security = self.security()
        protocol = None if security is None else TLS

        def script(group: HostGroup | None) -> str:
            options = _options(self, threads_per_host, group)
            job = Job("SCHEDULER", name="HOST", protocol=protocol, security=security, **options)
            return str(job.job_script())

        if not self.groups:
            return script(None)
        sizes = {None: num_hosts - num_in_groups(self.groups)} | {group: group.size for group in self.groups}
        names = {group: "no group" if group is None else group.name for group in sizes}
        heads = {group: f"# {size} host{'s' * (size != 1)} of {names[group]}" for group, size in sizes.items()}
        return "\n".join(f"{heads[group]}\n{script(group)}" for group, size in sizes.items() if size > 0)


def ended_job(states: str) -> tuple[str, str] | None:
    """Id and state of the first job that has ended, of lines with the id and the state of one each."""
    lines = (line.split() for line in states.splitlines())
    return next(((job, state) for job, state in lines if state in _ENDED), None)


def _obituary(job: str, state: str, log_dir: str | None) -> str:
    if log_dir is None:
        return f"job {job} has ended ({state}) before its host came"
    file = absolute(log_dir) / f"slurm-{job}.out"
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        lines = []
    last = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
    return f"job {job} has ended ({state}) before its host came; {file} ends with: {last[:_MOST_LETTERS]}"


def _options(asked: SlurmConfig, threads_per_host: int, group: HostGroup | None) -> dict[str, Any]:
    """Of dask-jobqueue. None, and what is not here, the site's `jobqueue.yaml` says; lists begin with its own."""
    from pipeline.cluster.slurm_jobs import in_slurm_s_units

    config = asked.of_group(group)
    hosts = config.hosts_per_job
    memory_bytes = (config.memory_bytes or 0) * hosts
    return {
        "queue": config.partition,
        "account": config.account,
        "job_name": shlex.quote(config.job_name or _NAME),
        "cores": threads_per_host * hosts,
        "job_cpu": (config.host_cores or threads_per_host) * hosts,
        "processes": hosts,
        "memory": f"{memory_bytes}B",
        # The plan rests on it, whatever the site asks of others.
        "job_mem": in_slurm_s_units(memory_bytes),
        "walltime": f"{config.walltime_minutes // 60:02}:{config.walltime_minutes % 60:02}:00",
        "job_extra_directives": [*_output(config), *_of_site("job-extra-directives", []), *config.directives],
        "job_script_prologue": [
            *(f"export {name}={value}" for name, value in HOST_ENVIRONMENT.items()),
            *_of_site("job-script-prologue", []),
            *config.prologue,
        ],
        "worker_extra_args": [*_of_site("worker-extra-args", []), *_worker_arguments(config, group)],
        "python": python_word(config.python) if config.python else _of_site("python", python_word(sys.executable)),
        "interface": config.interface,
    }


def _of_site(name: str, default: Any) -> Any:
    import dask

    found = dask.config.get(f"jobqueue.slurm.{name}", default)
    return default if found is None else found


def _output(config: SlurmConfig) -> list[str]:
    if config.log_dir is None:
        return []
    # "%" begins what Slurm fills in. Of a job that Slurm starts again, what it said before is kept.
    file = str(absolute(config.log_dir) / "slurm-").replace("%", "%%") + "%j.out"
    return [f"-o {shlex.quote(file)}", "--open-mode=append"]


def _worker_arguments(config: SlurmConfig, group: HostGroup | None) -> list[str]:
    lifetime, stagger = config.walltime_minutes - config.leave_minutes, config.leave_minutes / 2
    # The last word counts: Dask's own limit would pause or kill a host whose replay has grown.
    arguments = ["--memory-limit", "0", "--lifetime", f"{lifetime}m", "--lifetime-stagger", f"{stagger:g}m"]
    if resources := declared(config.gpus_per_host, group):
        arguments += ["--resources", resources]
    return arguments
