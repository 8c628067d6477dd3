"""How long 512 draws by priority from a million transitions take: ours, and those of cpprb and torchrl beside it.

    sum_tree            our tree alone: 512 masses looked up, 512 weights set, for several numbers of children per node
    data: "index"       512 indices and their importance weights. Theirs come with one stored number each
    data: "frames"      512 transitions with weights: both observations, four 84 x 84 grey frames each

All keep uint8 frames in memory. Ours and cpprb (`next_of`, `stack_compress`) keep each frame once, 7 GB for a million.
torchrl's LazyTensorStorage keeps whole observations, 57 kB a transition, so it holds fewer (`torchrl_capacity`): a
smaller tree and less memory to roam, to its advantage. Replays take turns, so that whatever else the machine does hits
all alike. One core.

cpprb and torchrl are optional: the figures of one that is missing are "not installed", and so are torchrl's where its
compiled part was made for another torch than the one that is there. The pipeline's own torch is such another, so all
three are run in an environment made for them: `pip install numpy cpprb==11.0.0 torch==2.14.1 torchrl==0.14.1`.
Not here: uniform draws (`benchmarks.replay_sampling`).
"""

import argparse
import importlib
import logging
import statistics
from collections.abc import Callable
from functools import partial
from types import ModuleType

import numpy as np
import torch

from benchmarks.replay_sampling import FRAME_SHAPE, full_replay
from measuring.provenance import Figure, report
from measuring.rounds import alternate, median_ratio, seconds
from pipeline.replay.prioritised import PrioritisedSampler
from pipeline.replay.ring import LaneRing
from pipeline.replay.sum_tree import SumTree
from pipeline.types import Float32Array, LaneStep, UInt8Array

NUM_DRAWS = 512
STACK = 4
ALPHA = 0.6
BETA = 0.4
FAN_OUTS = (8, 16, 32, 64)
CHUNK = 1000
"""Transitions given to cpprb and torchrl at once."""

Draw = Callable[[], object]
Contest = dict[str, Draw | None]
"""What draws once, by name; None: not installed."""


def main(capacity: int = 1_000_000, torchrl_capacity: int = 20_000, num_rounds: int = 300) -> None:
    """Fill the replays and print one JSON line per fan-out and kind of data."""
    torch.set_num_threads(1)
    _report_trees(capacity, num_rounds)
    cpprb, torchrl = _optional("cpprb"), _optional("torchrl._torchrl", "torchrl.data")
    index: Contest = {
        "ours": _our_index(capacity),
        "cpprb": None if cpprb is None else _cpprb_index(cpprb, capacity),
        "torchrl": None if torchrl is None else _torchrl_index(torchrl, capacity),
    }
    _compare(index, num_rounds, data="index", capacity=capacity, torchrl_capacity=capacity)
    frames: Contest = {
        "ours": _our_frames(capacity),
        "cpprb": None if cpprb is None else _cpprb_frames(cpprb, capacity),
        "torchrl": None if torchrl is None else _torchrl_frames(torchrl, torchrl_capacity),
    }
    _compare(frames, num_rounds, data="frames", capacity=capacity, torchrl_capacity=torchrl_capacity)


def _report_trees(size: int, num_rounds: int) -> None:
    rng = np.random.default_rng(0)
    trees = {fan_out: SumTree(size, fan_out) for fan_out in FAN_OUTS}
    for tree in trees.values():
        tree.set(np.arange(size), rng.random(size))

    def find(tree: SumTree) -> float:
        masses = (np.arange(NUM_DRAWS) + rng.random(NUM_DRAWS)) * (tree.total / NUM_DRAWS)
        return seconds(partial(tree.find, masses))

    def set_(tree: SumTree) -> float:
        return seconds(partial(tree.set, rng.integers(size, size=NUM_DRAWS), rng.random(NUM_DRAWS)))

    found = alternate({str(fan_out): partial(find, tree) for fan_out, tree in trees.items()}, num_rounds)
    written = alternate({str(fan_out): partial(set_, tree) for fan_out, tree in trees.items()}, num_rounds)
    for fan_out in FAN_OUTS:
        report(
            "sum_tree",
            size=size,
            fan_out=fan_out,
            find_ms=1e3 * statistics.median(found[str(fan_out)]),
            set_ms=1e3 * statistics.median(written[str(fan_out)]),
        )


def _compare(contest: Contest, num_rounds: int, **sizes: Figure) -> None:
    present = {name: partial(seconds, draw) for name, draw in contest.items() if draw is not None}
    measured = alternate(present, num_rounds, num_warmup_rounds=10)
    figures: dict[str, Figure] = {}
    for name in contest:
        times = measured.get(name)
        figures[f"{name}_ms"] = "not installed" if times is None else 1e3 * statistics.median(times)
        if name != "ours":
            figures[f"ours_over_{name}"] = "not installed" if times is None else median_ratio(measured["ours"], times)
    report("replay_prioritised", num_draws=NUM_DRAWS, **sizes, **figures)


def _optional(*modules: str) -> ModuleType | None:
    """The last of these modules; None unless all can be imported."""
    try:
        found = [importlib.import_module(module) for module in modules]
    except ImportError:
        return None
    logging.getLogger("torchrl").setLevel(logging.WARNING)  # it reports to where our lines go
    return found[-1]


def _weights(relative_chance: Float32Array) -> Float32Array:
    weights: Float32Array = (relative_chance / relative_chance.min()) ** np.float32(-BETA)
    return weights


def _errors(count: int) -> Float32Array:
    return np.random.default_rng(1).exponential(size=count).astype(np.float32)


def _our_index(capacity: int) -> Draw:
    ring = LaneRing(1, 1, capacity, (1, 1), stack=1, n_step=1)
    sampler = PrioritisedSampler(ring, ALPHA, 1e-6, np.random.default_rng(0))
    step = LaneStep(
        frame_tm1=np.zeros((1, 1, 1), np.uint8),
        first_tm1=np.zeros(1, np.bool_),
        valid=np.ones(1, np.bool_),
        a_tm1=np.zeros(1, np.int64),
        r_t=np.zeros(1, np.float32),
        continues_t=np.ones(1, np.float32),
    )
    for _ in range(capacity):
        sampler.note(ring.add(step, 0))
    records = np.flatnonzero(ring.samplable)
    sampler.update(records, _errors(len(records)))
    return lambda: _weights(sampler.draw(NUM_DRAWS).relative_chance)


def _our_frames(capacity: int) -> Draw:
    replay = full_replay(NUM_DRAWS, capacity, priority_exponent=ALPHA)
    replay.update_priorities(np.arange(capacity), _errors(capacity))
    return lambda: _weights(replay.sample().relative_chance)


def _cpprb_index(cpprb: ModuleType, capacity: int) -> Draw:
    replay = cpprb.PrioritizedReplayBuffer(capacity, {"number": {"shape": 1}}, alpha=ALPHA)
    for start in range(0, capacity, CHUNK):
        count = min(CHUNK, capacity - start)
        replay.add(number=np.zeros((count, 1), np.float32), priorities=_errors(count))
    return lambda: replay.sample(NUM_DRAWS, beta=BETA)


def _cpprb_frames(cpprb: ModuleType, capacity: int) -> Draw:
    observation = {"shape": (*FRAME_SHAPE, STACK), "dtype": np.uint8}
    scalars = {"act": {"dtype": np.int64}, "rew": {}, "done": {}}
    replay = cpprb.PrioritizedReplayBuffer(
        capacity, {"obs": observation, **scalars}, next_of="obs", stack_compress="obs", alpha=ALPHA
    )
    stacks = _stacks(CHUNK + 1)
    for start in range(0, capacity, CHUNK):
        count = min(CHUNK, capacity - start)
        zeros = np.zeros((count, 1), np.float32)
        replay.add(
            obs=stacks[:count],
            next_obs=stacks[1 : count + 1],
            act=zeros,
            rew=zeros,
            done=zeros,
            priorities=_errors(count),
        )
        replay.on_episode_end()
    return lambda: replay.sample(NUM_DRAWS, beta=BETA)


def _torchrl_index(data: ModuleType, capacity: int) -> Draw:
    return _torchrl_filled(data, capacity, lambda count: {"number": torch.zeros(count)})


def _torchrl_frames(data: ModuleType, capacity: int) -> Draw:
    stacks = torch.from_numpy(np.ascontiguousarray(np.moveaxis(_stacks(CHUNK + 1), -1, 1)))
    return _torchrl_filled(
        data,
        capacity,
        lambda count: {
            "obs": stacks[:count],
            "next_obs": stacks[1 : count + 1],
            "act": torch.zeros(count, dtype=torch.int64),
            "rew": torch.zeros(count),
            "done": torch.zeros(count, dtype=torch.bool),
        },
    )


def _torchrl_filled(data: ModuleType, capacity: int, chunk_of: Callable[[int], dict[str, torch.Tensor]]) -> Draw:
    tensordict = importlib.import_module("tensordict")
    replay = data.TensorDictPrioritizedReplayBuffer(
        alpha=ALPHA, beta=BETA, storage=data.LazyTensorStorage(capacity), batch_size=NUM_DRAWS
    )
    for start in range(0, capacity, CHUNK):
        count = min(CHUNK, capacity - start)
        chunk = tensordict.TensorDict(chunk_of(count), batch_size=[count])
        replay.update_priority(replay.extend(chunk), torch.from_numpy(_errors(count)))
    return lambda: replay.sample()


def _stacks(count: int) -> UInt8Array:
    """(count, 84, 84, 4): stacks of noise, each one frame later than the one before."""
    noise = np.random.default_rng(2).integers(256, size=(count + STACK - 1, *FRAME_SHAPE), dtype=np.uint8)
    return np.lib.stride_tricks.sliding_window_view(noise, STACK, axis=0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Prioritised draws, ours beside cpprb's and torchrl's.")
    parser.add_argument("--capacity", type=int, default=1_000_000, help="transitions in each replay")
    parser.add_argument("--torchrl-capacity", type=int, default=20_000, help="transitions with frames in torchrl's")
    parser.add_argument("--rounds", type=int, default=300, help="draws of each that are timed")
    chosen = parser.parse_args()
    main(chosen.capacity, chosen.torchrl_capacity, chosen.rounds)
