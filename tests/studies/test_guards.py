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
    assert rows["commit"].notna().all()
    written = (tmp_path / "guards.csv").read_text()
    guards.main(num_updates=400, output=tmp_path)
    assert (tmp_path / "guards.csv").read_text() == written
    with pytest.raises(SystemExit, match="rows of runs with num_updates=400, and these have no more settings"):
        guards.main(output=tmp_path)


def test_areas_have_student_s_t_over_seeds_and_what_guards_save_is_paired() -> None:
    rows = pd.DataFrame(
        [
            guards.GuardsRow("delayed", is_on, seed, area + (0.0 if is_on else 0.1 * (1 + seed)), 0.5, 1, 2, 3_000)
            for is_on in (True, False)
            for seed, area in enumerate((0.0, 10.0))
        ]
    )
    _, _, on, off = guards.guards_table(rows).splitlines()
    # Of two seeds d from their mean, t's half width is 12.706 d.
    assert on.startswith("| delayed | on | 5.0000 [-58.5310, 68.5310] |  | 0.5000 |")
    assert "| 0.1500 [-0.4853, 0.7853] | 0.5000 |" in off
