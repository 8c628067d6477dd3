"""A sweep over two machines with addresses of their own, one of whose runs needs both."""

import json
import re
from pathlib import Path

import pytest

from dask_jobs.ledger import read_ledger
from pipeline.results.load import load_run
from tests.clusters import LIMIT_SECONDS
from tests.experiments.commands import Start
from tests.experiments.machines import StartedDask, two_machines


@pytest.mark.slow
def test_a_sweep_uses_the_hosts_of_two_machines_side_by_side_and_for_one_run(start: Start, tmp_path: Path) -> None:
    results_dir = tmp_path / "runs"
    with two_machines() as machines:
        first, second = machines
        dask = StartedDask(start, first)
        for machine in machines:
            dask.host_on(machine)
        command = start(
            *("-m", "pipeline.train", "-m", "experiment=smoke_dqn,smoke_gorila", "seed=0,1", "game=Breakout"),
            *("budget.frames=1_000", "topology.compute_threads=1", f"results_dir={results_dir}"),
            *(
                "hydra/launcher=dask",
                "cluster=address",
                f"cluster.address={dask.address}",
                "hydra.launcher.num_hosts=2",
            ),
            prefix=first.words(),
        )
        assert command.ends(LIMIT_SECONDS) == 0, command.printed
        dask.end()

    rows = read_ledger(tmp_path / "results" / "sweeps" / "ad_hoc")
    assert [row.status for row in rows] == ["done"] * 4
    # Runs of one host: both start at once, so that each has a machine.
    assert {_machine(row.host) for row in rows[:2]} == {first.address, second.address}
    for seed in ("0", "1"):
        folder = results_dir / "smoke_gorila" / "Breakout" / seed
        found = json.loads((folder / "run.json").read_text())["hosts"]
        assert {_machine(host["address"]) for host in found} == {first.address, second.address}
        assert load_run(folder).problems == ()


def _machine(address: str) -> str:
    (found,) = re.findall(r"^tcp://([\d.]+):\d+$", address)
    return str(found)
