"""One worker, two, and two loops without a server, at a toy size."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from measuring.processor import processor_here
from measuring.worker_speed import Speed
from pipeline.config.run_config import RunConfig
from studies.dba3c import scaling
from tests.studies.dba3c.toy import TINY, printed


def test_networks_take_turns_so_that_their_speeds_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(settings: object, network: str, round_: int, worker_steps: int) -> scaling.ScalingRow:
        return scaling.ScalingRow(network, round_, "Pong", 1_000, one=100.0, two=200.0, no_server=210.0)

    monkeypatch.setattr(scaling, "_measure", measured)
    scaling.main(num_rounds=2, networks=("dba3c_authors", "ba3c_authors"), output=tmp_path)
    rows = pd.read_csv(tmp_path / "scaling.csv")
    assert rows["round"].tolist() == [0, 0, 1, 1]
    assert rows["network"].tolist() == ["dba3c_authors", "ba3c_authors", "ba3c_authors", "dba3c_authors"]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_row_says_the_precision_that_its_runs_were_asked_to_compute_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    row = scaling.ScalingRow("nature_grey", 0, "Pong", 1_000, one=100.0, two=200.0, no_server=210.0)
    monkeypatch.setattr(scaling, "_measure", lambda *_: row)
    overrides = [f"precision={precision}"]
    scaling.main(num_rounds=1, networks=("nature_grey",), overrides=overrides, output=tmp_path)
    (kind,) = pd.read_csv(tmp_path / "scaling.csv")["processor"]
    assert kind == processor_here(precision)
    with pytest.raises(SystemExit, match=f"rows of runs with precision={precision}, and these have no more settings"):
        scaling.main(num_rounds=2, networks=("nature_grey",), output=tmp_path)


def test_variants_have_another_order_in_each_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def run_of(config: RunConfig) -> RunConfig:
        order.append(str(config.topology.num_playing))
        return config

    def without_server(config: RunConfig, worker_steps: int) -> float:
        order.append("no server")
        return 1.0

    monkeypatch.setattr(scaling, "run", run_of)
    monkeypatch.setattr(scaling, "speed", lambda config, updates: Speed(1.0, 1.0, 0.0, 0.0, 1))
    monkeypatch.setattr(scaling, "_run_without_server", without_server)
    scaling.main(num_rounds=4, networks=("nature_grey",), output=tmp_path)
    rounds = {tuple(order[start : start + 3]) for start in range(0, 12, 3)}
    assert len(rounds) > 2 and {frozenset(names) for names in rounds} == {frozenset({"1", "2", "no server"})}


@pytest.mark.slow
def test_workers_are_run_alone_together_and_without_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(num_rounds: int) -> dict[str, Any]:
        # The first loop to be done ends both: on a busy machine it may be far ahead after a tenth of a second.
        scaling.main(
            num_rounds=num_rounds, worker_steps=1_600, networks=("nature_grey",), overrides=TINY, output=tmp_path
        )
        (line,) = printed(capsys)
        return line

    first = main(num_rounds=1)
    for name in ("one_steps_per_second", "two_steps_per_second", "no_server_steps_per_second"):
        assert first[name] > 0
    rows = tmp_path / "scaling.csv"
    before = rows.read_text()
    assert main(num_rounds=1)["two_over_no_server"] == first["two_over_no_server"]
    assert rows.read_text() == before
