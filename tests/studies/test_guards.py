"""Injected faults at a toy size."""

from pathlib import Path

import pandas as pd
import pytest

from studies import guards


@pytest.mark.slow
def test_guards_meet_the_same_faults_on_and_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guards.main(num_updates=400, output=tmp_path)
    rows = pd.read_csv(tmp_path / "guards.csv")
    assert len(rows) == 2 * len(guards.FAULTS) * len(guards.SEEDS)
    # Without faults the guards drop nothing, so that on and off are the same run.
    on, off = (rows[(rows["faults"] == "none") & (rows["guards"] == guard)] for guard in (True, False))
    assert on["area_under_curve"].tolist() == off["area_under_curve"].tolist()
    delayed = rows[rows["guards"] & (rows["faults"] == "delayed")]
    assert delayed["num_dropped_stale"].min() > 0
    unguarded = rows[~rows["guards"]]
    assert unguarded["num_dropped_stale"].max() == unguarded["num_dropped_outlier"].max() == 0
    assert "| both | off |" in capsys.readouterr().out
