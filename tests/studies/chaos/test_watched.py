"""A run whose command never comes to its result: a bare process in place of each start."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from studies.chaos import watched
from studies.chaos.cases import PROCESSES, Case
from studies.chaos.command import TypedCommand
from studies.chaos.watched import RunPlan, WatchedRun


class EndsWithAReason(TypedCommand):
    """Says why, as a run does whose hosts do not come."""

    def type(self) -> None:
        """As often as it is asked to."""
        folder = self._folder / "runs" / "smoke_dba3c" / "Breakout" / "0"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").touch()
        (folder / "run.json").write_text(json.dumps({"end_reason": "error: hosts were lost"}))
        with self.output.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-c", "raise SystemExit('error: no host')"], stderr=file
            )
        self.num_starts += 1


def test_a_run_that_never_has_a_result_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "TypedCommand", EndsWithAReason)
    plan = RunPlan(0, 0, Case("dba3c", PROCESSES, True, "beside"), [], 1, num_kills=0, deadline_seconds=60.0)
    kills, run, printed = WatchedRun(plan, tmp_path, say=lambda _: None).carry_out()
    assert kills == [] and run.end_reason == "error: hosts were lost"
    assert run.num_starts == printed.count("error: no host") == 5
    assert run.faults == "no result after 5 starts"
