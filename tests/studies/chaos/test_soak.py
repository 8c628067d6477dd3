"""An hour at full speed: what is compared, and that all of a run is counted."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import psutil
import pytest

from studies.chaos.soak import HELD, WORDS, compared, looks, main, soak_rows
from studies.chaos.tables import soak_table


def looked(**columns: list[float]) -> pd.DataFrame:
    """A look each ten seconds."""
    count = len(next(iter(columns.values())))
    plain = {name: [7.0] * count for name in HELD}
    rows = {"seconds": [10.0 * i for i in range(count)], "num_frames": [9] * count, "commit": ["abc"] * count}
    return pd.DataFrame(rows | plain | columns)


def test_what_is_held_late_stands_beside_what_was_held_early_and_the_start_counts_nowhere() -> None:
    growing = looked(memory_mb=[500.0, 1.0, 1.0, 4.0, 4.0, 4.0, 9.0, 6.0, 6.0])
    flat = dict.fromkeys(("num_threads", "num_files", "num_sockets"), (7.0, 7.0))
    assert compared(growing) == {"memory_mb": (4.0, 6.0), **flat}
    table = soak_table(growing).splitlines()
    assert "| memory (MB) | 4.0 | 6.0 | +50.0% |" in table[2] and "| threads | 7.0 | 7.0 | +0.0% |" in table[3]
    assert soak_table(pd.DataFrame()) == "Not measured yet."


def test_a_command_is_counted_with_what_it_has_started_until_it_ends(tmp_path: Path) -> None:
    child = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); time.sleep(60)"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-c", program]) as command:
        rows = looks(command, tmp_path, every_seconds=0.2)
        row = next(row for row in rows if row.num_sockets == 1)
        assert row.num_processes == 2 and row.num_threads >= 2 and row.memory_mb > 5 and row.num_frames == 0
        (started,) = psutil.Process(command.pid).children()
        started.kill()
        command.wait()
        assert list(rows) == []


@pytest.mark.slow
def test_a_short_soak_has_rows_and_a_figure(tmp_path: Path) -> None:
    small = ["experiment=smoke_gorila", "game=Breakout", "replay.min_transitions=200"]
    assert not set(small) <= set(WORDS)
    figure = tmp_path / "soak.png"
    assert main(["--minutes", "0.4", "--output", str(tmp_path), "--figure", str(figure), *small]) == 0
    rows = soak_rows(tmp_path).frame()
    assert rows["num_processes"].max() >= 5 and rows["num_frames"].max() > 0 and figure.stat().st_size > 10_000
