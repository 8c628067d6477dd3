"""A straggler among two workers."""

from pathlib import Path

import pandas as pd
import pytest

from studies.dba3c import stragglers
from tests.studies.dba3c.toy import is_figure


def test_a_delay_is_some_healthy_updates_and_an_update_waits_where_nobody_is_spare() -> None:
    healthy = pd.Series([0.1, 0.5, 0.3])
    none, told = pd.Series([0.0, 0.0]), pd.Series([0.0, 0.8])
    assert stragglers.delay_of(healthy, 4.0, none, is_waited_for=True) == pytest.approx((1.2, 1.5))
    assert stragglers.delay_of(healthy, 4.0, none, is_waited_for=False) == pytest.approx((1.2, 0.0))
    assert stragglers.delay_of(healthy, 4.0, told, is_waited_for=True) == pytest.approx((0.8, 1.1)), "as before"


@pytest.mark.slow
def test_a_straggler_sleeps_for_several_healthy_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stragglers, "DISTRIBUTIONS", ("constant",))
    stragglers.main(
        num_rounds=1,
        num_started=2,
        backup_counts=(0,),
        run_seconds=100.0,
        overrides=("budget.frames=360",),
        output=tmp_path,
        figures=tmp_path,
    )
    healthy, slowed = pd.read_csv(tmp_path / "stragglers.csv").to_dict("records")
    assert (healthy["distribution"], slowed["distribution"]) == ("none", "constant")
    assert healthy["mean_delay_seconds"] == 0.0
    assert slowed["mean_delay_seconds"] == pytest.approx(4 * healthy["seconds_per_update"], rel=1e-3)
    assert slowed["seconds_per_update"] > slowed["mean_delay_seconds"]
    assert is_figure(tmp_path / "dba3c_stragglers.png")
