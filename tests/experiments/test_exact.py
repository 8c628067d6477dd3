"""Deterministic runs: each equals itself, and one that was cut and resumed equals one that was not, bit for bit."""

import csv
import dataclasses
import hashlib
import io
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from pipeline.errors import CheckpointError, ConfigError
from pipeline.experiments import run
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.exact import EXACT
from pipeline.experiments.run import train
from pipeline.results.load import load_run
from pipeline.roles.bundle import Bundle
from tests.experiments.commands import Start
from tests.experiments.smoke_runs import SMALL_WORKERS, frames_beyond, smoke_config, smoke_words

TIMES = {"wall_seconds", "steps_per_second", "updates_per_second", "waited_seconds", "max_pause_seconds"}
"""Columns that no two runs have alike."""

SMALL = ["environment.max_frames=400", "evaluation.num_episodes=2", "evaluation.environment.max_frames=60"]
STICKY = ["environment.sticky_probability=0.25"]
Q_LEARNING = [
    *SMALL,
    "topology.num_lanes=4",
    "topology.compute_threads=1",
    "replay.capacity=900",
    "network.hidden_units=16",
]
OF_UPDATES = ["algorithm.exploration.decay_share=null", "algorithm.exploration.decay_updates=40"]
"""Epsilon that does not follow the budget, which is another one in each part of a run that is cut."""
ACTOR_CRITIC = [*SMALL_WORKERS, *SMALL, "topology.compute_threads=1"]

SYSTEMS = {
    "dqn": ("smoke_dqn", Q_LEARNING, 1),
    "rainbow": ("smoke_rainbow", Q_LEARNING, 1),
    "ba3c": ("smoke_dba3c", [*ACTOR_CRITIC, "topology=single"], 1),
    "dba3c": ("smoke_dba3c", ACTOR_CRITIC, 2),
    "dba3c_clip": ("smoke_dba3c_clip", ACTOR_CRITIC, 2),
    "pqn": ("smoke_pqn", [*SMALL, *OF_UPDATES], 2),
    "gorila": ("smoke_gorila", Q_LEARNING, 2),
    "gorila with factors": ("smoke_gorila", [*Q_LEARNING, "param_server.wire=factors"], 2),
    "quantile": ("smoke_gorila_quantile", [*Q_LEARNING, "algorithm.munchausen=true", "network.num_quantiles=20"], 2),
}
"""Name -> experiment, settings, and its roles."""


@dataclasses.dataclass(frozen=True)
class Left:
    """What a run left: hashes of all its state, and its rows."""

    state: dict[str, str]
    rows: dict[str, list[list[str]]]


def carry_out(folder: Path, system: str, frames: int, *words: str) -> str:
    experiment, settings, _ = SYSTEMS[system]
    output = io.StringIO()
    given = [*settings, *STICKY, f"budget.frames={frames}", "deterministic=true", *words]
    train(smoke_config(folder, *given, experiment=experiment), Console(file=output, width=200))
    return output.getvalue()


def left_by(results: Path) -> Left:
    (folder,) = {path.parent for path in results.rglob("config.yaml")}
    checkpoints = folder / "checkpoints"
    state: dict[str, str] = {}
    newest = max(int(path.stem) for path in (checkpoints / "exact").glob("*.npz"))
    for path in [f"{newest:012d}.npz", f"exact/{newest:012d}.npz"]:
        with np.load(checkpoints / path) as arrays:
            state |= {f"{path}/{name}": digest(arrays[name]) for name in arrays.files if name != "meta"}
    rows: dict[str, list[list[str]]] = {}
    for name in ("episodes.csv", "updates.csv"):
        header, *lines = csv.reader((folder / name).read_text().splitlines())
        kept = [i for i, column in enumerate(header) if column not in TIMES]
        rows[name] = [[line[i] for i in kept] for line in lines]
    return Left(state, rows)


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest() + str(array.dtype) + str(array.shape)


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_run_that_was_cut_and_resumed_equals_one_that_was_not(tmp_path: Path, system: str) -> None:
    frames = 6_000
    carry_out(tmp_path / "whole", system, frames)
    whole = left_by(tmp_path / "whole")
    for cut in (400, 1_500, 4_100):
        carry_out(tmp_path / "cut", system, cut, *(["resume=true"] if cut > 400 else []))
    assert "bit for bit" in carry_out(tmp_path / "cut", system, frames, "resume=true")
    resumed = left_by(tmp_path / "cut")
    assert whole.rows["episodes.csv"] and whole.rows["updates.csv"]
    assert resumed.rows == whole.rows
    assert resumed.state == whole.state


@pytest.mark.slow
@pytest.mark.parametrize("system", ["dqn", "dba3c"])
def test_a_run_that_was_killed_and_resumed_equals_one_that_was_not(start: Start, tmp_path: Path, system: str) -> None:
    experiment, settings, _ = SYSTEMS[system]
    words = [*smoke_words(tmp_path / "killed", experiment), *settings, *STICKY, "deterministic=true"]
    command = start("-m", "pipeline.train", *words, "budget.frames=4_000_000_000", "checkpoint.every_minutes=0.1")
    folder = tmp_path / "killed" / experiment / "Breakout" / "0"
    command.wait_until(lambda: has_gone_on(folder), "updates that no checkpoint has yet")
    command.send(signal.SIGKILL)
    assert command.ends() == -signal.SIGKILL

    # Games end at 400 frames, eight side by side: so many that some ended, however early the run was killed.
    frames = frames_beyond(folder, 4_000)
    assert "bit for bit" in carry_out(tmp_path / "killed", system, frames, "resume=true")
    carry_out(tmp_path / "whole", system, frames)
    resumed, whole = left_by(tmp_path / "killed"), left_by(tmp_path / "whole")
    assert whole.rows["episodes.csv"] and whole.rows["updates.csv"]
    assert resumed.rows == whole.rows
    assert resumed.state == whole.state


def has_gone_on(folder: Path) -> bool:
    """Whether there are rows of updates that are not in the newest checkpoint, which has some."""
    place = folder / "checkpoints"
    if not checkpoint.any_in(place):
        return False
    rows = load_run(folder)
    versions = [*rows.updates["version"], *rows.actor_critic_updates["version"]]
    return 0 < checkpoint.load_newest(place).server.version < max(versions, default=0)


def test_a_finished_run_that_is_resumed_keeps_its_last_rows(tmp_path: Path) -> None:
    carry_out(tmp_path, "dba3c", 400)
    before = left_by(tmp_path)
    assert before.rows["updates.csv"], "rows of updates that no hundredth has closed"
    (folder,) = {path.parent for path in tmp_path.rglob("config.yaml")}
    rows = {name: (folder / name).read_bytes() for name in ("episodes.csv", "updates.csv", "evaluations.csv")}
    # Ctrl-C has skipped some of the games, and a full disk has cut a line.
    *games, _ = rows["evaluations.csv"].splitlines(keepends=True)
    (folder / "evaluations.csv").write_bytes(b"".join(games) + b"smoke,half a li")
    said = carry_out(tmp_path, "dba3c", 400, "resume=true")
    assert "bit for bit" in said and "1 newer rows set aside" in said
    assert {name: (folder / name).read_bytes() for name in ("episodes.csv", "updates.csv")} == {
        name: rows[name] for name in ("episodes.csv", "updates.csv")
    }
    assert len((folder / "evaluations.csv").read_bytes().splitlines()) == len(games) + 1
    assert len(load_run(folder).evaluations) == len(games)


def test_a_run_that_was_killed_before_its_first_cut_begins_again_with_the_parameters_that_it_had(
    tmp_path: Path,
) -> None:
    carry_out(tmp_path / "source", "ba3c", 400)
    (source,) = {path.parent for path in (tmp_path / "source").rglob("config.yaml")}
    words = [f"init_from={source}"]
    carry_out(tmp_path / "whole", "ba3c", 800, *words)
    carry_out(tmp_path / "cut", "ba3c", 400, *words)
    (cut,) = {path.parent for path in (tmp_path / "cut").rglob("config.yaml")}
    # As a kill leaves it: the checkpoint of its start, rows, and no cut.
    first = cut / "checkpoints" / f"{0:012d}.npz"
    shutil.rmtree(cut / "checkpoints" / "exact")
    for path in (cut / "checkpoints").glob("*.npz"):
        if path != first:
            path.unlink()
    shutil.rmtree(source)  # and the source is gone
    assert "resumed at update 0, 0 frames" in carry_out(tmp_path / "cut", "ba3c", 800, *words, "resume=true")
    assert left_by(tmp_path / "cut") == left_by(tmp_path / "whole")


def test_what_a_plan_says_of_a_resume_is_what_becomes_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carry_out(tmp_path, "ba3c", 400)
    assert "it would go on with" in carry_out(tmp_path, "ba3c", 800, "resume=true", "plan=true")
    (states,) = tmp_path.rglob(EXACT)
    shutil.rmtree(states)
    planned = carry_out(tmp_path, "ba3c", 800, "resume=true", "plan=true")
    assert "without plan=true this is refused: no checkpoint can be gone on from bit for bit" in planned
    monkeypatch.setattr(run, "open_session", lambda *_: pytest.fail("a cluster was started"))
    with pytest.raises(
        CheckpointError, match=r"lacks what belongs to them; put it back; to begin anew: overwrite=true"
    ):
        carry_out(tmp_path, "ba3c", 800, "resume=true")


def test_a_role_without_a_state_is_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bundle, "STATE", None)
    with pytest.raises(ConfigError, match=r"Bundle, which carries out algorithm\.kind=q_learning, has no "):
        carry_out(tmp_path, "dqn", 400)
    assert list(tmp_path.iterdir()) == []
