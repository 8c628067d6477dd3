"""A worker's process is killed in a short run."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from studies.dba3c import lost_worker
from tests.studies.dba3c.toy import TINY, printed


@pytest.mark.slow
def test_a_killed_worker_is_counted_with_the_pauses_before_and_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings: dict[str, Any] = {
        "num_rounds": 1,
        "run_seconds": 12.0,
        "rows_before": 3,
        "backup_counts": (1,),
        "overrides": TINY,
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
