"""Ratios within rounds, the table, and that the document has that of the committed rows."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers.table import ROWS, best_peers, main, ratios, table
from benchmarks.rows import PERFORMANCE, read
from measuring.markdown import with_table


def row(round_: int, name: str, steps: float | None, session: str = "2026-01-02", **more: Any) -> dict[str, Any]:
    figures = {"steps_per_second": steps, "updates_per_second": 2.0, "peak_rss_gb": 0.5} if steps is not None else {}
    kind = "q_learner" if "dqn" in name or name == "gorila" else "actor_critic"
    machine = {"processor": "avx2, float32", "cpu": "AMD EPYC", "num_cores": 2, "num_cores_used": 2}
    facts = {"ours": name in ("gorila", "dba3c"), "kind": kind, **machine}
    return {
        "session": session,
        "round": round_,
        "contender": name,
        "reason": "",
        "commit": "1234567890",
        **facts,
        **figures,
        **more,
    }


ROUNDS = [
    row(0, "gorila", 120.0),
    row(0, "sb3_dqn", 40.0),
    row(0, "cleanrl_dqn", 60.0),
    row(0, "sb3_a2c", 300.0),
    row(0, "dba3c", 600.0),
    row(1, "gorila", 100.0),
    row(1, "sb3_dqn", 50.0),
    row(1, "cleanrl_dqn", None, reason="exit status 1"),
    row(1, "sb3_a2c", None, reason="not done after 430 s"),
    row(1, "dba3c", 500.0),
]


def test_the_best_peer_is_that_of_the_round_and_of_the_kind() -> None:
    assert best_peers(ROUNDS) == {(0, "q_learner"): 60.0, (0, "actor_critic"): 300.0, (1, "q_learner"): 50.0}
    assert ratios(ROUNDS, "gorila") == [2.0, 2.0]
    assert ratios(ROUNDS, "dba3c") == [2.0]


def test_a_line_has_medians_and_ends_and_says_what_is_missing() -> None:
    lines = table(ROUNDS).splitlines()
    figures = "2 of 2 | 110 (100 to 120) | 2.0 (2.0 to 2.0) | 0.50 | 2.00 (2.00 to 2.00)"
    assert f"| avx2, float32, AMD EPYC, 2 cores | **`gorila`** | 2 | {figures} |" in lines[2]
    (cleanrl,) = (line for line in lines if "cleanrl" in line)
    assert "| 1 of 2: exit status 1 | 60 | 2.0 |" in cleanrl
    assert lines[-1].startswith("| avx2, float32, AMD EPYC, 2 cores | **`dba3c`**")


def test_the_newest_session_of_each_processor_counts_and_two_models_of_a_class_are_two() -> None:
    newer = row(0, "gorila", 7.0, session="2026-01-03")
    others = [
        row(0, "gorila", speed, session=f"2025-01-0{day}", processor="avx512, bfloat16", cpu=cpu)
        for day, (speed, cpu) in enumerate([(9.0, "AMD EPYC"), (11.0, "Intel Xeon")], start=1)
    ]
    lines = table([*ROUNDS, newer, *others]).splitlines()[2:]
    assert [line.split(" | ")[4] for line in lines] == ["7", "9", "11"]


def test_a_contender_that_was_never_measured_has_its_reason() -> None:
    (line,) = table([row(0, "rllib_dqn", None, reason="not installed: no network")]).splitlines()[2:]
    assert "| 0 of 1: not installed: no network |  |  |  |  |" in line


def test_the_document_has_the_table_of_the_rows() -> None:
    text = PERFORMANCE.read_text()
    assert with_table(text, "peers", table(read(ROWS))) == text


def test_the_table_is_written_between_its_marks(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("a\n<!-- table: peers -->\nold\n<!-- end -->\nb\n")
    main(document, tmp_path / "none.jsonl")
    assert document.read_text() == "a\n<!-- table: peers -->\nNot measured yet.\n<!-- end -->\nb\n"
    with pytest.raises(ValueError, match="marks for none found"):
        main(ROWS.with_name("amd-epyc-2-cores.jsonl"), tmp_path / "none.jsonl")
