"""A command that stands still as a whole, as by Ctrl-Z, for longer than its roles or Dask wait for somebody silent."""

import re
import signal
import time
from pathlib import Path

import pytest

from pipeline.results.load import load_run
from tests.experiments.commands import Start
from tests.experiments.smoke_runs import smoke_words

STOP_SECONDS = 15.0
"""Longer than the lease below. Dask's five minutes are made shorter where all hosts are in the command's process."""


@pytest.mark.slow
@pytest.mark.parametrize(("cluster", "dask_waits"), [("threads", "5s"), ("processes", "5 minutes")])
def test_a_run_that_was_stopped_as_a_whole_goes_on_with_all_its_hosts(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: str, dask_waits: str
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", dask_waits)
    limits = ("budget.frames=null", "budget.minutes=0.8", "cluster.lease_seconds=10")
    words = (*smoke_words(tmp_path / "runs"), f"cluster={cluster}", "progress=lines", *limits)
    command = start("-m", "pipeline.train", *words)
    rows = tmp_path / "runs" / "smoke_gorila" / "Breakout" / "0" / "updates.csv"
    command.wait_until(lambda: rows.exists() and rows.read_text().count("\n") > 1, "updates")
    command.send_to_all(signal.SIGSTOP)
    before = rows.read_text()
    time.sleep(STOP_SECONDS)
    assert rows.read_text() == before
    command.send_to_all(signal.SIGCONT)
    assert command.ends() == 0, command.printed
    run = load_run(rows.parent)
    assert run.problems == () and run.runs["end_reason"].item() == "budget"
    assert rows.read_text().count("\n") > before.count("\n") + 1
    assert not re.search(r"(is|was) lost|started again|Traceback", command.printed), command.printed
