"""Whole runs in this process: what they leave behind, how they go on, and that the baseline is the smallest fleet."""

import errno
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from rich.console import Console

from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.config.run_config import RunConfig
from pipeline.errors import CheckpointError, DiskError, PipelineError, RoleFailedError, RunFolderError
from pipeline.experiments import run
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.life import INTERRUPTED, Life
from pipeline.experiments.meter import RunMeter
from pipeline.experiments.run import train
from pipeline.experiments.run_result import RunResult
from pipeline.experiments.specs import q_role_spec
from pipeline.networks.instructions import instructions
from pipeline.numbered_files import path_of
from pipeline.param_server.snapshot import first_snapshot
from pipeline.results import table
from pipeline.results.load import load_run
from pipeline.roles.bundle import Bundle
from tests.experiments.smoke_runs import frames_beyond, smoke_config
from tests.roles.wiring import Wired

FRAMES = 12_000
"""Emulator frames: long enough that both bundles have started and finished games, whichever host is slow."""


class Finished(NamedTuple):
    """A run, and what it printed."""

    results_dir: Path
    result: RunResult
    printed: str

    @property
    def folder(self) -> Path:
        """Where the run is."""
        assert self.result.folder is not None
        return self.result.folder

    @property
    def newest(self) -> Checkpoint:
        """Where the run ended."""
        return checkpoint.load_newest(self.folder / "checkpoints")


def carry_out(results_dir: Path, config: RunConfig) -> Finished:
    output = io.StringIO()
    result = train(config, Console(file=output, width=200))
    return Finished(results_dir, result, output.getvalue())


@pytest.fixture(scope="module")
def gorila(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """smoke_gorila: two bundles and two shards."""
    results_dir = tmp_path_factory.mktemp("gorila")
    return carry_out(results_dir, smoke_config(results_dir, f"budget.frames={FRAMES}"))


@pytest.fixture
def copy_of_gorila(gorila: Finished, tmp_path: Path) -> Finished:
    """The same, for a test that goes on with it."""
    results_dir = tmp_path / "copy"
    shutil.copytree(gorila.results_dir, results_dir)
    folder = results_dir / gorila.folder.relative_to(gorila.results_dir)
    return Finished(results_dir, gorila.result._replace(folder=folder), gorila.printed)


def test_a_run_leaves_its_folder_and_nothing_else(gorila: Finished) -> None:
    assert gorila.folder == gorila.results_dir / "smoke_gorila" / "Breakout" / "0"
    names = {str(path.relative_to(gorila.results_dir)) for path in gorila.results_dir.rglob("*") if path.is_file()}
    inside = {str(Path(name).relative_to("smoke_gorila/Breakout/0")) for name in names}
    checkpoints = {name for name in inside if name.startswith("checkpoints/")}
    recordings = {name for name in inside if name.startswith("recordings/")}
    # What the run said, and changes of the code, are there if there are any.
    assert inside - checkpoints - recordings - {"log.txt", "code.diff"} == {
        "config.yaml", "run.json", "episodes.csv", "updates.csv", "evaluations.csv",
    }  # fmt: skip
    assert recordings == {
        f"recordings/smoke_checkpoint_{gorila.newest.server.version:012d}.npz",
        "recordings/smoke_random_000000000000.npz",
    }
    assert 1 <= len(checkpoints) <= 2


def test_a_run_s_rows_tell_of_both_bundles_and_of_the_final_evaluation(gorila: Finished) -> None:
    loaded = load_run(gorila.folder)
    assert loaded.problems == ()
    updates = loaded.updates
    assert set(updates["role"]) == {"bundle-0", "bundle-1"}
    assert len(loaded.episodes) and (loaded.episodes["total_frames"] <= 2 * FRAMES).all()
    parts = updates["num_admitted"] + updates["num_dropped_stale"] + updates["num_dropped_outlier"]
    assert (updates["num_updates"] == parts + updates["num_refused"]).all()
    # On a busy machine one shard may find a gradient stale that the other admits.
    num_admitted, num_stale = (updates[f"num_{name}"].sum() for name in ("admitted", "dropped_stale"))
    assert all(num_admitted <= version <= num_admitted + num_stale for version in gorila.newest.server.versions)
    games = loaded.evaluations.groupby("agent").size()
    assert dict(games) == {"checkpoint": 2, "random": 2}
    assert set(loaded.evaluations["protocol"]) == {"smoke"}


def test_run_json_says_what_ran_where_and_why_it_ended(gorila: Finished) -> None:
    said = json.loads((gorila.folder / "run.json").read_text())
    assert said["end_reason"] == gorila.result.end_reason == "budget"
    assert said["total_frames"] == gorila.newest.num_steps * 4 >= FRAMES
    assert said["wall_seconds"] == pytest.approx(gorila.newest.wall_seconds, abs=1e-3) and said["wall_seconds"] > 0
    assert said["resumed_at"] == [] and said["precision"] == "float32"
    assert [host["roles"] for host in said["hosts"]] == [["bundle-0", "shard-0"], ["bundle-1", "shard-1"]]
    assert {host["instructions"] for host in said["hosts"]} == {instructions()}
    assert {"python", "torch", "ale-py"} < said["versions"].keys()


def test_a_run_prints_its_plan_its_dashboard_and_its_table(gorila: Finished) -> None:
    in_order = [
        "plan of smoke_gorila",
        "dashboard http://127.0.0.1:",
        "final evaluation: 2 games of each player under smoke",
        "Breakout, smoke_gorila, seed 0",
        "the agent scores ",
        "results in ",
    ]
    places = [gorila.printed.index(words) for words in in_order]
    assert places == sorted(places)
    assert "random" in gorila.printed[places[-3] :]
    assert "this machine now makes" not in gorila.printed, "a run of seconds is not rehearsed"


def test_a_run_that_has_spent_its_budget_says_so_and_changes_nothing(copy_of_gorila: Finished) -> None:
    before = {path: path.read_bytes() for path in copy_of_gorila.folder.rglob("*.csv")}
    config = smoke_config(copy_of_gorila.results_dir, f"budget.frames={FRAMES}", "resume=true")
    again = carry_out(copy_of_gorila.results_dir, config)
    # As text: bounds of an interval that is unknown, NaN, are not equal.
    assert str(again.result) == str(copy_of_gorila.result)
    assert "has reached its budget: raise budget.frames" in again.printed
    assert {path: path.read_bytes() for path in again.folder.rglob("*.csv")} == before


@pytest.mark.slow
def test_a_run_whose_final_evaluation_was_skipped_plays_it_when_it_is_resumed(copy_of_gorila: Finished) -> None:
    evaluations = copy_of_gorila.folder / "evaluations.csv"
    evaluations.write_text(evaluations.read_text().partition("\n")[0] + "\n")
    config = smoke_config(copy_of_gorila.results_dir, f"budget.frames={FRAMES}", "resume=true")
    trained = [copy_of_gorila.folder / name for name in ("updates.csv", "episodes.csv")]
    before = [path.read_bytes() for path in trained]
    again = carry_out(copy_of_gorila.results_dir, config)
    assert str(again.result) == str(copy_of_gorila.result)
    assert "resumed at update" in again.printed
    assert "building" not in again.printed and "filled anew" not in again.printed, "no role starts"
    assert [path.read_bytes() for path in trained] == before
    assert set(load_run(copy_of_gorila.folder).evaluations["agent"]) == {"checkpoint", "random"}


@pytest.mark.slow
def test_another_protocol_s_games_are_no_final_evaluation(copy_of_gorila: Finished) -> None:
    path = copy_of_gorila.folder / "evaluations.csv"
    path.write_text(path.read_text().replace("smoke,checkpoint", "sticky,checkpoint"))
    again = carry_out(
        copy_of_gorila.results_dir, smoke_config(copy_of_gorila.results_dir, f"budget.frames={FRAMES}", "resume=true")
    )
    assert "final evaluation" in again.printed
    assert set(load_run(again.folder).evaluations["protocol"]) == {"smoke", "sticky"}


def test_a_run_that_ends_with_a_role_s_error_keeps_what_it_had_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Bundle.step

    def breaks_down(bundle: Bundle) -> None:
        if bundle.progress().num_updates > 40:
            raise ValueError("a cosmic ray")
        step(bundle)

    monkeypatch.setattr(Bundle, "step", breaks_down)
    with pytest.raises(RoleFailedError, match="a cosmic ray"):
        carry_out(tmp_path, smoke_config(tmp_path))
    (folder,) = (path.parent for path in tmp_path.rglob("run.json"))
    assert json.loads((folder / "run.json").read_text())["end_reason"].startswith("error: bundle-")
    assert checkpoint.load_newest(folder / "checkpoints").server.version > 20


def test_a_run_that_ends_with_an_error_that_nobody_foresaw_keeps_what_it_had_learned_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(coordinator: Coordinator) -> None:
        if any(role.version > 20 for role in coordinator.progress().values()):
            raise ZeroDivisionError("a cosmic ray")

    monkeypatch.setattr(Coordinator, "check", check)
    output = io.StringIO()
    with pytest.raises(ZeroDivisionError, match="a cosmic ray"):
        train(smoke_config(tmp_path), Console(file=output, width=200))
    (folder,) = (path.parent for path in tmp_path.rglob("run.json"))
    assert json.loads((folder / "run.json").read_text())["end_reason"] == "error: ZeroDivisionError: a cosmic ray"
    version = checkpoint.load_newest(folder / "checkpoints").server.version
    assert version > 10 and f"saved as it was at update {version:,}" in output.getvalue()


@pytest.mark.slow
def test_a_run_whose_folder_is_deleted_says_so_and_leaves_no_half_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, check = smoke_config(tmp_path), Coordinator.check

    def delete_and_check(coordinator: Coordinator) -> None:
        if any(role.version > 20 for role in coordinator.progress().values()):
            shutil.rmtree(config.folder, ignore_errors=True)
        check(coordinator)

    monkeypatch.setattr(Coordinator, "check", delete_and_check)
    with pytest.raises(PipelineError, match=r"rows could not be written: .* was deleted or moved away while its run"):
        train(config, Console(file=io.StringIO()))
    assert not config.folder.exists()


@pytest.mark.slow
def test_a_run_that_makes_no_step_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = iter([None])  # before roles start; told to end as soon as they have
    monkeypatch.setattr(Life, "end_reason", lambda *_: next(reasons, INTERRUPTED))
    monkeypatch.setattr(Bundle, "step", lambda _: None)
    finished = carry_out(tmp_path, smoke_config(tmp_path))
    assert finished.newest.num_steps == 0
    assert "no role has made a step since this start: what is scored is what was there before" in finished.printed


@pytest.mark.slow
def test_nothing_that_is_only_shown_ends_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a cosmic ray")

    for owner, name in ((RunMeter, "glance"), (RunMeter, "see"), (table, "game_table"), (run, "register")):
        monkeypatch.setattr(owner, name, fails)
    finished = carry_out(tmp_path, smoke_config(tmp_path, "budget.frames=2_000"))
    assert finished.result.end_reason == "budget"
    for what in ("showing the progress", "measuring the progress", "the table", "the dashboard"):
        assert finished.printed.count(f"warning: {what} failed, and the run goes on: ZeroDivisionError: a cosmic") == 1


def test_a_run_goes_on_from_a_folder_that_a_crash_has_damaged(copy_of_gorila: Finished) -> None:
    folder, sound = copy_of_gorila.folder, copy_of_gorila.newest
    newest = path_of(folder / "checkpoints", sound.server.version)
    lost = sound.server._replace(
        versions=(sound.server.version + 1,) * 2,
        params=sound.server.params.astype(np.float64),
    )
    damaged = checkpoint.save(folder / "checkpoints", sound._replace(server=lost), keep=9)
    assert newest.exists()
    (folder / "run.json").write_bytes(b"")
    with (folder / "episodes.csv").open("ab") as file:
        file.write(b"bundle-0,1,\xff\x00\n")
    config = smoke_config(copy_of_gorila.results_dir, f"budget.frames={FRAMES}", "resume=true")
    resumed = carry_out(copy_of_gorila.results_dir, config)
    assert f"{damaged.name} cannot be read: params holds" in resumed.printed.replace("\n", "")
    assert "run.json was moved to" in resumed.printed.replace("\n", " ")
    assert f"resumed at update {sound.server.version:,}" in resumed.printed
    assert load_run(folder).problems == () and json.loads((folder / "run.json").read_text())["end_reason"] == "budget"


@pytest.mark.slow
def test_the_score_after_going_back_is_of_what_was_trained_then(copy_of_gorila: Finished) -> None:
    lost = copy_of_gorila.newest.server.version
    path_of(copy_of_gorila.folder / "checkpoints", lost).write_bytes(b"damaged")
    config = smoke_config(copy_of_gorila.results_dir, f"budget.frames={FRAMES // 2}", "resume=true")
    resumed = carry_out(copy_of_gorila.results_dir, config)
    end, games = resumed.newest.server.version, load_run(resumed.folder).evaluations
    scored = games[games["agent"] == "checkpoint"]
    assert end < lost and set(scored["version"]) == {end}
    assert resumed.result.score is not None and resumed.result.score.mean == pytest.approx(scored["score"].mean())
    assert (resumed.folder / "discarded" / "checkpoints" / f"{lost:012d}.npz").read_bytes() == b"damaged"
    assert f"_{lost:012d}" not in " ".join(path.name for path in (resumed.folder / "recordings").iterdir())


def test_checkpoints_none_of_which_fits_are_told_before_a_host_is_there(
    copy_of_gorila: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = first_snapshot(np.zeros(1_000, np.float32))
    shutil.rmtree(copy_of_gorila.folder / "checkpoints")
    checkpoint.save(copy_of_gorila.folder / "checkpoints", Checkpoint(few, {}, 1), keep=1)
    monkeypatch.setattr(run, "open_session", None)
    config = smoke_config(copy_of_gorila.results_dir, "resume=true")
    with pytest.raises(CheckpointError, match=r"holds 1,000 parameters, the network has .* to begin anew: overwrite"):
        carry_out(copy_of_gorila.results_dir, config)


@pytest.mark.slow
def test_a_resumed_run_goes_on_where_its_checkpoint_is(copy_of_gorila: Finished) -> None:
    before, start = load_run(copy_of_gorila.folder), copy_of_gorila.newest
    budget = frames_beyond(copy_of_gorila.folder, FRAMES)
    config = smoke_config(copy_of_gorila.results_dir, f"budget.frames={budget}", "resume=true")
    resumed = carry_out(copy_of_gorila.results_dir, config)
    assert f"resumed at update {start.server.version:,}, {start.num_steps * 4:,} frames; the replay is filled anew" in (
        resumed.printed
    )
    end, after = resumed.newest, load_run(resumed.folder)
    assert end.num_steps * 4 >= budget and end.generation > start.generation
    assert end.server.version > start.server.version and end.wall_seconds > start.wall_seconds
    for role in ("bundle-0", "bundle-1"):
        assert end.progress[role].num_steps > start.progress[role].num_steps
        assert end.progress[role].epsilon <= start.progress[role].epsilon
    rows = after.updates
    assert after.problems == () and rows.iloc[: len(before.updates)].equals(before.updates)
    new = rows.iloc[len(before.updates) :]
    assert len(new) and new["version"].min() > start.server.version
    assert new["wall_seconds"].min() > start.wall_seconds
    assert dict(after.evaluations.groupby("agent").size()) == {"checkpoint": 4, "random": 2}
    assert len(json.loads((resumed.folder / "run.json").read_text())["resumed_at"]) == 1


def test_a_plan_starts_nothing_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "open_session", lambda *_: pytest.fail("a cluster was started"))
    planned = carry_out(tmp_path, smoke_config(tmp_path, "plan=true"))
    assert planned.result == RunResult(None, "plan") and "bundle-1" in planned.printed
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_full_is_told_from_python_as_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run, "open_session", refuse)
    config = smoke_config(tmp_path)
    with pytest.raises(DiskError, match=f"{config.folder} could not be written: No space left on device; make room"):
        carry_out(tmp_path, config)


def test_a_taken_folder_is_refused_before_a_cluster_is_started(
    copy_of_gorila: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "open_session", lambda *_: pytest.fail("a cluster was started"))
    with pytest.raises(RunFolderError, match="overwrite=true"):
        carry_out(copy_of_gorila.results_dir, smoke_config(copy_of_gorila.results_dir))


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["rmsprop", "adagrad", "adam"])
def test_dqn_equals_gorila_with_one_bundle_and_one_shard_and_both_equal_the_roles_wired_by_hand(
    optimizer: str, tmp_path: Path
) -> None:
    same = [f"budget.frames={FRAMES}", f"optimizer={optimizer}", "evaluation.num_episodes=1"]
    smallest = [
        "topology.num_bundles=1", "topology.compute_threads=1", "param_server.num_shards=1",
        "param_server.max_staleness=null", "algorithm.outlier_deviations=null",
    ]  # fmt: skip
    dqn = smoke_config(tmp_path, *same, "topology.compute_threads=1", experiment="smoke_dqn")
    gorila = smoke_config(tmp_path, *same, *smallest)
    ends = [carry_out(tmp_path, config).newest for config in (dqn, gorila)]
    bundle = q_role_spec(dqn, generation=1)
    bundle = replace(bundle, place=replace(bundle.place, role="bundle-0"))
    by_hand = Wired(bundle, dqn.optimizer).run(FRAMES // 4)
    assert by_hand.version > 50
    for end in ends:
        np.testing.assert_equal(end.server._asdict(), by_hand._asdict())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("topology", "learners", "players"),
    [("single", {"bundle-0"}, {"bundle-0"}), ("global", {"learner-0"}, {"actor-0", "actor-1"})],
)
def test_the_same_run_goes_in_another_topology_by_that_word_alone(
    topology: str, learners: set[str], players: set[str], tmp_path: Path
) -> None:
    run = carry_out(tmp_path, smoke_config(tmp_path, f"topology={topology}", f"budget.frames={FRAMES}"))
    loaded = load_run(run.folder)
    assert set(loaded.updates["role"]) == learners
    assert set(loaded.episodes["role"]) <= players
    assert run.newest.server.versions[0] == run.newest.server.versions[1] > 100
    assert run.newest.progress.keys() == learners | players
    shares = [progress.budget_share for progress in run.newest.progress.values()]
    # Roles that share two busy cores do not come equally far.
    assert all(0.0 < share <= 1.0 for share in shares) and max(shares) > 0.5
