"""Slurm: the job script as a whole, and real hosts in jobs of a stand-in for Slurm that runs them here."""

import os
import sys
from pathlib import Path

import dask
import pytest
from distributed import Scheduler

from pipeline.cluster import slurm_jobs  # noqa: F401  # its defaults are what a site leaves open
from pipeline.cluster.groups import HostGroup
from pipeline.cluster.kinds.slurm import ended_job
from pipeline.cluster.session import Session, SessionSettings, open_session
from pipeline.cluster.start import submission
from pipeline.errors import PlacementError
from tests.cluster.certificates import make_certificates
from tests.cluster.fake_slurm import jobs
from tests.clusters import LIMIT_SECONDS, cluster_config, wait_until

EXPECTED = Path(__file__).parent / "expected"

SITE = """
jobqueue:
  slurm:
    name: theirs
    queue: short
    account: theirs
    python: /theirs/python
    interface: ib0
    memory: 1 GB
    job-mem: 1G
    walltime: '00:05:00'
    local-directory: /scratch
    log-directory: /theirs
    job-extra-directives: [--qos=normal]
    job-script-prologue: [module load theirs]
    worker-extra-args: [--preload, theirs]
    scheduler-options: {port: 8788, dashboard_address: ':1'}
"""
"""What an administrator or a user may have in a folder that Dask reads."""


def test_the_job_script_is_the_expected_one() -> None:
    config = cluster_config(
        "slurm", partition="gpu", account="atari", hosts_per_job=2, host_cores=3, memory_bytes=8 * 10**9,
        gpus_per_host=1, walltime_minutes=90, leave_minutes=10, directives=("--gres=gpu:2",),
        prologue=("module load cuda",), python="/shared/venv/bin/python", interface="ib0",
    )  # fmt: skip
    assert submission(config, num_hosts=4, threads_per_host=2) == (EXPECTED / "slurm.sh").read_text()


GPUS = HostGroup(
    "gpus",
    ("learner",),
    num_hosts=1,
    memory_bytes=2**31,
    gpus_per_host=1,
    partition="gpu",
    directives=("--gres=gpu:1",),
)


def test_each_group_has_a_job_script_of_its_own() -> None:
    config = cluster_config("slurm", partition="cpu", directives=("--nice",), memory_bytes=2**30, groups=(GPUS,))
    both, of_group = (submission(config, num_hosts, threads_per_host=1) for num_hosts in (3, 1))
    assert both is not None and of_group is not None and both.endswith(of_group)
    of_none = both.removesuffix(of_group)
    assert of_none.startswith("# 2 hosts of no group\n#!/") and of_group.startswith("# 1 host of gpus\n#!/")
    for script, lines, others in (
        (of_none, ("-p cpu", "--mem=1G", "--nice"), ("gres", "--resources")),
        (of_group, ("-p gpu", "--mem=2G", "--nice", "--gres=gpu:1"), ("-p cpu",)),
    ):
        assert script.count("#!/") == 1
        assert all(f"#SBATCH {line}\n" in script for line in lines) and not any(word in script for word in others)
    assert "--resources GPU=1,gpus=1" in of_group


def test_python_may_be_in_a_folder_with_a_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/its place/bin/python")
    for python, word in (("~/our own/bin/python", "~/'our own/bin/python'"), (None, "'/its place/bin/python'")):
        script = cluster_config("slurm", python=python, memory_bytes=2**31).submission(1, threads_per_host=1)
        assert script is not None and f"\n{word} -m distributed" in script


def test_what_is_not_given_is_left_to_the_site() -> None:
    script = submission(cluster_config("slurm", interface=None), num_hosts=1, threads_per_host=1)
    assert script is not None
    assert not any(word in script for word in ("#SBATCH -p", "#SBATCH -A", "--interface", "--resources"))


def test_a_run_names_its_jobs_and_has_what_they_print_in_its_folder_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    folder = tmp_path / "100 %" / "jobs"
    script = submission(cluster_config("slurm").of_run("dqn-Pong-0", folder), 1, 1)
    assert script is not None and "#SBATCH -J dqn-Pong-0\n" in script
    assert f"#SBATCH -o '{tmp_path}/100 %%/jobs/slurm-%j.out'\n#SBATCH --open-mode=append\n" in script
    config = cluster_config("slurm", job_name="mine", log_dir="~/logs").of_run("dqn-Pong-0", folder)
    script = submission(config, 1, 1)
    assert script is not None and "#SBATCH -J mine\n" in script
    assert f"#SBATCH -o {Path.home()}/logs/slurm-%j.out\n" in script
    assert not folder.exists(), "a plan makes nothing"


def test_what_is_left_open_is_what_the_site_s_jobqueue_yaml_says_and_lists_begin_with_its_own(tmp_path: Path) -> None:
    (tmp_path / "jobqueue.yaml").write_text(SITE)
    (of_site,) = dask.config.collect([str(tmp_path)], env={})["jobqueue"].values()
    with dask.config.set({"jobqueue.slurm": dask.config.get("jobqueue.slurm") | of_site}):
        left_open = submission(cluster_config("slurm", interface=None).of_run("dqn-Pong-0", tmp_path), 2, 1)
        given = submission(
            cluster_config(
                "slurm", partition="long", account="mine", interface="eth1", python="/mine/python", memory_bytes=2**31,
                directives=("--nice",), prologue=("module load mine",), log_dir="/mine",
            ).of_run("dqn-Pong-0", tmp_path), 2, 1,
        )  # fmt: skip
    assert left_open is not None and given is not None
    for line in ("-p short", "-A theirs", "-J dqn-Pong-0", "-o /theirs/slurm-%j.out", "--qos=normal", "-t 01:00:00"):
        assert f"#SBATCH {line}\n" in left_open
    assert "module load theirs\n/theirs/python -m" in left_open and "--local-directory /scratch" in left_open
    assert " --preload theirs --memory-limit 0 --lifetime 55m --lifetime-stagger 2.5m --interface ib0" in left_open
    for line in ("-p long", "-A mine", "-o /mine/slurm-%j.out", "--mem=2G", "--qos=normal", "--nice"):
        assert f"#SBATCH {line}\n" in given
    assert "module load theirs\nmodule load mine\n/mine/python -m" in given and given.rstrip().endswith("eth1")
    for script in (left_open, given):
        assert script.count("#SBATCH -o") == 1 and "#SBATCH -e" not in script
    assert not Path("/theirs").exists(), "a plan makes nothing"


def test_the_earliest_that_a_host_leaves_is_half_of_leave_minutes_before_these_begin() -> None:
    config = cluster_config("slurm", walltime_minutes=240, leave_minutes=20)
    assert config.lifetime_seconds == 60 * 210


@pytest.mark.slow
def test_hosts_come_in_jobs_of_their_own_and_a_killed_job_is_submitted_again(slurm: Path) -> None:
    with (
        dask.config.set(
            {
                "distributed.deploy.lost-worker-timeout": "0.1s",
                "jobqueue.slurm.scheduler-options": {"idle_timeout": "77s", "dashboard_address": "nowhere:1"},
            }
        ),
        open_session(cluster_config("slurm"), num_hosts=2, threads_per_host=1) as session,
    ):
        assert session.client.run_on_scheduler(_idle_timeout) == 77, "what the site has set holds"
        before = session.present_hosts()
        assert [offer.num_threads for offer in session.offers()] == [1, 1]
        first, second = jobs(slurm)
        os.killpg(first.pid, 9)
        wait_until(lambda: len(session.present_hosts()) == 1, "the killed job's host is known to be lost")
        wait_until(lambda: _num_hosts_after_a_survey(session) == 2, "another job's host came")
        assert len(session.present_hosts() & before) == 1
        assert second.is_running()
        host = min(session.present_hosts())
        assert session.submit(sum, [1, 2], host=host, name="sum").result(timeout=LIMIT_SECONDS) == 3


def test_a_job_script_has_the_certificates(tmp_path: Path) -> None:
    files = make_certificates(tmp_path / "tls")
    script = submission(cluster_config("slurm", **files.settings()), 1, 1)
    assert script is not None
    for option, file in (("ca-file", files.ca_file), ("cert", files.cert_file), ("key", files.key_file)):
        assert f" --tls-{option} {file}" in script


@pytest.mark.slow
def test_hosts_with_certificates_speak_encrypted(slurm: Path, tmp_path: Path) -> None:
    config = cluster_config("slurm", **make_certificates(tmp_path / "tls").settings())
    with open_session(config, num_hosts=1, threads_per_host=1) as session:
        (host,) = session.hosts
        assert host.startswith("tls://") and session.client.scheduler_info()["address"].startswith("tls://")
        assert session.submit(sum, [1, 2], host=host, name="sum").result(timeout=LIMIT_SECONDS) == 3


@pytest.mark.slow
def test_hosts_of_a_group_say_so_and_a_killed_one_comes_again_in_its_group(slurm: Path) -> None:
    config = cluster_config("slurm", groups=(HostGroup("big", ("shard",), num_hosts=1),))
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "0.1s"}),
        open_session(config, num_hosts=2, threads_per_host=1) as session,
    ):
        groups = {offer.address: offer.groups for offer in session.offers()}
        assert sorted(map(len, groups.values())) == [0, 1]
        (of_group,) = (address for address, names in groups.items() if names)
        pids = session.client.run(os.getppid, workers=[of_group])
        os.killpg(os.getpgid(pids[of_group]), 9)
        wait_until(lambda: of_group not in session.present_hosts(), "the killed job's host is known to be lost")
        wait_until(lambda: _num_hosts_after_a_survey(session) == 2, "another job's host came")
        assert sorted(map(len, (offer.groups for offer in session.offers()))) == [0, 1]


def _idle_timeout(dask_scheduler: Scheduler) -> float | None:
    return dask_scheduler.idle_timeout


def _num_hosts_after_a_survey(session: Session) -> int:
    session.survey_again()
    return len(session.hosts)


def test_a_machine_without_slurm_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlacementError, match=r"the slurm cluster could not be started: there is no sbatch"):
        open_session(cluster_config("slurm"), 1, 1).__enter__()


def test_a_job_that_slurm_refuses_is_one_clear_error_with_its_words(slurm: Path) -> None:
    (slurm / "sbatch").write_text("#!/bin/sh\necho 'invalid partition specified: gpu' >&2\nexit 1\n")
    with pytest.raises(PlacementError, match=r"could not be started: (?s:.*)invalid partition specified: gpu"):
        open_session(cluster_config("slurm"), 1, 1).__enter__()


def test_a_job_that_ends_before_its_host_came_is_one_clear_error_and_nobody_waits(slurm: Path, tmp_path: Path) -> None:
    (tmp_path / "slurm-7.out").write_text("a line\nslurm_script: /nowhere/python: No such file\n\n")
    (slurm / "squeue").write_text("#!/bin/sh\nprintf '6 RUNNING\\n7 FAILED\\n'\n")
    config = cluster_config("slurm", python="/nowhere/python", log_dir=str(tmp_path))
    with pytest.raises(
        PlacementError, match=r"0 of 1 hosts came.*job 7 has ended \(FAILED\).*/nowhere/python: No such"
    ):
        open_session(config, 1, 1, settings=SessionSettings(untold_seconds=0.1)).__enter__()


@pytest.mark.parametrize(
    ("states", "ended"),
    [
        ("", None),
        ("1 PENDING\n2 RUNNING\n3 COMPLETING\n4 REQUEUED\n", None),
        ("1 RUNNING\n2 NODE_FAIL\n3 FAILED\n", ("2", "NODE_FAIL")),
    ],
)
def test_of_the_states_of_jobs_those_are_told_that_will_not_run_again(
    states: str, ended: tuple[str, str] | None
) -> None:
    assert ended_job(states) == ended


def test_all_mistakes_of_slurm_are_reported_together() -> None:
    config = cluster_config(
        "slurm",
        memory_bytes=None,
        gpus_per_host=-1,
        hosts_per_job=0,
        host_cores=0,
        walltime_minutes=10,
        leave_minutes=6,
    )
    assert config.mistakes() == [
        "memory_bytes is missing: kind=slurm has to ask for the memory of each host, in bytes",
        "gpus_per_host=-1 must be at least 0",
        "hosts_per_job=0 must be at least 1",
        "host_cores=0 must be at least 1",
        "leave_minutes=6 must be at most half of walltime_minutes=10",
    ]
