"""Sweeps as users start them: `python -m pipeline.train -m … hydra/launcher=dask`, on real hosts, to the end."""

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from dask_jobs.ledger import LedgerRow, read_ledger
from pipeline.config.tree import to_yaml
from pipeline.experiments.files import checkpoint
from pipeline.results.load import load_run
from tests.clusters import LIMIT_SECONDS, wait_until
from tests.experiments.commands import Start, processes_in
from tests.experiments.smoke_runs import frames_beyond, smoke_config

LONG = "# @package _global_\ndefaults:\n  - smoke_dqn\n  - _self_\nexperiment: long\nbudget:\n  frames: {frames}\n"
"""An experiment of a user's own."""


def sweep_words(results_dir: Path, *words: str) -> list[str]:
    common = ["game=Breakout", f"results_dir={results_dir}", "precision=float32", "hydra/launcher=dask"]
    return ["-m", "pipeline.train", "-m", *common, "hydra.launcher.backoff_seconds=0", *words]


def ledger(tmp_path: Path) -> list[LedgerRow]:
    return read_ledger(tmp_path / "results" / "sweeps" / "ad_hoc")


def facts(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return found


@pytest.mark.slow
def test_runs_take_the_hosts_that_they_need_one_fails_by_itself_and_the_same_command_does_only_what_is_missing(
    start: Start, tmp_path: Path
) -> None:
    results_dir = tmp_path / "runs"
    foreign = results_dir / "smoke_rainbow" / "Breakout" / "0"
    foreign.mkdir(parents=True)
    other = smoke_config(results_dir, "algorithm.discount=0.5", experiment="smoke_rainbow")
    (foreign / "config.yaml").write_text(to_yaml(other))
    experiments = "experiment=smoke_gorila,smoke_dqn,smoke_rainbow"
    hosts = ["hydra.launcher.num_hosts=2", "hydra.launcher.threads_per_host=1", "hydra.launcher.retries=0"]
    words = sweep_words(results_dir, experiments, "budget.frames=1_000", "topology.compute_threads=1", *hosts)

    command = start(*words)
    assert command.ends(LIMIT_SECONDS) != 0
    gorila, dqn, rainbow = ledger(tmp_path)
    assert (gorila.status, dqn.status, rainbow.status) == ("done", "done", "failed")
    assert rainbow.reason.startswith(f"UnfitFolderError: {foreign} cannot be resumed with other settings: algorithm.")
    assert rainbow.reason in command.printed

    of_gorila, of_dqn = (facts(results_dir / name / "Breakout" / "0") for name in ("smoke_gorila", "smoke_dqn"))
    roles = sorted(role for host in of_gorila["hosts"] for role in host["roles"])
    assert roles == ["bundle-0", "bundle-1", "shard-0", "shard-1"]
    assert all(re.match(r"tcp://127\.0\.0\.1:", host["address"]) for host in of_gorila["hosts"])
    assert [host["address"].partition("://")[0] for host in of_dqn["hosts"]] == ["inproc"]
    games = load_run(results_dir / "smoke_dqn" / "Breakout" / "0").evaluations
    assert float(dqn.return_value) == games[games["agent"] == "checkpoint"]["score"].mean()

    (foreign / "config.yaml").unlink()
    command = start(*words)
    assert command.ends(LIMIT_SECONDS) == 0, command.printed
    assert ledger(tmp_path)[:2] == [gorila, dqn]
    assert ledger(tmp_path)[2].status == "done"


@pytest.mark.slow
def test_a_sweep_that_is_killed_leaves_nothing_running_and_the_same_command_goes_on_with_its_runs(
    start: Start, tmp_path: Path
) -> None:
    results_dir, experiment = tmp_path / "runs", tmp_path / "conf" / "experiment" / "long.yaml"
    folders = [results_dir / "long" / "Breakout" / seed for seed in ("0", "1")]
    experiment.parent.mkdir(parents=True)
    # In a file, and not in the command: neither run is over before both have learned, however late the other begins.
    experiment.write_text(LONG.format(frames=4_000_000_000))
    words = [
        "--config-dir",
        str(experiment.parents[1]),
        "experiment=long",
        "seed=0,1",
        "checkpoint.every_minutes=0.005",
    ]
    words = sweep_words(results_dir, *words, "hydra.launcher.threads_per_host=2", "hydra.launcher.stop_seconds=5")

    command = start(*words)
    command.wait_until(lambda: all(_version(folder) > 0 for folder in folders), "both runs have learned")
    command.send(signal.SIGKILL)
    command.ends()
    assert [row.status for row in ledger(tmp_path)] == ["running", "running"]
    wait_until(lambda: not processes_in(tmp_path), "no process of the sweep is left")
    versions = [_version(folder) for folder in folders]

    experiment.write_text(LONG.format(frames=max(frames_beyond(folder, 2_000) for folder in folders)))
    command = start(*words)
    assert command.ends(LIMIT_SECONDS) == 0, command.printed
    assert [(row.status, row.attempts) for row in ledger(tmp_path)] == [("done", 2), ("done", 2)]
    for folder, version in zip(folders, versions, strict=True):
        assert len(facts(folder)["resumed_at"]) == 1 and _version(folder) > version
        assert load_run(folder).problems == ()


def _version(folder: Path) -> int:
    """Updates in the newest checkpoint; 0 if there is none."""
    place = folder / "checkpoints"
    return checkpoint.load_newest(place).server.version if checkpoint.any_in(place) else 0
