"""Rows of a run that is going on, and what is left of it."""

import os
import sys
import threading
from pathlib import Path

import psutil
import pytest

from benchmarks.peers import watch
from benchmarks.peers.drivers.ours import NewRows, as_progress
from benchmarks.peers.progress import Progress
from benchmarks.peers.watch import Start, Window
from benchmarks.rows import CHECKOUT

HEAD = "role,version,total_frames,wall_seconds\n"
TRAINING = """
import pathlib, signal, sys, threading
def leave(*_):
    pathlib.Path(sys.argv[1]).touch()
    {leaves} and sys.exit()
signal.signal(signal.SIGTERM, leave)
folder = pathlib.Path(sys.argv[2].removeprefix("results_dir="))
(folder / "updates.csv").write_text("{head}all,1,40,1.0\\nall,5,200,3.0\\n")
while True:
    threading.Event().wait(0.1)
"""
"""In place of `pipeline.train`: a file says that it has heard SIGTERM."""


def test_each_row_is_told_once_and_only_when_it_is_whole() -> None:
    rows = NewRows()
    first, second = "bundle-0,100,3200,8.5\n", "bundle-1,150,4000,9.0\n"
    assert rows.of("") == [] and rows.of(HEAD) == []
    assert [row["role"] for row in rows.of(HEAD + first + second[:10])] == ["bundle-0"]
    assert [row["role"] for row in rows.of(HEAD + first + second)] == ["bundle-1"]
    assert rows.of(HEAD + first + second) == []


def test_steps_are_those_of_the_role_alone() -> None:
    row = {"role": "bundle-0", "version": "100", "total_frames": "3200", "wall_seconds": "8.5"}
    assert as_progress(row, 2) == Progress(8.5, 400, 100, "bundle-0")


@pytest.mark.parametrize("leaves", [True, False])
def test_a_run_hears_that_it_is_ended_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves: bool
) -> None:
    monkeypatch.setattr(watch, "_LEAVE_SECONDS", 10.0 if leaves else 2.0)
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline" / "__init__.py").touch()
    training = TRAINING.format(leaves=leaves, head=HEAD.replace("\n", "\\n"))
    (tmp_path / "pipeline" / "train.py").write_text(training)
    temporary, heard = tmp_path / "temporary", tmp_path / "heard"
    temporary.mkdir()
    variables = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{CHECKOUT}", "TMPDIR": str(temporary), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "benchmarks.peers.drivers.ours", "1", str(heard)]
    start = Start(command, os.environ | variables, cores=[min(psutil.Process().cpu_affinity())])
    outcome = watch.watch(start, 1, Window(0.0, 0.1, 60.0), threading.Event())
    assert outcome.reason == "" and outcome.rates is not None and outcome.rates.steps_per_second == 20.0
    assert heard.exists() and list(temporary.iterdir()) == []
