"""The kinds of files that users bring and crashes leave: a sound one of each, and the reader that must bear all others.

Not here: what is done to them (`tests.fuzz.damage`), counting what came of it (`tests.fuzz.campaign`).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dask_jobs.ledger import DONE, LEDGER, Ledger, LedgerRow, read_ledger
from pipeline.checked_files import LARGEST_COUNT
from pipeline.config.tree import to_yaml
from pipeline.errors import RunFolderError
from pipeline.evaluation import recordings, start_states
from pipeline.experiments.files import checkpoint, evaluation_rows
from pipeline.experiments.files.checkpoint import Checkpoint, Fit
from pipeline.experiments.files.exact import ExactFiles
from pipeline.experiments.files.newer_rows import set_newer_aside
from pipeline.experiments.files.run_folder import DISCARDED, RunFolder
from pipeline.experiments.files.saved_config import read_config
from pipeline.param_server.snapshot import ServerSnapshot
from pipeline.replay.keeper import STATE, ReplayKeeper, load
from pipeline.replay.memory import ReplayMemory
from pipeline.results.imports import TOOLS, Import, load_imports
from pipeline.results.load import load_run
from pipeline.results.run_settings import unlike_settings
from pipeline.roles.cuts import Cut
from pipeline.roles.progress import RoleProgress
from pipeline.states import pack, unpack
from tests.evaluation.recorded import random_games
from tests.experiments.smoke_runs import smoke_config
from tests.replay.memories import make_replay
from tests.replay.slow_replay import scripted_steps
from tests.results.run_folders import actor_critic_update, episode, evaluation, update, write_run


class _State(NamedTuple):
    """Of a role: what states are made of."""

    values: npt.NDArray[np.float64]
    flags: npt.NDArray[np.bool_]
    number: int
    name: str


FIT = Fit(3_000, ("m", "v"))


@dataclass(frozen=True)
class Kind:
    """One kind of file."""

    make: Callable[[Path], Path]
    """Write a sound one into this folder; returns it."""
    read: Callable[[Path], Any]
    """As a command does, before anything starts. Raises PipelineError or LedgerError with one sentence."""
    is_archive: bool = False
    """An .npz: what is read of a damaged one must be what was in the sound one."""
    takes_any_values: bool = False
    """An .npz whose arrays, if they are of the right kind, are as good with other values in them."""
    may_change: bool = False
    """Reading mends it, and keeps every line."""


def _make_checkpoint(folder: Path) -> Path:
    values = np.random.default_rng(0).standard_normal((4, FIT.num_parameters)).astype(np.float32)
    server = ServerSnapshot((7, 8), values[0], (4, 4), values[1], {"m": values[2], "v": values[3]})
    return checkpoint.save(folder, Checkpoint(server, {"bundle-0": RoleProgress(9, 8, 7, 0.5, 6, 1.25)}, 2), keep=1)


def _read_checkpoint(path: Path) -> Any:
    loaded = checkpoint.load(path, FIT)
    server = loaded.server
    arrays = [server.params, server.target, *(server.slots[name] for name in FIT.slots)]
    return (
        server.versions,
        server.target_versions,
        loaded.progress,
        loaded.generation,
        [one.tobytes() for one in arrays],
    )


def _make_states(folder: Path) -> Path:
    draws = np.random.default_rng(0).random((3, 4))
    packed = pack(_State(draws, draws[0] > 0.5, 7, "a text"))
    cut = Cut("bundle-0", RoleProgress(9, 8, 7, 0.5, 6, 1.25), {"bundle-0": packed}, {"UpdateRow": 3}, {})
    ExactFiles(folder, _State).write(7, cut, {}, generation=2)
    return ExactFiles(folder, _State).path_of(7)


def _read_states(path: Path) -> Any:
    saved = ExactFiles(path.parent.parent, _State).load(int(path.stem))
    state = unpack(_State, saved.states["bundle-0"])
    numbers = (state.values.shape, state.values.tobytes(), state.flags.tobytes(), state.number, state.name)
    return numbers, saved.num_rows, saved.progress, saved.generation


def _replay() -> ReplayMemory:
    return make_replay(60, num_lanes=2, frame_shape=(2, 3))


def _make_kept_replay(folder: Path, name: str) -> Path:
    keeper = ReplayKeeper(_replay, folder, start=1, every_seconds=60.0)
    for step in scripted_steps(np.random.default_rng(0), 20, [6, 9], (2, 3)):
        keeper.memory.add(step)
    keeper.close()
    return folder / "000000000001" / name


def _read_kept_replay(path: Path) -> Any:
    replay = _replay()
    load(next(one for one in path.parents if one.name == "000000000001"), replay)
    (reader,) = replay.frames
    packed = {name: array.tobytes() for name, array in pack(replay.state()).items()}
    return packed, reader.read(reader.start, reader.end).tobytes()


def _make_recording(folder: Path) -> Path:
    return recordings.save(folder, random_games(num_episodes=2, max_frames=300))


def _make_start_states(folder: Path) -> Path:
    _, game = random_games(num_episodes=2, max_frames=300)
    drawn = start_states.draw([game.episode], 5, "a test", np.random.default_rng(0))
    start_states.save(folder / "Breakout.json", drawn)
    return folder / "Breakout.json"


def _make_config(folder: Path) -> Path:
    (folder / "config.yaml").write_text(to_yaml(smoke_config(folder)), encoding="utf-8")
    return folder / "config.yaml"


def _read_config(path: Path) -> None:
    loaded = load_run(write_run(path.parent / "runs", [evaluation(1.0)]))
    unlike_settings(loaded.runs.assign(folder=str(path.parent)))
    read_config(path.parent)


def _make_run_json(folder: Path) -> Path:
    run = write_run(folder, [evaluation(1.0)], commit="0123456789abcdef", hosts=[{"roles": []}])
    facts = json.loads((run / "run.json").read_text(encoding="utf-8"))
    facts |= {"started_at": "2026-05-04T12:00:00+00:00", "resumed_at": [], "total_frames": 7, "wall_seconds": 1.5}
    RunFolder(run).write_run(facts)
    return run / "run.json"


def _read_run_json(path: Path) -> None:
    """As the report does; then as a resume, which moves it away."""
    before = path.read_bytes()
    try:
        load_run(path.parent)
    finally:
        moved = RunFolder(path.parent).set_aside_unreadable_run()
        RunFolder(path.parent).read_run()
        if moved is not None:
            (aside,) = (path.parent / DISCARDED).iterdir()
            assert aside.read_bytes() == before
            aside.rename(path)


def _make_rows(rows: list[Any], name: str) -> Callable[[Path], Path]:
    return lambda folder: write_run(folder, rows) / name


def _read_rows(path: Path) -> None:
    """A resume: lines that are no rows are set aside, and the rest is a table."""
    before = path.read_bytes()
    if path.name == "evaluations.csv":
        evaluation_rows.keys_in(path.parent)
    set_newer_aside(path.parent, LARGEST_COUNT, 1e9, {})
    aside = path.parent / DISCARDED / path.name
    set_aside = aside.read_bytes() if aside.exists() else b""
    lines = [line for data in (path.read_bytes(), set_aside) for line in data.split(b"\n")]
    assert sorted(filter(None, lines)) == sorted(filter(None, before.split(b"\n"))), "a line is lost"
    try:
        load_run(path.parent)
    except RunFolderError as error:
        if "has the columns" not in str(error) and "is not text" not in str(error):
            raise AssertionError(f"a line that is no row was kept: {error}") from error
        raise


def _make_ledger(folder: Path) -> Path:
    ledger = Ledger.open(folder)
    times = ("2026-05-04T12:00:00+00:00", "2026-05-04T12:01:00+00:00", 60.0)
    for job in range(3):
        ledger.add(LedgerRow(job, f"game=Pong seed={job}", DONE, 1, "tcp://127.0.0.1:1", *times, return_value="1.5"))
    ledger.write()
    ledger.close()
    return folder / LEDGER


def _make_import(tool: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        name, text = {
            "sb3": (
                "0.monitor.csv",
                '#{"t_start": 1614619328.33, "env_id": "BreakoutNoFrameskip-v4"}\nr,l,t\n11.0,811,0.78\n2.0,90,1.5\n',
            ),
            "dopamine": (
                "breakout.json",
                json.dumps([{"Agent": "DQN", "Iteration": i, "Value": 1.5} for i in range(4)]),
            ),
            "dqn_zoo": (
                "dqn.csv",
                "environment_name,seed,frame,eval_episode_return\npong,1,0,-21.0\npong,1,1000000,-20.5\n",
            ),
            "nnabla_rl": (
                "PongNoFrameskip-v4_results/evaluation_result_scalar.tsv",
                "iteration\tmean\tstd_dev\n250000\t-20.500\t0.500\n500000\t-19.250\t1.000\n",
            ),
        }[tool]
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        return folder / name

    return make


def _read_import(tool: str) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        if problems := load_imports([Import(tool, path.parent)]).problems:
            raise RunFolderError("; ".join(problems))

    return read


_EPISODES = [episode(float(score), 1_000 * score) for score in range(1, 6)]
_EVALUATIONS = [evaluation(float(number), number, commit="abc") for number in range(4)]

KINDS: dict[str, Kind] = {
    "checkpoint": Kind(_make_checkpoint, _read_checkpoint, is_archive=True),
    "states of roles": Kind(_make_states, _read_states, is_archive=True),
    "saved replay": Kind(
        partial(_make_kept_replay, name=STATE), _read_kept_replay, is_archive=True, takes_any_values=True
    ),
    "frames of a replay": Kind(
        partial(_make_kept_replay, name="frames/0/000000000000.npz"),
        _read_kept_replay,
        is_archive=True,
        takes_any_values=True,
    ),
    "recording": Kind(_make_recording, recordings.load, is_archive=True),
    "start states": Kind(_make_start_states, start_states.load),
    "config.yaml": Kind(_make_config, _read_config),
    "run.json": Kind(_make_run_json, _read_run_json),
    "episodes.csv": Kind(_make_rows(_EPISODES, "episodes.csv"), _read_rows, may_change=True),
    "updates.csv": Kind(_make_rows([update()] * 4, "updates.csv"), _read_rows, may_change=True),
    "updates.csv of workers": Kind(_make_rows([actor_critic_update()] * 4, "updates.csv"), _read_rows, may_change=True),
    "evaluations.csv": Kind(_make_rows(_EVALUATIONS, "evaluations.csv"), _read_rows, may_change=True),
    "ledger": Kind(_make_ledger, lambda path: read_ledger(path.parent)),
    **{f"import {tool}": Kind(_make_import(tool), _read_import(tool)) for tool in TOOLS},
}
