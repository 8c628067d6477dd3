"""Jobs of Slurm from their submission to their end, whatever comes in between."""

import os
import subprocess
import sys
from pathlib import Path

import dask
import pytest

from pipeline.cluster.groups import HostGroup
from pipeline.cluster.session import Session, open_session
from pipeline.errors import PlacementError
from tests.cluster.fake_slurm import SBATCH, jobs
from tests.cluster.interrupting import interrupted
from tests.clusters import cluster_config, wait_until

BIG = HostGroup("big", ("shard",), num_hosts=1)


def test_ctrl_c_while_jobs_are_submitted_leaves_none_of_them(slurm: Path) -> None:
    slow = 'touch "$0-$$"; until [ -e "$0-goes-on" ]; do sleep 0.1; done\n'
    (slurm / "sbatch").write_text(SBATCH.replace("\n", f"\n{slow}", 1))
    (slurm / "python").write_text("#!/bin/sh\nexec sleep 1000\n")
    (slurm / "python").chmod(0o755)
    submissions: list[int] = []

    def all_are_submitted() -> bool:
        submissions[:] = [int(file.name.removeprefix("sbatch-")) for file in slurm.glob("sbatch-[0-9]*")]
        return len(submissions) == 2

    def go_on() -> None:
        # A terminal interrupts all that are in the session of this process.
        assert os.getsid(0) not in set(map(os.getsid, submissions))
        (slurm / "sbatch-goes-on").touch()

    with interrupted(all_are_submitted, "all jobs are being submitted", go_on):
        open_session(cluster_config("slurm", python=str(slurm / "python")), 2, 1).__enter__()
    assert len(list(slurm.glob("job-*"))) == 2
    wait_until(lambda: not jobs(slurm), "the jobs are cancelled", limit_seconds=5)


@pytest.mark.parametrize("thread", ["run()", "ThreadPoolExecutor().submit(run).result()"])
def test_who_handles_ctrl_c_still_does_once_any_thread_has_imported_dask_jobqueue(thread: str) -> None:
    program = f"""
import importlib, signal
from concurrent.futures import ThreadPoolExecutor
before = signal.getsignal(2), signal.signal
run = lambda: importlib.import_module("pipeline.cluster.slurm_jobs")
{thread}
assert (signal.getsignal(2), signal.signal) == before
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_variables_of_sbatch_say_what_the_script_leaves_open_and_nothing_else(
    slurm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SBATCH_TIMELIMIT", "SBATCH_ACCOUNT", "SBATCH_WAIT", "SBATCH_ARRAY_INX"):
        monkeypatch.setenv(name, "1")
    (slurm / "sbatch").write_text('#!/bin/sh\nfor word; do echo "$word" >&2; done; env | grep ^SBATCH_ >&2; exit 1\n')
    config = cluster_config("slurm", directives=("--comment='of two words' # to be read",))
    with pytest.raises(PlacementError) as raised:
        open_session(config, 1, 1).__enter__()
    said = str(raised.value).splitlines()
    # A command line is stronger than a variable, and a variable than a line of the script.
    at = said.index("-t")
    assert said[at + 1] == "01:00:00" and "--comment=of two words" in said
    assert "SBATCH_ACCOUNT=1" in said and not any("WAIT" in line or "ARRAY" in line for line in said)


def test_a_relative_certificate_is_a_mistake_in_a_folder_that_a_shell_would_take_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {f"tls_{name}_file": f"{name}.pem" for name in ("ca", "cert", "key")}
    for folder, num_mistakes in (("whole", 0), ("in two", 3), ("a$HOME", 3)):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        for file in names.values():
            Path(file).touch()
        found = cluster_config("slurm", **names).mistakes()
        assert len(found) == num_mistakes and all(f"{tmp_path / folder}/" in line for line in found)


@pytest.mark.parametrize(
    ("groups", "num_wanted", "num_hosts"), [((), 3, 4), ((), 4, 4), ((BIG,), 2, 4), ((BIG,), 1, 2)]
)
def test_jobs_of_several_hosts_bring_all_of_them(
    groups: tuple[HostGroup, ...], num_wanted: int, num_hosts: int
) -> None:
    assert cluster_config("slurm", hosts_per_job=2, groups=groups).num_hosts_to_come(num_wanted) == num_hosts


@pytest.mark.slow
def test_to_ask_for_hosts_spares_jobs_of_several_and_a_killed_one_is_submitted_again(slurm: Path) -> None:
    config = cluster_config("slurm", hosts_per_job=2, groups=(BIG,))
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "0.1s"}),
        open_session(config, num_hosts=2, threads_per_host=1) as session,
    ):
        before = session.present_hosts()
        first, second = jobs(slurm)
        assert len(before) == 4
        session.ask_for_hosts()
        os.killpg(first.pid, 9)
        wait_until(lambda: len(session.present_hosts()) == 2, "the killed job's hosts are known to be lost")
        wait_until(lambda: len(asked_again(session)) == 4, "another job's hosts came")
        assert second.is_running() and len(session.present_hosts() & before) == 2


def asked_again(session: Session) -> set[str]:
    session.ask_for_hosts()
    return session.present_hosts()
