"""Whole runs of workers in this process: what they leave behind, how they go on, and how they end at a score."""

import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from pipeline import seeding
from pipeline.config.run_config import RunConfig
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.plan import network_of
from pipeline.experiments.run import train
from pipeline.experiments.run_result import RunResult
from pipeline.results.load import LoadedRuns, load_run
from pipeline.roles import rollout_worker
from pipeline.rows import ActorCriticUpdateRow
from tests.experiments.smoke_runs import SMALL_WORKERS, frames_beyond, smoke_config

FRAMES = 3_000
"""Emulator frames: 1 000 steps, 25 updates of two batches."""


@dataclasses.dataclass(frozen=True)
class Finished:
    """A run, and what it printed."""

    folder: Path
    result: RunResult
    printed: str

    @property
    def newest(self) -> Checkpoint:
        """Where the run ended."""
        return checkpoint.load_newest(self.folder / "checkpoints")

    @property
    def loaded(self) -> LoadedRuns:
        """Its rows."""
        return load_run(self.folder)


def carry_out(results_dir: Path, *words: str, experiment: str = "smoke_dba3c") -> Finished:
    return finished(smoke_config(results_dir, *SMALL_WORKERS, *words, experiment=experiment))


def finished(config: RunConfig) -> Finished:
    output = io.StringIO()
    result = train(config, Console(file=output, width=200))
    assert result.folder is not None
    return Finished(result.folder, result, output.getvalue())


@pytest.mark.slow
def test_a_run_of_two_workers_leaves_rows_of_both_and_one_version_in_all_shards_and_can_go_on(tmp_path: Path) -> None:
    run = carry_out(tmp_path, f"budget.frames={FRAMES}")
    assert run.result.end_reason == "budget"
    assert "worker-1" in run.printed and "Breakout, smoke_dba3c, seed 0" in run.printed
    header = (run.folder / "updates.csv").read_text().partition("\n")[0]
    assert header == ",".join(field.name for field in dataclasses.fields(ActorCriticUpdateRow))

    end, loaded = run.newest, run.loaded
    assert loaded.problems == () and len(loaded.updates) == 0
    assert len(set(end.server.versions)) == 1 and len(end.server.versions) == 2
    updates = loaded.actor_critic_updates
    assert set(updates["role"]) == {"worker-0", "worker-1"}
    # The gradient of one worker may wait for the other's at the end.
    assert updates["num_admitted"].sum() - 2 * end.server.version in (0, 1)
    assert (updates["num_updates"] == updates["num_admitted"]).all()
    assert set(loaded.episodes["role"]) <= {"worker-0", "worker-1"} and loaded.episodes["truncated"].any()
    assert dict(loaded.evaluations.groupby("agent").size()) == {"checkpoint": 2, "random": 2}
    assert json.loads((run.folder / "run.json").read_text())["total_frames"] == end.num_steps * 3

    again = carry_out(tmp_path, f"budget.frames={FRAMES}", "resume=true")
    assert str(again.result) == str(run.result) and "has reached its budget: raise budget.frames" in again.printed

    budget = frames_beyond(run.folder, FRAMES)
    resumed = carry_out(tmp_path, f"budget.frames={budget}", "resume=true")
    later = resumed.newest
    assert f"resumed at update {end.server.version:,}, {end.num_steps * 3:,} frames" in resumed.printed
    assert later.num_steps * 3 >= budget and later.generation > end.generation
    assert len(set(later.server.versions)) == 1 and later.server.version > end.server.version
    rows = resumed.loaded.actor_critic_updates
    assert rows.iloc[: len(updates)].equals(updates)
    assert rows.iloc[len(updates) :]["version"].min() >= end.server.version
    assert rows.iloc[len(updates) :]["wall_seconds"].min() > end.wall_seconds


@pytest.mark.slow
def test_synchronous_workers_without_backups_learn_the_same_however_they_are_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollout_worker, "UPDATES_PER_ROW", 5)
    learned = ["num_admitted", "mean_policy_loss", "mean_value_loss", "mean_entropy", "mean_gradient_norm"]
    words = ("topology.num_workers=3", f"budget.frames={2 * FRAMES}")
    straggling = ("topology.stragglers=[[1,exponential,0.005],[2,constant,0.002]]",)
    first, second = (
        carry_out(tmp_path / name, *words, *more).loaded.actor_critic_updates
        for name, more in (("first", ()), ("second", straggling))
    )
    # Runs end when somebody has seen that their budget is spent: one may make a few updates more.
    common = min(first["version"].max(), second["version"].max()) - 5
    first, second = (
        rows[rows["version"] <= common].sort_values(["role", "version"])[["role", "version", *learned]]
        for rows in (first, second)
    )
    assert len(first) > 10 and first["mean_gradient_norm"].nunique() > 10
    assert first.to_numpy().tolist() == second.to_numpy().tolist()


@pytest.mark.slow
def test_one_worker_in_one_process_is_the_same_run_by_that_word_alone(tmp_path: Path) -> None:
    run = carry_out(tmp_path, "topology=single", f"budget.frames={FRAMES}")
    assert set(run.loaded.actor_critic_updates["role"]) == {"worker-0"}
    assert run.newest.server.versions == (FRAMES // 3 // 20,) * 2
    assert run.newest.progress.keys() == {"worker-0"}
    assert FRAMES // 3 <= run.newest.num_steps < FRAMES // 3 + 20, "the last batch may have some to spare"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [(), ("topology.num_workers=1", "topology.num_backup_workers=1"), ("topology=single",)]
)
def test_workers_learn_values_in_a_quorum_with_a_backup_or_alone_and_go_on(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    small = (*SMALL_WORKERS[1:], "network.layer_norm=true", *words)

    def carry_on(*more: str) -> Finished:
        return finished(smoke_config(tmp_path, *small, *more, experiment="smoke_pqn"))

    run = carry_on("budget.frames=4_000")
    end, updates = run.newest, run.loaded.updates
    assert run.result.end_reason == "budget" and run.loaded.problems == ()
    assert len(run.loaded.actor_critic_updates) == 0 and len(updates) > 1
    assert (updates["num_updates"] == updates[["num_admitted", "num_dropped_stale", "num_refused"]].sum(axis=1)).all()
    assert np.isfinite(updates[["mean_loss", "mean_q", "heldout_max_q"]].to_numpy()).all()
    assert updates["epsilon"].iloc[-1] == pytest.approx(0.001), "it has fallen within a tenth of the budget"
    assert dict(run.loaded.evaluations.groupby("agent").size()) == {"checkpoint": 2, "random": 2}

    resumed = carry_on("resume=true", f"budget.frames={frames_beyond(run.folder, 4_000)}")
    later = resumed.loaded.updates.iloc[len(updates) :]
    assert resumed.newest.server.version > end.server.version and later["version"].min() >= end.server.version
    assert (later["epsilon"] < 0.01).all(), "a share of the budget never falls"


@pytest.mark.slow
def test_without_a_quorum_each_gradient_of_a_run_is_an_update(tmp_path: Path) -> None:
    run = carry_out(tmp_path, "topology.sync=false", f"budget.frames={FRAMES}")
    updates = run.loaded.actor_critic_updates
    assert set(run.newest.server.versions) == {updates["num_admitted"].sum()} == {updates["num_updates"].sum()}


@pytest.mark.slow
def test_a_run_ends_at_its_score_and_plays_its_best_parameters_again_in_other_games(tmp_path: Path) -> None:
    # Of Breakout any score is at least 0.
    words = [
        "budget.frames=4_000_000_000",
        "training_evaluation.every_frames=900",
        "training_evaluation.num_episodes=3",
    ]
    run = carry_out(tmp_path, "budget.score=0", *words)
    assert run.result.end_reason == "score"
    assert json.loads((run.folder / "run.json").read_text())["end_reason"] == "score"
    evaluations = run.loaded.evaluations
    games = evaluations.groupby("agent")
    assert dict(games.size()) == {"best": 2, "checkpoint": 2, "random": 2, "training": 3}
    seeds = {agent: set(of_agent["episode_seed"]) for agent, of_agent in games}
    assert not seeds["training"] & seeds["best"] and not seeds["training"] & seeds["checkpoint"]
    versions = {agent: set(of_agent["version"]) for agent, of_agent in games}
    assert versions["best"] == versions["training"] and versions["checkpoint"] == {run.newest.server.version}
    assert games.get_group("training")["total_frames"].min() >= 900
    best = checkpoint.load_newest(run.folder / "checkpoints" / "best")
    assert {best.server.version} == versions["best"] and len(set(best.server.versions)) == 1
    assert "evaluation at " in run.printed and "evaluator" in run.printed

    again = carry_out(tmp_path, "budget.score=0", *words, "resume=true")
    assert (
        str(again.result) == str(run.result) and "has reached its score: raise budget.score to go on" in again.printed
    )
    # As a run that is killed while it plays its final evaluation leaves it.
    facts = json.loads((run.folder / "run.json").read_text())
    (run.folder / "run.json").write_text(json.dumps(facts | {"end_reason": None}))
    killed = carry_out(tmp_path, "budget.score=0", *words, "resume=true")
    assert killed.result.end_reason == "score" and "resumed at update" in killed.printed
    games = killed.loaded.evaluations.groupby("agent")
    assert len(games.get_group("training")) == 3, "it was trained no further"
    assert killed.newest.server.version in set(games.get_group("checkpoint")["version"])
    higher = carry_out(tmp_path, "budget.score=1000", "budget.minutes=0.00001", *words, "resume=true")
    assert higher.result.end_reason == "budget" and "resumed at update" in higher.printed


@pytest.mark.slow
def test_the_smoke_experiment_as_it_is_written_learns_something(tmp_path: Path) -> None:
    config = smoke_config(tmp_path, experiment="smoke_dba3c")
    result = train(config, Console(file=io.StringIO()))
    assert result.folder is not None and result.end_reason == "budget"
    newest = checkpoint.load_newest(result.folder / "checkpoints").server
    assert newest.version > 10 and np.isfinite(newest.params).all()
    begun = network_of(config).initial_parameters(seeding.stream(config.seed, "parameters"))
    assert np.abs(newest.params - begun).max() > 1e-3, "ten steps of a rate of 5e-4"
