"""The benchmark of random play on one game: rows for both frame skips, a table, and nothing played twice."""

import csv
import json
from pathlib import Path

import pytest

from studies import random_play


@pytest.mark.slow
def test_random_play_leaves_rows_and_a_table_and_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--games", "Breakout", "--output", str(tmp_path), "--overrides", "evaluation.num_episodes=2"]
    random_play.main(arguments)
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{"))
    assert [line["frame_skip"] for line in (first, second)] == [6, 4]
    for skip in (6, 4):
        with (tmp_path / f"frame_skip_{skip}.csv").open(newline="") as file:
            header, *rows = csv.reader(file)
        assert len(header) == len(set(header))
        for row in (dict(zip(header, row, strict=True)) for row in rows):
            assert (row["game"], row["agent"], row["frame_skip"]) == ("Breakout", "random", str(skip))
            assert row["min_frame_skip"] == str(skip) and row["epsilon"] == "1.0" and row["commit"]
        assert len(rows) == 2
    table = (tmp_path / "random_play.md").read_text()
    (breakout,) = [line for line in table.splitlines() if line.startswith("| Breakout ")]
    assert "missing" not in breakout and "frame skip 6: agrees" in table
    random_play.main(arguments)
    assert "{" not in capsys.readouterr().out
    random_play.main([*arguments, "--frame-skips", "6"])
    assert (tmp_path / "random_play.md").read_text() == table, "a part of it does not take the place of the whole"
