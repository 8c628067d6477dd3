"""One worker, two, and two loops without a server, at a toy size."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from studies.dba3c import scaling
from tests.studies.dba3c.toy import TINY, printed


def test_networks_take_turns_so_that_their_speeds_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(settings: object, network: str, round_: int, worker_steps: int) -> scaling.ScalingRow:
        return scaling.ScalingRow(network, round_, "Pong", 1_000, one=100.0, two=200.0, no_server=210.0)

    monkeypatch.setattr(scaling, "_measure", measured)
    scaling.main(num_rounds=2, networks=("dba3c_authors", "ba3c_authors"), output=tmp_path)
    rows = pd.read_csv(tmp_path / "scaling.csv")
    assert rows["network"].tolist() == ["dba3c_authors", "ba3c_authors", "dba3c_authors", "ba3c_authors"]


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
