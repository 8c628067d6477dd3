"""A run as a job: what it asks for, how it takes what it is granted, what it returns."""

import io
from pathlib import Path

import pytest
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from dask_jobs.needs import Grant
from pipeline.cluster.kinds.address import AddressConfig
from pipeline.cluster.kinds.local import LocalConfig
from pipeline.config.run_config import RunConfig
from pipeline.config.tree import to_yaml
from pipeline.errors import ConfigError, RemoteLostError, RunFolderError, UnfitFolderError
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.run_folder import RunFolder
from pipeline.experiments.run import train
from pipeline.experiments.sweeps.job import failed_job, granted_config, job_needs, run_granted
from pipeline.results.load import load_run
from tests.experiments.smoke_runs import smoke_config

ONE_HOST = Grant(3, 1, "tcp://10.0.0.1:8786", {"tcp://10.0.0.2:40000": 2})
TWO_HOSTS = Grant(3, 1, "tcp://10.0.0.1:8786", {"tcp://10.0.0.2:40000": 1, "tcp://10.0.0.3:40000": 1})


def from_hydra(config: RunConfig) -> DictConfig:
    """The run as Hydra composes it."""
    composed = OmegaConf.create(to_yaml(config))
    assert isinstance(composed, DictConfig)
    return composed


def needs_of(config: RunConfig) -> list[tuple[int, int]]:
    """Threads and GPUs of each part."""
    parts = job_needs(from_hydra(config)).parts
    return [(part.num_threads, part.num_gpus) for part in parts]


def test_a_run_asks_for_a_part_for_each_host_of_its_plan(tmp_path: Path) -> None:
    assert needs_of(smoke_config(tmp_path)) == [(1, 0), (1, 0)]
    words = ["topology.shards=apart", "param_server.num_shards=1", "topology.compute_threads=2", "device=cuda"]
    assert needs_of(smoke_config(tmp_path, *words)) == [(2, 1), (2, 1), (1, 0)]
    assert needs_of(smoke_config(tmp_path, experiment="smoke_dqn")) == [(1, 0)]


def test_the_first_part_has_room_for_the_job_s_own_process(tmp_path: Path) -> None:
    first, second = job_needs(from_hydra(smoke_config(tmp_path))).parts
    assert first.memory_bytes - second.memory_bytes == 700 * 2**20


def test_a_job_whose_settings_cannot_be_is_refused_with_all_of_them(tmp_path: Path) -> None:
    config = from_hydra(smoke_config(tmp_path))
    config.seed, config.game = -1, "Pongg"
    with pytest.raises(ConfigError) as caught:
        job_needs(config)
    assert len(caught.value.mistakes) == 2


def test_a_job_with_groups_of_hosts_is_refused(tmp_path: Path) -> None:
    config = from_hydra(smoke_config(tmp_path, "cluster=slurm", "cluster.groups=[{name:a,roles:[bundle]}]"))
    with pytest.raises(ConfigError, match="a sweep grants its jobs whatever host is free"):
        job_needs(config)


def test_a_job_whose_cluster_serves_no_sweeps_is_refused(tmp_path: Path) -> None:
    config = from_hydra(smoke_config(tmp_path, "cluster=slurm"))
    with pytest.raises(ConfigError, match=r"1\. cluster=slurm: hydra/launcher=dask runs all jobs on one cluster"):
        job_needs(config)


def test_one_host_means_this_process_on_a_dashboard_port_of_its_own(tmp_path: Path) -> None:
    words = ["cluster=processes", "cluster.num_hosts=5", "cluster.dashboard_address=:8787", "cluster.lease_seconds=7"]
    run = granted_config(smoke_config(tmp_path, *words), ONE_HOST)
    assert isinstance(run.cluster, LocalConfig)
    assert (run.cluster.kind, run.cluster.num_hosts, run.cluster.lease_seconds) == ("threads", None, 7.0)
    assert run.cluster.dashboard_address == "127.0.0.1:0"


def test_several_hosts_mean_the_launcher_s_scheduler_with_the_certificates_of_the_command(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).touch()
    files = [f"cluster.tls_{name}_file={tmp_path / name}" for name in ("ca", "cert", "key")]
    asked = smoke_config(tmp_path, "cluster=address", "cluster.address=tls://10.0.0.9:1", "cluster.num_hosts=9", *files)
    for config, num_files in ((asked, 3), (smoke_config(tmp_path), 0)):
        run = granted_config(config, TWO_HOSTS)
        assert isinstance(run.cluster, AddressConfig)
        assert (run.cluster.kind, run.cluster.address, run.cluster.num_hosts) == ("address", TWO_HOSTS.scheduler, None)
        assert len(run.cluster.tls_files) == num_files


def test_memory_that_was_granted_is_not_asked_for_again(tmp_path: Path) -> None:
    """What is free when the job starts holds what its neighbours have grown to, and would be too little."""
    config = smoke_config(tmp_path)
    wanted = sum(part.memory_bytes for part in job_needs(from_hydra(config)).parts)
    for grant in (ONE_HOST, TWO_HOSTS):
        assert granted_config(config, grant).cluster.memory_bytes == wanted
    own = smoke_config(tmp_path, "cluster.memory_bytes=123")
    assert granted_config(own, ONE_HOST).cluster.memory_bytes == 123


def test_a_job_goes_on_in_its_folder_unless_it_is_told_to_begin_anew(tmp_path: Path) -> None:
    assert granted_config(smoke_config(tmp_path), ONE_HOST).resume
    overwriting = granted_config(smoke_config(tmp_path, "overwrite=true"), ONE_HOST)
    assert overwriting.overwrite and not overwriting.resume


@pytest.mark.parametrize(("launch_id", "is_older"), [("another", True), (None, True), ("this", False)])
def test_beginning_anew_replaces_what_other_commands_have_left_and_no_attempt_of_this_one(
    tmp_path: Path, launch_id: str | None, is_older: bool
) -> None:
    config = smoke_config(tmp_path, "overwrite=true")
    folder = RunFolder(config.folder)
    folder.path.mkdir(parents=True)
    # Begun in the future, by the clock of a host that is wrong.
    folder.write_run({"started_at": "2099-05-04T12:00:00+00:00", "launch_id": launch_id})
    run = granted_config(config, ONE_HOST._replace(attempt=2, launch_id="this"))
    assert (run.overwrite, run.resume) == (is_older, not is_older)


def test_only_what_another_attempt_may_mend_is_tried_again() -> None:
    lost, unfit, wrong = RemoteLostError("shard-0 is gone"), UnfitFolderError("other\n settings"), ConfigError(["x"])
    assert [failed_job(error).again for error in (lost, unfit, wrong)] == [True, False, False]
    assert str(failed_job(unfit)) == "UnfitFolderError: other\n settings"


@pytest.mark.slow
def test_a_run_is_begun_gone_on_with_and_when_it_is_finished_only_asked_for_its_score(tmp_path: Path) -> None:
    quiet = Console(file=io.StringIO())
    half = smoke_config(tmp_path, "budget.frames=2_000", "progress=none")
    train(half, quiet)
    folder = half.folder
    begun = checkpoint.load_newest(folder / "checkpoints").server.version

    console = Console(file=io.StringIO(), width=200)
    whole = smoke_config(tmp_path, "budget.frames=12_000", "progress=none")
    score = run_granted(whole, ONE_HOST, console)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "job 3, attempt 1: granted 2 threads on one host: all roles in this process" in printed
    assert "resumed at update" in printed
    ended = checkpoint.load_newest(folder / "checkpoints").server.version
    assert ended > begun
    games = load_run(folder).evaluations
    newest = games[(games["agent"] == "checkpoint") & (games["version"] == ended)]
    assert len(newest) == 2 and score == newest["score"].mean()

    console = Console(file=io.StringIO(), width=200)
    assert run_granted(whole, ONE_HOST, console) == score
    assert console.file.getvalue() == f"{folder} is finished\n"  # type: ignore[attr-defined]
    with pytest.raises(RunFolderError, match="cannot be resumed with other settings"):
        run_granted(smoke_config(tmp_path, "budget.frames=12_000", "algorithm.discount=0.5"), ONE_HOST, console)
