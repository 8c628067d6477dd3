"""The benchmark itself, for seconds: the row of each contender, and of those that are not there."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import __main__
from benchmarks.peers.environments import is_ready
from benchmarks.rows import CHECKOUT
from measuring.processor import processor

ENVIRONMENTS = CHECKOUT / ".venv-peers"
SHORT = ["--rounds", "1", "--seconds", "1", "--warmup", "0"]


def rows(out: Path, *arguments: str) -> list[dict[str, Any]]:
    __main__.main([*arguments, "--out", str(out)])
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_a_library_that_is_not_there_is_a_row_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLEANRL", raising=False)
    (row,) = rows(tmp_path / "rows.jsonl", *SHORT, "--only", "cleanrl_dqn")
    assert row["reason"] == "not installed: CLEANRL does not name a checkout of CleanRL"
    assert "steps_per_second" not in row
    (_, row) = rows(tmp_path / "rows.jsonl", *SHORT, "--only", "cleanrl_dqn", "--cleanrl", str(tmp_path))
    assert row["reason"] == "not installed: the checkout that CLEANRL names has no cleanrl/dqn_atari.py"


def test_a_name_that_is_nobodys_is_refused() -> None:
    with pytest.raises(SystemExit, match="there is no sb3; there are gorila, sb3_dqn"):
        __main__.main(["--only", "sb3"])


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ours_and_another_library_are_measured_in_turn(tmp_path: Path) -> None:
    if not is_ready("sb3", ENVIRONMENTS):
        pytest.skip("Stable-Baselines3 is not installed: make bench-peers does that")
    # Long enough for several updates where both are slow.
    window = ["--rounds", "1", "--seconds", "5", "--warmup", "0"]
    found = rows(tmp_path / "rows.jsonl", *window, "--ordinary", "--only", "ba3c", "sb3_a2c")
    assert [row["contender"] for row in found] == ["sb3_a2c", "ba3c"]
    for row in found:
        assert row["reason"] == "" and row["processor"] == processor(ordinary=True)
        assert row["steps_per_second"] > 0 and row["updates_per_second"] > 0
        # Both update from 80 steps.
        assert row["steps_per_second"] == pytest.approx(80 * row["updates_per_second"], rel=0.5)
        assert 0.1 < row["peak_rss_gb"] < 20
    assert found[0]["library"] == "stable-baselines3 2.9.2" and found[0]["session"] == found[1]["session"]
