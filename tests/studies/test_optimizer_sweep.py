"""The optimizer sweep at a toy size: real runs, a row a setting, nothing run twice."""

import csv
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from studies import optimizer_sweep
from tests.studies.toy import TINY


@pytest.mark.slow
def test_a_setting_trains_with_its_own_epsilon_and_is_not_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimizer_sweep, "SETTINGS", (("rmsprop", 2.5e-4, 0.01 / 32**2), ("adagrad", 1e-2, 1e-6)))
    arguments = ["--runs-dir", str(tmp_path / "runs"), "--output", str(tmp_path), "--overrides", *TINY]
    optimizer_sweep.main(arguments)
    written = (tmp_path / "Breakout.csv").read_text()
    rows = list(csv.DictReader(written.splitlines()))
    assert [(row["optimizer"], float(row["epsilon"])) for row in rows] == [("rmsprop", 9.7656e-6), ("adagrad", 1e-6)]
    for row in rows:
        assert row["end"] == "budget" and int(row["updates"]) > 0 and int(row["evaluation_episodes"]) > 0
        assert row["commit"] and row["run_commit"]
        folder = tmp_path / "runs" / f"{row['optimizer']}-{float(row['learning_rate']):g}-{_epsilon(row):g}"
        config = OmegaConf.load(folder / "gorila_quick" / "Breakout" / "0" / "config.yaml")
        assert config.optimizer.kind == row["optimizer"] and config.optimizer.epsilon == _epsilon(row)
    optimizer_sweep.main(arguments)
    assert (tmp_path / "Breakout.csv").read_text() == written


def _epsilon(row: dict[str, str]) -> float:
    return 0.01 / 32**2 if row["optimizer"] == "rmsprop" else float(row["epsilon"])
