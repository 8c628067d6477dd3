"""Runs and a sweep on a real Slurm on this machine: their jobs are named, killed, requeued and out of time.

Left out where there is no Slurm (`tests/cluster/slurm_site.py`). How the settings become a job script, and what a
stand-in for Slurm can show: `tests/cluster/kinds/test_slurm.py`.
"""

import json
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dask_jobs.ledger import read_ledger
from pipeline.results.load import load_run
from tests.cluster.slurm_site import Site, slurm_site
from tests.clusters import wait_until
from tests.experiments.commands import CHECKOUT, Command, Start

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

RUN = ("-m", "pipeline.train", "experiment=smoke_gorila", "game=Breakout", "seed=3", "evaluation.num_episodes=1")
SLURM = ("cluster=slurm", "cluster.memory_bytes=1_500_000_000", "cluster.interface=lo")
ON_SLURM = (*RUN, *SLURM)
ENDLESS = "budget.frames=100_000_000"
LIMIT_SECONDS = 400.0


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A Slurm of two nodes that the commands of these tests find."""
    with pytest.MonkeyPatch.context() as patch, slurm_site(tmp_path_factory.mktemp("slurm")) as site:
        patch.setenv("SLURM_CONF", str(site.conf))
        patch.setenv("OMP_NUM_THREADS", "1")
        yield site


@pytest.fixture
def folder(site: Site, tmp_path: Path) -> Iterator[Path]:
    """Of the run on Slurm; a proof that no job outlives the test."""
    yield tmp_path / "results" / "runs" / "smoke_gorila" / "Breakout" / "3"
    wait_until(lambda: not site.jobs(), "no job is left")


def _comes(run: Command, condition: Callable[[], object], what: str) -> None:
    wait_until(lambda: run.process.poll() is not None or condition(), what, LIMIT_SECONDS)
    assert run.process.poll() is None, run.printed


def _has_rows(folder: Path) -> bool:
    updates = folder / "updates.csv"
    return updates.exists() and updates.read_text().count("\n") > 1


def _trains(run: Command, folder: Path) -> None:
    """Wait until it has learned something."""
    _comes(run, lambda: _has_rows(folder), "rows come")


def _begins(run: Command, generation: int) -> None:
    """Wait until the roles have begun for so many times."""
    _comes(run, lambda: run.printed.count("building bundle-0") >= generation, f"generation {generation} begins")


def _ends(run: Command, site: Site) -> None:
    """Tell it to end, as a terminal does; its jobs go with it."""
    run.ctrl_c()
    assert run.ends(LIMIT_SECONDS) == 0, run.printed
    assert "told to end: the training is saved" in run.printed
    wait_until(lambda: not site.jobs(), "the jobs end with the run")


def test_a_run_trains_to_its_end_in_jobs_of_its_name_which_print_into_its_folder(
    site: Site, start: Start, folder: Path
) -> None:
    run = start(*ON_SLURM)
    _comes(run, lambda: len(site.jobs()) == 2, "two jobs are there")
    jobs = site.jobs()
    assert set(jobs.values()) == {"smoke_gorila-Breakout-3"}
    assert run.ends(LIMIT_SECONDS) == 0, run.printed
    assert load_run(folder).problems == ()
    facts = json.loads((folder / "run.json").read_text())
    assert facts["end_reason"] == "budget" and len(facts["hosts"]) == 2
    assert {file.name for file in (folder / "jobs").iterdir()} == {f"slurm-{job}.out" for job in jobs}
    assert all("Start worker" in file.read_text() for file in (folder / "jobs").iterdir())
    # A folder that is emptied keeps what the jobs of the new run print.
    again = start(*ON_SLURM, "overwrite=true", "budget.frames=1_000")
    assert again.ends(LIMIT_SECONDS) == 0, again.printed
    assert len(list((folder / "jobs").iterdir())) == 4


def test_a_job_that_cannot_start_its_host_ends_the_command_at_once_with_what_the_job_printed(
    site: Site, start: Start, folder: Path
) -> None:
    run = start(*ON_SLURM, "cluster.python=/nowhere/python", "cluster.start_timeout_seconds=3600")
    assert run.ends(LIMIT_SECONDS) == 1, run.printed
    assert re.search(r"error: 0 of 2 hosts came.*: job \d+ has ended \(FAILED\).*/jobs/slurm-\d+\.out", run.printed)
    assert "/nowhere/python: No such file" in run.printed


def test_a_job_that_is_cancelled_or_requeued_is_submitted_again_and_the_run_goes_on(
    site: Site, start: Start, folder: Path
) -> None:
    run = start(*ON_SLURM, ENDLESS)
    _trains(run, folder)
    cancelled, requeued = site.jobs()
    site.ask("scancel", cancelled)
    _comes(run, lambda: "is lost with its host" in run.printed, "the loss is told")
    _begins(run, generation=2)
    assert site.state(cancelled) == "CANCELLED" and requeued in site.jobs() and len(site.jobs()) == 2

    site.ask("scontrol", "requeue", requeued)
    _begins(run, generation=3)
    # It would come back after two minutes: another one has taken its place.
    assert site.state(requeued) == "CANCELLED" and len(site.jobs()) == 2
    assert "DUE TO JOB REQUEUE" in (folder / "jobs" / f"slurm-{requeued}.out").read_text()
    _ends(run, site)


def test_a_job_that_reaches_its_time_limit_is_submitted_again_and_the_run_goes_on(
    site: Site, start: Start, folder: Path
) -> None:
    # A minute is the least that Slurm knows: it ends the job long before its host would leave by itself.
    run = start(*ON_SLURM, ENDLESS, 'cluster.directives=["--time=1"]')
    _trains(run, folder)
    first = min(site.jobs(), key=int)
    _begins(run, generation=2)
    assert site.state(first) == "TIMEOUT"
    _ends(run, site)


def test_hosts_that_leave_because_their_time_is_over_are_replaced_as_often_as_it_takes(
    site: Site, start: Start, folder: Path
) -> None:
    limits = ("cluster.walltime_minutes=2", "cluster.leave_minutes=1", "cluster.max_restarts=1")
    run = start(*ON_SLURM, ENDLESS, *limits)
    _begins(run, generation=4)
    assert run.printed.count(", whose time was over; all roles go back") >= 3
    _ends(run, site)


def test_a_command_that_is_killed_leaves_no_job_behind(site: Site, start: Start, folder: Path) -> None:
    run = start(*ON_SLURM, ENDLESS)
    _trains(run, folder)
    run.process.kill()
    run.ends()
    wait_until(lambda: not site.jobs(), "the jobs end by themselves", LIMIT_SECONDS)


@pytest.mark.parametrize("cluster", ["processes", "slurm"])
def test_a_job_of_the_command_itself_that_is_cancelled_ends_with_a_checkpoint(
    site: Site, start: Start, folder: Path, tmp_path: Path, cluster: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = shlex.join([sys.executable, *RUN, ENDLESS, *(SLURM if cluster == "slurm" else ("cluster=processes",))])
    (tmp_path / "job.sh").write_text(f"#!/bin/bash\nexec {command}\n")
    output = tmp_path / "job.out"
    job = site.ask(
        "sbatch", "--parsable", "--job-name=command", f"--chdir={tmp_path}", f"--output={output}", "--mem=4G",
        f"--export=ALL,PYTHONPATH={CHECKOUT},PYTHONUNBUFFERED=1", str(tmp_path / "job.sh"),
    ).strip()  # fmt: skip
    wait_until(lambda: _has_rows(folder), "it trains", LIMIT_SECONDS)
    begun, first = time.time(), _newest(folder)
    site.ask("scancel", job)
    wait_until(lambda: _newest(folder) != first, "a checkpoint", LIMIT_SECONDS)
    seconds = _newest(folder).stat().st_mtime - begun
    with capsys.disabled():
        print(f"\ncluster={cluster}: checkpoint {seconds:.1f} s after scancel")
    wait_until(lambda: not site.jobs(), "it has ended, with its hosts", LIMIT_SECONDS)
    assert "told to end: the training is saved" in output.read_text()


def _newest(folder: Path) -> Path:
    return max((folder / "checkpoints").glob("*.npz"))


def test_the_job_script_of_the_documents_runs_a_sweep_stops_it_in_order_and_goes_on_with_it(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".venv").symlink_to(sys.prefix)
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    monkeypatch.chdir(tmp_path)
    ledger = tmp_path / "results" / "sweeps" / "ad_hoc"

    def submit(experiment: str) -> tuple[str, Path]:
        (tmp_path / "job.sh").write_text(_printed_script(experiment))
        job = site.ask("sbatch", "--parsable", "job.sh").strip()
        return job, tmp_path / f"slurm-{job}.out"

    job, output = submit("smoke_dba3c seed=0,1 game=Breakout budget.frames=15_000")
    wait_until(lambda: _num_running(ledger) == 2, "both runs are under way", LIMIT_SECONDS)
    folders = [tmp_path / "results" / "runs" / "smoke_dba3c" / "Breakout" / seed for seed in ("0", "1")]
    wait_until(lambda: all(map(_has_rows, folders)), "both have learned something", LIMIT_SECONDS)
    site.ask("scancel", "--batch", "--signal=TERM", job)
    wait_until(lambda: not site.jobs(), "the sweep has ended", LIMIT_SECONDS)
    assert [row.status for row in read_ledger(ledger)] == ["interrupted"] * 2, output.read_text()
    assert all(int(_newest(folder).stem) > 0 for folder in folders), "each has saved what it has learned"

    job, output = submit("smoke_dba3c seed=0,1 game=Breakout budget.frames=15_000")
    wait_until(lambda: not site.jobs(), "the sweep is done", LIMIT_SECONDS)
    assert [row.status for row in read_ledger(ledger)] == ["done"] * 2, output.read_text()
    assert site.state(job) == "COMPLETED"


def _printed_script(experiment: str) -> str:
    """The script of the page on sweeps, with the sizes of this site and these runs."""
    text = (CHECKOUT / "docs" / "sweeps.md").read_text()
    found: list[str] = re.findall(r"^## Slurm\n.*?^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (script,) = found
    for printed, here in {
        "--nodes=4": "--nodes=2",
        "--ntasks-per-node=1 --cpus-per-task=16": "--ntasks-per-node=1 --cpus-per-task=2",
        "srun --cpus-per-task=16": "srun --cpus-per-task=2",
        "--time=24:00:00": "--time=00:15:00",
        "--nthreads 16": "--nthreads 2",
        "num_hosts=4": "num_hosts=2",
        "dba3c evaluation=noop_starts +sweep=atari49 seed=0,1,2": experiment,
    }.items():
        assert script.count(printed) == 1, printed
        script = script.replace(printed, here)
    return script


def _num_running(ledger: Path) -> int:
    return sum(row.status == "running" for row in read_ledger(ledger)) if (ledger / "ledger.csv").exists() else 0
