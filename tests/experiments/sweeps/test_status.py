"""What a sweep's status reads of the runs under way."""

import io
from pathlib import Path
from typing import Any

import pytest

from dask_jobs.ledger import Ledger, LedgerRow
from pipeline.experiments.sweeps.status import RunSight, read_sweep
from tests.experiments.smoke_runs import smoke_config
from tests.results.run_folders import append_rows, episode, update

_FRAMES = 6_000


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """One job under way, whose files of rows have become long."""
    folder, words = tmp_path / "sweeps" / "one", f"results_dir={tmp_path / 'runs'} budget.frames={_FRAMES}"
    ledger = Ledger.open(folder)
    ledger.write(LedgerRow(0, f"experiment=smoke_gorila game=Breakout {words}")._replace(status="running", attempts=1))
    ledger.close()
    run = folder_of_run(tmp_path)
    run.mkdir(parents=True)
    append_rows(run, [update(total_frames=10), episode(1.0)])
    for name in ("updates.csv", "episodes.csv"):
        header, row = (run / name).read_text().splitlines()
        (run / name).write_text("\n".join([header, *[row] * (8_000_000 // len(row))]) + "\n")
    newest = [update(role=f"bundle-{role}", total_frames=_FRAMES // 2, steps_per_second=100.0) for role in (0, 1)]
    append_rows(run, [*newest, *(episode(3.0) for _ in range(100))])
    return folder


@pytest.fixture
def num_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of each read of a file of rows."""
    counts: list[int] = []

    class Counted(io.FileIO):
        def readinto(self, buffer: Any) -> int | None:
            count = super().readinto(buffer)
            counts.append(count or 0)
            return count

        def readall(self) -> bytes:
            data = super().readall()
            counts.append(len(data))
            return data

    whole = Path.open

    def opened(path: Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        if mode == "rb" and path.name in ("updates.csv", "episodes.csv"):
            return io.BufferedReader(Counted(path, mode))
        return whole(path, mode, *arguments, **named)

    monkeypatch.setattr(Path, "open", opened)
    return counts


def folder_of_run(tmp_path: Path) -> Path:
    return smoke_config(tmp_path / "runs").folder


def sight_of(sweep: Path) -> RunSight:
    (job,) = read_sweep(sweep).jobs
    assert job.run is not None
    return job.run


def test_of_long_files_no_more_is_read_than_their_ends(sweep: Path, num_read: list[int]) -> None:
    sight = sight_of(sweep)
    # Of the first role the newest row alone counts.
    assert (sight.fraction, sight.steps_per_second, sight.mean_score) == (0.5, 200.0, 3.0)
    assert 0 < sum(num_read) < 5_000_000


def test_files_that_nobody_has_written_since_are_not_read_again(
    sweep: Path, num_read: list[int], tmp_path: Path
) -> None:
    before = sight_of(sweep)
    num_read.clear()
    assert sight_of(sweep)._replace(silent_seconds=0.0) == before._replace(silent_seconds=0.0)
    assert num_read == []
    append_rows(folder_of_run(tmp_path), [update(total_frames=_FRAMES)])
    num_read.clear()
    assert sight_of(sweep).fraction == 1.0 and num_read
