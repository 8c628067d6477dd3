"""A replay memory: it keeps what its actors saw and draws minibatches of transitions from it.

One class serves a bundle, whose one actor writes to it (Nair et al. 2015, local replay), and a shard of a global
replay, to which several actors write. What it is made of:

    LaneRing       records, each frame once, and which of them can be sampled now
    a Sampler      draws records: each equally likely, or by priority
    Minibatch      makes transitions of them: stacks, n-step rewards

Not thread-safe: whoever lets several threads in holds one lock for `add`, `sample` and `update_priorities`, and copies
a minibatch before the lock is released.
Not here: settings (`pipeline.replay.config`), how a learner reaches a shard (`pipeline.replay.client`).
"""

import bisect
from typing import NamedTuple

import numpy as np

from pipeline.errors import ConfigError
from pipeline.replay.config import ReplayConfig
from pipeline.replay.frames import FrameReader
from pipeline.replay.minibatch import Minibatch
from pipeline.replay.prioritised import PrioritisedSampler
from pipeline.replay.ring import LaneRing, RingState, ring_bytes
from pipeline.replay.sampler import Sampler, SamplerState
from pipeline.replay.sum_tree import tree_bytes
from pipeline.replay.uniform import UniformSampler
from pipeline.types import Float32Array, Int64Array, LaneStep, TransitionBatch, UInt8Array


def lane_capacity(config: ReplayConfig, num_writers: int, num_lanes: int, frame_shape: tuple[int, ...]) -> int:
    """Steps that each lane of each writer keeps: an equal share of `capacity`, or what fits into `capacity_bytes`."""
    all_lanes = num_writers * num_lanes
    if config.capacity is not None:
        return config.capacity // all_lanes
    assert config.capacity_bytes is not None, "ReplayConfig.mistakes() asks for one of them"
    too_many = config.capacity_bytes // all_lanes + 1  # a step takes more than a byte
    sizes = range(too_many + 1)
    fitting = bisect.bisect_right(sizes, config.capacity_bytes, key=lambda n: _bytes(config, all_lanes, n, frame_shape))
    return max(fitting - 1, 0)


def memory_bytes(config: ReplayConfig, num_writers: int, num_lanes: int, frame_shape: tuple[int, ...]) -> int:
    """Bytes that a ReplayMemory reserves for records and priorities at its start: exact.

    The minibatch comes on top: batch_size * 2 * stack frames at most, 29 MB for 512 stacks of four 84 x 84 frames.
    """
    held = lane_capacity(config, num_writers, num_lanes, frame_shape)
    return _bytes(config, num_writers * num_lanes, held, frame_shape)


def fit_mistakes(
    config: ReplayConfig, num_writers: int, num_lanes: int, frame_shape: tuple[int, ...], stack: int, n_step: int
) -> list[str]:
    """Why this replay is too small for so many lanes and such transitions, one line each; empty if it is not."""
    all_lanes = num_writers * num_lanes
    held = lane_capacity(config, num_writers, num_lanes, frame_shape)
    when_full = all_lanes * (held - stack - n_step + 1)
    least = all_lanes * (stack + n_step)
    if held < stack + n_step:
        advice = _advice(config, all_lanes, least, frame_shape)
        return [
            f"{_given(config)} gives {held} steps to each of {all_lanes} lanes, a transition of stack={stack} and "
            f"n_step={n_step} needs {stack + n_step}: {advice}"
        ]
    if when_full < config.min_transitions:
        advice = _advice(config, all_lanes, config.min_transitions + least, frame_shape)
        return [
            f"{_given(config)} over {all_lanes} lanes with stack={stack} and n_step={n_step} leaves {when_full} "
            f"transitions when full, min_transitions={config.min_transitions} would never be reached: {advice}"
        ]
    return []


class ReplayState(NamedTuple):
    """A replay without its frames."""

    ring: RingState
    sampler: SamplerState


class ReplayMemory:
    """The newest steps of all lanes of all writers, and minibatches from them, drawn with replacement.

    A TransitionSink and a TransitionSource. Memory is reserved at the start; the system hands it out as it fills.
    """

    def __init__(
        self,
        config: ReplayConfig,
        num_writers: int,
        num_lanes: int,
        frame_shape: tuple[int, ...],
        stack: int,
        discount: float,
        n_step: int,
        rng: np.random.Generator,
    ) -> None:
        """A writer is an actor with `num_lanes` lanes; `frame_shape` is (H, W) or (H, W, 3), `discount` gamma.

        Writers share the capacity equally. ConfigError if the replay is too small to be used.
        """
        if mistakes := fit_mistakes(config, num_writers, num_lanes, frame_shape, stack, n_step):
            raise ConfigError([f"replay.{line}" for line in mistakes])
        held = lane_capacity(config, num_writers, num_lanes, frame_shape)
        self._ring = LaneRing(num_writers, num_lanes, held, frame_shape, stack, n_step=n_step)
        self._sampler: Sampler = (
            UniformSampler(self._ring, rng)
            if config.priority_exponent is None
            else PrioritisedSampler(self._ring, config.priority_exponent, config.priority_floor, rng)
        )
        self.frames = tuple(FrameReader(self._ring, writer) for writer in range(num_writers))
        """Of each writer: how its frames are saved and put back."""
        self._batch_size = config.batch_size
        self._minibatch = Minibatch(self._ring, config.batch_size, discount)

    @property
    def nbytes(self) -> int:
        """Bytes reserved for records and priorities, as `memory_bytes` foretells them."""
        return self._ring.nbytes + self._sampler.nbytes

    @property
    def stacks(self) -> UInt8Array:
        """The frames of the last sample, without those that s_tm1 and s_t have in common twice: `Minibatch.stacks`."""
        return self._minibatch.stacks

    @property
    def mass(self) -> float:
        """What this replay weighs among the shards of a global one: its priorities' sum, or its transitions."""
        return self._sampler.mass

    @property
    def num_added(self) -> int:
        """Transitions that could ever be sampled, those that were overwritten since included: never falls."""
        return self._ring.num_admitted

    def add(self, step: LaneStep, writer: int = 0) -> None:
        """Store one step of all lanes of one writer. The arrays are copied.

        Waits where it would overwrite a frame that is being saved (`frames`).

        ValueError if there is no such writer, or the frames have another shape or type.
        """
        if 0 <= writer < len(self.frames):  # the ring refuses others
            self.frames[writer].before_overwriting()
        self._sampler.note(self._ring.add(step, writer))

    def num_transitions(self) -> int:
        """Transitions that can be sampled now: exact."""
        return self._ring.num_samplable

    def sample(self) -> TransitionBatch:
        """One minibatch, valid until the next call. ValueError if no transition is there yet.

        With n_step 1, `s_tm1` and `s_t` are overlapping views of one array (B, K + 1, H, W[, 3]): only read them.
        """
        if self._ring.num_samplable == 0:
            raise ValueError(
                f"sample() of a replay without a transition yet: its writers gave {self._ring.num_steps} steps per lane"
            )
        return self._minibatch.fill(self._sampler.draw(self._batch_size))

    def update_priorities(self, key: Int64Array, abs_error: Float32Array) -> None:
        """Set the priorities of transitions (B,) of any earlier sample; those that are gone are passed over.

        In whatever order calls come, each transition has the priority of the last call that named it. ValueError if the
        shapes differ or an error is negative or not finite.
        """
        if key.shape != abs_error.shape:
            raise ValueError(f"key has shape {key.shape}, abs_error {abs_error.shape}: they must be equal")
        if not (np.isfinite(abs_error) & (abs_error >= 0)).all():
            raise ValueError(f"abs_error={abs_error.tolist()}: all must be finite and at least 0")
        records, held = self._ring.find_keys(key)
        self._sampler.update(records[held], abs_error[held])

    def state(self) -> ReplayState:
        """A copy of all but the frames."""
        return ReplayState(self._ring.state(), self._sampler.state())

    def restore(self, state: ReplayState) -> None:
        """Go on from there, once the frames are put back (`frames`). CheckpointError for another kind of replay."""
        self._ring.restore(state.ring)
        self._sampler.restore(state.sampler)

    def check_valid(self) -> None:
        """State the invariant; AssertionError tells what is broken. Looks at every record: for tests."""
        self._ring.check_valid()
        self._sampler.check_valid()


def _bytes(config: ReplayConfig, all_lanes: int, steps_per_lane: int, frame_shape: tuple[int, ...]) -> int:
    tree = 0 if config.priority_exponent is None else tree_bytes(all_lanes * steps_per_lane)
    return ring_bytes(all_lanes, steps_per_lane, frame_shape) + tree


def _given(config: ReplayConfig) -> str:
    return f"capacity={config.capacity}" if config.capacity is not None else f"capacity_bytes={config.capacity_bytes}"


def _advice(config: ReplayConfig, all_lanes: int, num_steps: int, frame_shape: tuple[int, ...]) -> str:
    if config.capacity is not None:
        return f"raise capacity to at least {num_steps}"
    steps_per_lane = -(-num_steps // all_lanes)
    return f"raise capacity_bytes to at least {_bytes(config, all_lanes, steps_per_lane, frame_shape)}"
