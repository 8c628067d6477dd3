"""Emulators that are played again by others: as new ones, or not at all."""

import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ale_py.vector_env import AtariVectorEnv

from pipeline.envs import atari
from pipeline.envs.atari import AtariLanes, LaneResults
from pipeline.envs.idle import IdleEmulators, Recipe
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.types import Int64Array
from tests.clusters import wait_until
from tests.experiments.commands import CHECKOUT
from tests.protocols import nature_protocol

SHORT = replace(nature_protocol(), sticky_probability=0.25, max_frames=240, fire_on_reset=True)
"""Games of 60 steps."""
SEEDS = np.array([5, 6, 7])
PROGRAM = """
from dask_jobs.terminal import begin
begin()
import numpy as np
from pipeline.envs.atari import AtariLanes
from tests.protocols import nature_protocol
lanes = AtariLanes("Pong", nature_protocol(), 2, 1)
lanes.reset(np.array([1, 2]))
lanes.close()
print("kept")
"""
"""As our commands begin; lanes that are left at its end have ale-py write to the terminal."""
FORKED = """
import multiprocessing
import numpy as np
from pipeline.envs.atari import AtariLanes
from tests.protocols import nature_protocol

def play(results):
    lanes = AtariLanes("Pong", nature_protocol(), 2, 1)
    results.put(int(lanes.reset(np.array([1, 2])).sum()))
    lanes.close()

here, forked = multiprocessing.SimpleQueue(), multiprocessing.get_context("fork")
there = forked.SimpleQueue()
play(here)
child = forked.Process(target=play, args=(there,), daemon=True)
child.start()
child.join(60)
print(child.exitcode, here.get() == there.get())
"""
"""As gymnasium's AsyncVectorEnv does: a game is made and closed, and then processes are forked that make others."""


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> list[Recipe]:
    """What was made and not taken from the idle ones, of which there are none before."""
    made: list[Recipe] = []
    really_made = atari._made

    def note(recipe: Recipe) -> AtariVectorEnv:
        made.append(recipe)
        return really_made(recipe)

    monkeypatch.setattr(atari, "_IDLE", IdleEmulators())
    monkeypatch.setattr(atari, "_made", note)
    return made


def played(num_steps: int, seeds: Int64Array = SEEDS) -> list[bytes]:
    """All that lanes return from their first reset on, byte for byte."""
    rng = np.random.default_rng(3)
    with closing(AtariLanes("Breakout", SHORT, 3, 1)) as lanes:
        seen = [lanes.reset(seeds).tobytes(), lanes.lives.tobytes()]
        for _ in range(num_steps):
            results: LaneResults = lanes.step(rng.integers(lanes.num_actions, size=3))
            seen += [array.tobytes() for array in results]
    return seen


@pytest.mark.slow
def test_lanes_on_emulators_that_others_have_played_equal_new_ones(made: list[Recipe]) -> None:
    new = played(130)
    for num_steps in (0, 1, 59, 60, 61, 100):
        played(num_steps, SEEDS + 4)
        assert played(130) == new, num_steps
    assert len(made) == 1


def test_each_has_emulators_of_its_own_and_of_its_own_kind(made: list[Recipe]) -> None:
    with closing(AtariLanes("Pong", SHORT, 1, 1)) as one, closing(AtariLanes("Pong", SHORT, 1, 1)) as other:
        assert one._env is not other._env
    for game, config, num_threads in [
        ("Pong", SHORT, 1),
        ("Boxing", SHORT, 1),
        ("Pong", nature_protocol(), 1),
        ("Pong", SHORT, 2),
    ]:
        AtariLanes(game, config, 1, num_threads).close()
    assert len(made) == 2 + 3


def test_emulators_that_were_stopped_in_the_middle_of_a_step_are_played_by_nobody(
    made: list[Recipe], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(actions: Int64Array) -> None:
        lanes._env.send(actions)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), closing(AtariLanes("Pong", SHORT, 1, 1)) as lanes:
        lanes.reset(SEEDS[:1])
        monkeypatch.setattr(lanes._env, "step", stopped)
        lanes.step(np.array([0]))
    AtariLanes("Pong", SHORT, 1, 1).close()
    assert len(made) == 2


def test_more_than_there_is_room_for_take_nobody_s_place(made: list[Recipe], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atari, "_IDLE", IdleEmulators(max_lanes=1))
    for num_lanes in (1, 2, 1):
        AtariLanes("Pong", SHORT, num_lanes, 1).close()
    assert [recipe.num_lanes for recipe in made] == [1, 2]


@pytest.mark.slow
def test_a_process_that_was_forked_plays_emulators_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(FORKED)
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    words = [sys.executable, "-W", "ignore", "program.py"]
    ended = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "0 True\n"), ended.stderr


def test_a_command_whose_lanes_are_kept_ends_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    words = [sys.executable, "program.py"]
    ended = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "kept\n", "")


def test_the_oldest_ones_end_with_their_threads_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def threads() -> set[str]:
        return set(os.listdir("/proc/self/task"))

    def opened(config: EnvironmentConfig) -> AtariLanes:
        return AtariLanes("Pong", config, num_lanes=2, num_threads=2)

    monkeypatch.setattr(atari, "_IDLE", IdleEmulators(max_lanes=2))
    before = threads()
    first = opened(SHORT)
    started = threads() - before
    assert len(started) >= 2, "one more for each of the two"
    second = opened(nature_protocol())
    first.close()
    assert started <= threads()
    second.close()
    # The kernel lists a thread for a moment after it was joined, and others of this process may come and go meanwhile.
    wait_until(lambda: len(started & threads()) <= len(started) - 2, "the two threads are gone", limit_seconds=10)
