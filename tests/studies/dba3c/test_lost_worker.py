"""A worker's process is killed in a short run, and what its rows say."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from studies.dba3c import lost_worker
from tests.studies.dba3c.toy import TINY, printed

UPDATES = pd.DataFrame(
    {"role": "worker-0", "game": "Pong", "version": version, "wall_seconds": seconds, "max_pause_seconds": pause}
    for version, seconds, pause in ((19, 5.0, 9.0), (39, 7.0, 0.2), (59, 9.0, 0.1), (79, 14.0, 3.0), (99, 16.0, 0.1))
)


def test_the_pause_from_the_kill_on_is_told_in_updates_of_before() -> None:
    row = lost_worker.lost_worker_row(UPDATES, 3, num_backup=1, round_=0)
    assert (row.seconds_per_update, row.longest_before_seconds, row.longest_after_seconds) == (0.1, 0.2, 3.0)
    assert row.pause_in_updates == pytest.approx(30.0) and row.num_updates_after == 40


def test_a_run_that_was_over_at_the_kill_has_no_row() -> None:
    with pytest.raises(ValueError, match="after the kill, which came after 5 of its rows: make the run longer"):
        lost_worker.lost_worker_row(UPDATES, 5, num_backup=1, round_=0)


@pytest.mark.slow
def test_a_killed_worker_is_counted_with_the_pauses_before_and_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings: dict[str, Any] = {
        "num_rounds": 1,
        "run_seconds": 300.0,
        "rows_before": 3,
        "backup_counts": (1,),
        # Of the frames of some 200 updates the kill leaves two thirds, however slow the machine is.
        "overrides": (*TINY, "budget.frames=16_000"),
        "output": tmp_path,
    }
    lost_worker.main(**settings)
    (row,) = pd.read_csv(tmp_path / "lost_worker.csv").to_dict("records")
    assert (row["num_workers"], row["num_backup_workers"]) == (2, 1)
    assert min(row["seconds_per_update"], row["longest_before_seconds"], row["longest_after_seconds"]) > 0
    assert row["num_updates_after"] > 0
    first = printed(capsys)
    lost_worker.main(**settings)
    assert printed(capsys) == first
