"""Two machines that lose sight of each other, where packets vanish and no connection breaks, and that meet again."""

import re
import signal
from pathlib import Path

import pytest

from pipeline.experiments.files import checkpoint
from pipeline.results.load import load_run
from tests.experiments.commands import Start
from tests.experiments.machines import StartedDask, two_machines
from tests.experiments.smoke_runs import smoke_words

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("num_shards", [1, 2])
def test_a_run_whose_machines_lose_sight_of_each_other_goes_on_with_those_it_sees(
    start: Start, tmp_path: Path, num_shards: int
) -> None:
    folder = tmp_path / "runs" / "smoke_gorila" / "Breakout" / "0"
    with two_machines() as machines:
        first, second = machines
        dask = StartedDask(start, first)
        for machine in (second, first):
            dask.host_on(machine)
        run = start(
            *("-m", "pipeline.train", *smoke_words(tmp_path / "runs"), "progress=lines"),
            *("cluster=address", f"cluster.address={dask.address}", "cluster.num_hosts=2", "topology.num_bundles=2"),
            *(f"param_server.num_shards={num_shards}", "topology.shards=beside"),
            *("budget.frames=4_000_000_000", "checkpoint.every_minutes=0.05", "checkpoint.memory_seconds=1"),
            prefix=first.words(),
        )
        run.wait_until(lambda: checkpoint.newest_version(folder / "checkpoints") > 0, "a checkpoint with updates")
        second.unplug()
        dask.host_on(first)
        run.wait_until(lambda: re.search(r"was lost|is lost", run.printed), "word of the loss")
        lost_at = checkpoint.newest_version(folder / "checkpoints")
        run.wait_until(lambda: checkpoint.newest_version(folder / "checkpoints") > lost_at, "a later checkpoint")
        second.plug_in()
        met_at = checkpoint.newest_version(folder / "checkpoints")
        run.wait_until(lambda: checkpoint.newest_version(folder / "checkpoints") > met_at, "it goes on")
        run.send(signal.SIGINT)
        assert run.ends() == 0, run.printed
        assert "Traceback" not in run.printed, run.printed
        dask.end()
    ended = load_run(folder)
    assert ended.runs["end_reason"].item() == "interrupted" and ended.problems == ()
    # Nothing of the time that was lost is there twice.
    assert not ended.episodes.duplicated(["role", "total_frames", "wall_seconds"]).any()
