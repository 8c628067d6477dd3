"""How long a replay of a million frames stops training to be saved, how long its files take, and how large they are.

    pause       what its role waits for: a copy of all but the frames, and which frames are new
    write       frames, compressed, in another thread while the role goes on; nobody else wants the core here
    new         the same again after a tenth of the replay is new, as at a later checkpoint

Frames are of Breakout, played at random, 84 x 84 grey, and come again every `num_played` steps of a lane. Priorities
are saved too. One core.
Not here: restoring, which is reading the same files.
"""

import argparse
import itertools
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.replays import replay_of
from measuring.provenance import report
from pipeline.config.overrides import compose
from pipeline.envs.atari import AtariLanes
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.replay.frame_files import FrameFiles
from pipeline.replay.memory import ReplayMemory
from pipeline.states import pack
from pipeline.types import LaneStep

NUM_LANES = 16


def main(capacity: int = 1_000_000, num_played: int = 500) -> None:
    """Fill a replay, save it, play on for a tenth of it, save it again, and print one JSON line for each."""
    words = ["experiment=dqn", "game=Breakout", f"topology.num_lanes={NUM_LANES}"]
    # Nothing is sampled here: fewer transitions than a run waits for let a small replay be timed too.
    words += ["replay=prioritised", f"replay.capacity={capacity}", "replay.min_transitions=100"]
    config = compose(words)
    environment = config.environment
    replay = replay_of(config)
    steps = itertools.cycle(_played(environment, num_played))
    with tempfile.TemporaryDirectory() as folder:
        files = FrameFiles(Path(folder))
        for which, num_steps in (("all", capacity // NUM_LANES), ("new", capacity // NUM_LANES // 10)):
            for step in itertools.islice(steps, num_steps):
                replay.add(step)
            _save(which, replay, files, Path(folder))


def _save(which: str, replay: ReplayMemory, files: FrameFiles, folder: Path) -> None:
    (reader,) = replay.frames
    began = time.perf_counter()
    state = pack(replay.state())
    held = files.begin(reader)
    paused = time.perf_counter()
    files.write(reader, held)
    reader.done()
    written = time.perf_counter()
    report(
        "replay_saving",
        frames=which,
        num_frames=(held.end - held.first) * NUM_LANES,
        pause_ms=(paused - began) * 1000,
        write_seconds=written - paused,
        frame_files_mb=sum(path.stat().st_size for path in folder.iterdir()) / 1e6,
        state_mb=sum(array.nbytes for array in state.values()) / 1e6,
    )


def _played(environment: EnvironmentConfig, num_steps: int) -> list[LaneStep]:
    rng, found = np.random.default_rng(0), []
    with closing(AtariLanes("Breakout", environment, NUM_LANES, num_threads=1)) as lanes:
        observation, first = lanes.reset(np.arange(NUM_LANES)), np.ones(NUM_LANES, dtype=np.bool_)
        for _ in range(num_steps):
            actions = rng.integers(lanes.num_actions, size=NUM_LANES)
            results = lanes.step(actions)
            continues = np.where(results.terminated, np.float32(0.0), np.float32(1.0))
            frame = observation[:, -1].copy()
            found.append(LaneStep(frame, first, ~results.is_reset, actions, results.reward, continues))
            observation, first = results.observation, results.is_reset
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capacity", type=int, default=1_000_000)
    parser.add_argument("--num-played", type=int, default=500)
    main(**vars(parser.parse_args()))
