"""Whole sweeps of small programs: what becomes of each job, of the others, and of what was left behind."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client

from dask_jobs.ledger import DONE, FAILED, INTERRUPTED, LEDGER, RUNNING, WAITING, Ledger
from dask_jobs.progress import TOPIC
from tests.clusters import LIMIT_SECONDS, wait_until
from tests.dask_jobs.programs import Program, scheduler_and_host, scheduler_process
from tests.processes import living

ONE_HOST = ("hydra.launcher.num_hosts=1", "hydra.launcher.threads_per_host=1")
BOTH_HOSTS = """
from dask_jobs.needs import JobNeeds, Part


def needs(config):
    return JobNeeds((Part(2), Part(2)))
"""
"""A module of a user's: each job takes all threads of both hosts, so no two run side by side."""
TWO_HOSTS = ("hydra.launcher.num_hosts=2", "hydra.launcher.threads_per_host=1")


def at(scheduler_address: str) -> tuple[str, ...]:
    """Words that have the hosts of this scheduler used, both of them."""
    return f"hydra.launcher.address={scheduler_address}", "hydra.launcher.num_hosts=2"


def job_processes() -> list[psutil.Process]:
    """All processes of jobs, and spare ones, on hosts that this process started."""
    children = psutil.Process().children(recursive=True)
    return [child for child in children if "dask_jobs.work" in " ".join(child.cmdline())]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.mark.slow
def test_jobs_that_fail_are_tried_again_and_told_of_and_the_others_finish(program: Program) -> None:
    memory = ("hydra.launcher.memory_bytes=200000000", "hydra.launcher.memory_per_host_bytes=300000000")
    pauses = ("hydra.launcher.backoff_seconds=0.1", "hydra.launcher.stop_seconds=0.5")
    ended = program.run("+kind=raises,kills_its_host_once,takes_memory,plain", *TWO_HOSTS, *pauses, *memory)
    rows = program.rows()
    assert {kind: (row.status, row.attempts) for kind, row in rows.items()} == {
        "raises": (FAILED, 2),
        "kills_its_host_once": (DONE, 2),
        "takes_memory": (FAILED, 2),
        "plain": (DONE, 1),
    }
    assert rows["raises"].reason == "ValueError: no such luck"
    assert "GiB, and was granted 0.19 GiB" in rows["takes_memory"].reason
    assert rows["plain"].return_value == '"plain"'
    assert "ValueError: no such\nluck" in (program.folder / "sweep/logs/0_2.log").read_text()
    assert ended.status == 1
    assert "job 0 +kind=raises: attempt 1 failed: ValueError: no such luck; again in 0.1 s" in ended.output
    assert "job 1 +kind=kills_its_host_once: attempt 1 failed: its host was lost; again in 0.5 s" in ended.output
    assert "2 done · 2 failed" in ended.output
    assert "Error executing job with overrides: ['+kind=raises']" in ended.output


@pytest.mark.slow
def test_an_end_that_cannot_travel_is_told_in_words(program: Program, scheduler_address: str) -> None:
    kinds = "+kind=raises_own_error,exits,is_killed,returns_an_object"
    ended = program.run(kinds, *at(scheduler_address), "hydra.launcher.retries=0")
    assert {kind: (row.status, row.reason, row.return_value) for kind, row in program.rows().items()} == {
        "raises_own_error": (FAILED, "OwnError: 1 red", ""),
        "exits": (FAILED, "it called sys.exit('gone')", ""),
        "is_killed": (FAILED, "its process was killed by SIGKILL", ""),
        "returns_an_object": (DONE, "", ""),
    }
    assert ended.status == 1


@pytest.mark.slow
def test_a_job_of_several_hosts_gets_them_all_or_waits_and_keeps_later_jobs_waiting(
    program: Program, scheduler_address: str
) -> None:
    (program.folder / "sizes.py").write_text(
        "from dask_jobs.needs import JobNeeds, Part\n\n\n"
        "def needs(config):\n"
        "    return JobNeeds((Part(2),) * {'uses_all_hosts': 2, 'never_fits': 3}.get(config.kind, 1))\n"
    )
    ended = program.run(
        "+kind=plain,never_fits,uses_all_hosts,reports", *at(scheduler_address), "hydra.launcher.needs=sizes.needs"
    )
    rows = program.rows()
    assert rows["never_fits"].reason.startswith(
        "the job needs 6 threads in 3 parts, the largest part with 2 threads; 2 hosts offer 4 threads"
    )
    assert rows["never_fits"].attempts == 0 and "3 done · 1 failed" in ended.output
    assert rows["uses_all_hosts"].return_value == "true"
    assert [event.split()[0] for event in program.events()] == [
        "plain",
        "plain",
        "uses_all_hosts",
        "reports",
        "reports",
    ]
    assert program.events()[1] == "plain ended", "a job of two hosts started while one of them was taken"


@pytest.mark.slow
def test_with_fail_fast_the_first_failure_stops_the_others_and_keeps_the_rest_from_starting(
    program: Program, scheduler_address: str
) -> None:
    each_host = "hydra.launcher.threads=2"
    no_mercy = ("hydra.launcher.fail_fast=true", "hydra.launcher.retries=0")
    ended = program.run("+kind=waits,raises,plain", *at(scheduler_address), each_host, *no_mercy)
    rows = program.rows()
    assert [row.status for row in rows.values()] == [INTERRUPTED, FAILED, WAITING]
    assert rows["waits"].reason == "job 1 failed, and fail_fast=true"
    assert ended.status == 1
    assert "job 1 +kind=raises failed, fail_fast=true: ValueError: no such luck" in ended.output


@pytest.mark.slow
def test_a_job_that_does_not_hear_that_it_is_stopped_is_killed_when_its_time_is_up(
    program: Program, scheduler_address: str
) -> None:
    no_mercy = ("hydra.launcher.fail_fast=true", "hydra.launcher.retries=0", "hydra.launcher.stop_seconds=1")
    ended = program.run("+kind=is_deaf,fails_once_deafened", *at(scheduler_address), *no_mercy)
    rows = program.rows()
    assert [row.status for row in rows.values()] == [INTERRUPTED, FAILED] and ended.status == 1
    assert rows["is_deaf"].seconds is not None and rows["is_deaf"].seconds < 30, "it sleeps for a minute"


@pytest.mark.slow
def test_a_job_that_is_done_and_does_not_leave_is_ended(program: Program, scheduler_address: str) -> None:
    ended = program.run("+kind=leaves_a_thread", *at(scheduler_address), "hydra.launcher.stop_seconds=1")
    row = program.rows()["leaves_a_thread"]
    assert (ended.status, row.status, row.return_value) == (0, DONE, '"leaves_a_thread"')
    assert row.seconds is not None and row.seconds < 50, "its thread sleeps for a minute"


def test_jobs_that_differ_only_in_what_tells_no_job_from_another_are_refused(program: Program) -> None:
    ended = program.run("+kind=plain", "+again=1,2", *ONE_HOST, "hydra.launcher.ignored_overrides=[again]")
    assert ended.status == 1
    assert "'+kind=plain +again=1' and '+kind=plain +again=2' are one and the same here: again" in ended.output
    assert not (program.folder / "sweep" / LEDGER).exists(), "jobs that nobody can run are kept"


def test_a_folder_that_takes_no_ledger_is_named(program: Program) -> None:
    (program.folder / "sweep" / "ledger.lock").mkdir(parents=True)
    ended = program.run("+kind=plain", *ONE_HOST)
    assert ended.status == 1 and f"no ledger can be kept in {program.folder / 'sweep'}: " in ended.output
    assert "Traceback" not in ended.output


@pytest.mark.slow
def test_an_override_that_tells_no_job_from_another_does_not_make_a_done_job_run_again(
    program: Program, scheduler_address: str
) -> None:
    words = ("+kind=plain,raises_once", *at(scheduler_address), "hydra.launcher.ignored_overrides=[again]")
    assert program.run(*words, "hydra.launcher.retries=0").status == 1
    assert program.run(*words, "+again.below=true").status == 0
    assert "2 jobs are done already" in program.run(*words).output
    assert {kind: (row.status, row.attempts) for kind, row in program.rows().items()} == {
        "plain": (DONE, 1),
        "raises_once": (DONE, 2),
    }


@pytest.mark.slow
def test_ctrl_c_ends_jobs_in_order_and_the_same_command_goes_on(program: Program, scheduler_address: str) -> None:
    words = "+kind=plain,waits,reports"
    with program.start(words, *ONE_HOST) as process:
        program.wait_for(lambda events: any(event.startswith("waits 1") for event in events), "the second job runs")
        # As a terminal does it: to the launcher and to its hosts at once.
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate()
    assert process.returncode == 130 and "the same command goes on with what is not done" in output
    assert "waits was interrupted" in program.events()
    assert {kind: (row.status, row.reason) for kind, row in program.rows().items()} == {
        "plain": (DONE, ""),
        "waits": (INTERRUPTED, "stopped by Ctrl-C"),
        "reports": (WAITING, ""),
    }
    (program.folder / "go").touch()
    (program.folder / "sizes.py").write_text(BOTH_HOSTS)
    again = program.run(words, *at(scheduler_address), "hydra.launcher.needs=sizes.needs")
    assert again.status == 0 and "3 done" in again.output
    assert {kind: row.attempts for kind, row in program.rows().items()} == {"plain": 1, "waits": 2, "reports": 1}
    assert [event for event in program.events() if "ended" in event] == ["plain ended", "waits ended", "reports ended"]


@pytest.mark.slow
def test_a_batch_system_that_signals_all_processes_of_a_sweep_ends_its_jobs_in_order(program: Program) -> None:
    with program.start("+kind=plain,waits,reports", *ONE_HOST, "hydra.launcher.preload=[json]") as process:
        program.wait_for(lambda events: any(event.startswith("waits 1") for event in events), "the second job runs")
        # Whatever their group, and then once more: systemd does it so, and `timeout`.
        for _ in range(2):
            for one in (psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)):
                one.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 130 and "the same command goes on with what is not done" in output
    assert "waits was interrupted" in program.events()
    assert {kind: (row.status, row.reason) for kind, row in program.rows().items()} == {
        "plain": (DONE, ""),
        "waits": (INTERRUPTED, "stopped by SIGTERM"),
        "reports": (WAITING, ""),
    }


@pytest.mark.slow
@pytest.mark.parametrize("own_cluster", [True, False])
def test_a_launcher_that_is_killed_leaves_nothing_behind_but_its_ledger(
    program: Program, scheduler_address: str, own_cluster: bool
) -> None:
    spare = ("hydra.launcher.threads=2", "hydra.launcher.preload=[json]")
    words = ("hydra.launcher.threads_per_host=2",) if own_cluster else at(scheduler_address)
    no_patience = ("hydra.launcher.start_timeout_seconds=1",)
    with program.start("+kind=waits,waits_too,plain", *words, *spare) as process:
        program.wait_for(lambda events: any(event.startswith("waits 1") for event in events), "the first job runs")
        left = psutil.Process(process.pid).children(recursive=True) if own_cluster else job_processes()
        assert left
        process.kill()
        process.communicate()
    wait_until(lambda: not living(left), "nothing is left")
    assert not list(program.temporary.glob("dask-launcher-*"))
    assert "waits was interrupted" in program.events()
    assert program.rows()["waits"].status == RUNNING
    assert program.rows()["plain"].status == WAITING
    Ledger.open(program.folder / "sweep").close()
    nobody = program.run("+kind=waits,waits_too,plain", "hydra.launcher.address=tcp://127.0.0.1:9", *no_patience)
    assert nobody.status == 1 and "Exception ignored" not in nobody.output
    assert program.rows()["waits"].status == RUNNING, "a command that found no cluster hid what was left running"
    (program.folder / "go").touch()
    again = program.run("+kind=waits,waits_too,plain", *words, "hydra.launcher.stop_seconds=1")
    assert again.status == 0 and "when an earlier command was killed: they start in 1 s" in again.output


@pytest.mark.slow
def test_a_large_job_is_stopped_while_its_process_still_imports(program: Program) -> None:
    (program.folder / "slow.py").write_text("import time\n\nopen('imports', 'w').close()\ntime.sleep(300)\n")
    words = ("+kind=plain", *ONE_HOST, "hydra.launcher.preload=[slow]", "hydra.launcher.stop_seconds=300")
    with program.start(*words) as process:
        wait_until(lambda: (program.folder / "imports").exists(), "it imports")
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 130 and "the same command goes on" in output
    assert program.events() == []


@pytest.mark.slow
def test_a_scheduler_that_dies_is_told_of_in_one_sentence_and_leaves_no_job_that_runs(program: Program) -> None:
    with scheduler_and_host(program.folder) as address:
        words = ("+kind=plain,waits,reports", f"hydra.launcher.address={address}")
        with program.start(*words) as process:
            program.wait_for(lambda events: any(event.startswith("waits 1") for event in events), "the second job runs")
            wait_until(lambda: program.rows()["plain"].status == DONE, "the launcher has heard of the first one's end")
            scheduler_process(program.folder).kill()
            output, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 1 and f"the scheduler at {address} is gone" in output
    assert "Traceback" not in output and "distributed." not in output
    rows = program.rows()
    assert rows["plain"].status == DONE and RUNNING not in {row.status for row in rows.values()}


@pytest.mark.slow
def test_a_scheduler_that_stands_still_hangs_no_sweep_that_is_to_end(program: Program) -> None:
    with scheduler_and_host(program.folder) as address:
        with program.start("+kind=waits,plain", f"hydra.launcher.address={address}") as process:
            program.wait_for(lambda events: any(event.startswith("waits 1") for event in events), "the first job runs")
            scheduler_process(program.folder).suspend()
            process.terminate()
            output, _ = process.communicate(timeout=LIMIT_SECONDS)
        scheduler_process(program.folder).resume()
    assert process.returncode == 1 and f"the scheduler at {address} does not answer, and jobs may still run" in output
    assert "Traceback" not in output and program.rows()["waits"].status == RUNNING


@pytest.mark.slow
def test_a_scheduler_that_stood_still_is_waited_for(program: Program) -> None:
    with (
        scheduler_and_host(program.folder) as address,
        program.start("+kind=waits,plain", f"hydra.launcher.address={address}") as process,
    ):
        program.wait_for(lambda events: any(event.startswith("waits 1") for event in events), "the first job runs")
        scheduler_process(program.folder).suspend()
        (program.folder / "go").touch()
        time.sleep(65)
        scheduler_process(program.folder).resume()
        output, _ = process.communicate(timeout=LIMIT_SECONDS)
    assert process.returncode == 0 and "has not answered for 30 s: it is waited for" in output
    assert {row.status for row in program.rows().values()} == {DONE}


def test_how_far_a_job_is_reaches_everybody_at_the_scheduler(program: Program, scheduler_address: str) -> None:
    heard: list[dict[str, Any]] = []
    with Client(scheduler_address, set_as_default=False) as client:
        client.subscribe_topic(TOPIC, lambda event: heard.append(event[1]))
        with program.start("+kind=reports_until_told", *at(scheduler_address)) as process:
            wait_until(lambda: any(message["kind"] == "progress" for message in heard), "the job is heard")
            (program.folder / "told").touch()
            process.communicate()
    first = next(message for message in heard if message["kind"] == "progress")
    told = {name: first[name] for name in ("job", "fraction", "rate", "unit", "details")}
    assert told == {"job": 0, "fraction": 0.5, "rate": 3.0, "unit": "things/s", "details": {"colour": "red"}}


@pytest.mark.slow
def test_a_disk_that_refuses_the_ledger_for_a_while_costs_no_job(program: Program) -> None:
    with program.start("+kind=waits,reports_until_told", *ONE_HOST) as process:
        program.wait_for(lambda events: any(event.startswith("waits 1") for event in events), "the first job runs")
        (program.folder / "sweep" / f".{LEDGER}").mkdir()
        (program.folder / "go").touch()
        program.wait_for(lambda events: any(event.startswith("reports") for event in events), "the second job runs")
        assert program.rows()["waits"].status == RUNNING, "the ledger was written"
        (program.folder / "sweep" / f".{LEDGER}").rmdir()
        (program.folder / "told").touch()
        output, _ = process.communicate()
    assert process.returncode == 0
    assert "the ledger cannot be written, and is tried again while the jobs go on" in output
    assert "the ledger is written again" in output
    assert [row.status for row in program.rows().values()] == [DONE, DONE]


@pytest.mark.slow
def test_two_commands_in_one_folder_and_a_damaged_ledger_are_refused_and_change_nothing(program: Program) -> None:
    sweep = program.folder / "sweep"
    ledger = Ledger.open(sweep)
    refused = program.run("+kind=plain")
    assert refused.status == 1
    assert f"is in use by another command (process {os.getpid()} on" in refused.output
    ledger.close()
    (sweep / LEDGER).write_text("job,overrides\n0,+ki")
    damaged = program.run("+kind=plain")
    assert damaged.status == 1 and "is no whole ledger" in damaged.output
    assert (sweep / LEDGER).read_text() == "job,overrides\n0,+ki"
    assert program.events() == []


@pytest.mark.slow
def test_hosts_started_by_hand_are_used_as_they_say_they_are_and_left_running(program: Program) -> None:
    (program.folder / "preloaded.py").touch()
    with scheduler_and_host(program.folder, "--nthreads", "4", "--resources", "GPU=2") as address:
        words = (f"hydra.launcher.address={address}", "hydra.launcher.gpus=1", "hydra.launcher.threads=2")
        ended = program.run("+kind=tells", "+number=1,2,3", *words, "hydra.launcher.preload=[preloaded]")
        assert ended.status == 0 and "3 done" in ended.output
        with Client(address, set_as_default=False) as client:
            assert len(client.nthreads()) == 1
    told = [json.loads(row.return_value) for row in program.rows().values()]
    assert all(answer[0] for answer in told)
    assert [answer[1] for answer in told] == ["2", "2", "2"]
    assert {answer[2] for answer in told} == {"0", "1"}, "each job sees a GPU of its own"
    assert [answer[3] for answer in told] == [None, None, None], "what Dask's nanny sets is no business of jobs"
