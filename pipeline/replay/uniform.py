"""A bundle's replay: it keeps what its actor saw and draws minibatches of transitions, each equally likely.

Nature DQN's replay (Mnih et al. 2015, Methods), local to a bundle as in Gorila's experiments (Nair et al. 2015).
Not here: how records are stored and when one can be sampled (`pipeline.replay.ring`), settings (`replay.config`).
"""

import numpy as np

from pipeline.errors import ConfigError
from pipeline.replay.config import ReplayConfig
from pipeline.replay.ring import LaneRing, ring_bytes
from pipeline.types import Int64Array, LaneStep, TransitionBatch


def memory_bytes(config: ReplayConfig, num_lanes: int, frame_shape: tuple[int, ...]) -> int:
    """Bytes that the records of a UniformReplay take, all reserved at its start: exact.

    The minibatch comes on top: batch_size * (stack + 1) frames, a few MB at most.
    """
    return ring_bytes(num_lanes, config.capacity // num_lanes, frame_shape)


def fit_mistakes(config: ReplayConfig, num_lanes: int, stack: int) -> list[str]:
    """Why this replay is too small for so many lanes and so deep a stack, one line each; empty if it is not."""
    lane_capacity = config.capacity // num_lanes
    found = []
    if lane_capacity <= stack:
        found.append(
            f"capacity={config.capacity} gives {lane_capacity} steps to each of {num_lanes} lanes, a transition of "
            f"stack={stack} needs {stack + 1}: raise capacity to at least {num_lanes * (stack + 1)}"
        )
    elif num_lanes * (lane_capacity - stack) < config.min_transitions:
        found.append(
            f"capacity={config.capacity} over {num_lanes} lanes with stack={stack} leaves "
            f"{num_lanes * (lane_capacity - stack)} transitions when full, min_transitions={config.min_transitions} "
            f"would never be reached: raise capacity to at least {config.min_transitions + num_lanes * (stack + 1)}"
        )
    return found


class UniformReplay:
    """The newest `capacity` steps of E lanes; a sample is uniform over all transitions in it, with replacement.

    A TransitionSink and a TransitionSource. Memory is reserved at the start; the system hands it out as it fills.
    """

    def __init__(
        self,
        config: ReplayConfig,
        num_lanes: int,
        frame_shape: tuple[int, ...],
        stack: int,
        discount: float,
        rng: np.random.Generator,
    ) -> None:
        """`frame_shape` is (H, W) or (H, W, 3), `discount` gamma. ConfigError if the replay is too small to be used."""
        if mistakes := fit_mistakes(config, num_lanes, stack):
            raise ConfigError([f"replay.{line}" for line in mistakes])
        self._ring = LaneRing(num_lanes, config.capacity // num_lanes, frame_shape, stack)
        self._discount = np.float32(discount)
        self._rng = rng
        # A fresh minibatch would cost more than filling it: its pages would have to be mapped each time.
        stacks = np.zeros((config.batch_size, stack + 1, *frame_shape), np.uint8)
        self._stacks = stacks.reshape(config.batch_size, -1)
        self._batch = TransitionBatch(
            s_tm1=stacks[:, :-1],
            a_tm1=np.zeros(config.batch_size, np.int64),
            r_t=np.zeros(config.batch_size, np.float32),
            discount_t=np.zeros(config.batch_size, np.float32),
            s_t=stacks[:, 1:],
        )

    @property
    def nbytes(self) -> int:
        """Bytes reserved for records, as `memory_bytes` foretells them."""
        return self._ring.nbytes

    def add(self, step: LaneStep) -> None:
        """Store one step of all lanes. The arrays are copied. ValueError if the frames have another shape or type."""
        self._ring.add(step)

    def num_transitions(self) -> int:
        """Transitions that can be sampled now: exact."""
        return self._ring.num_samplable

    def sample(self) -> TransitionBatch:
        """One minibatch, valid until the next call. ValueError if no transition is there yet.

        `s_tm1` and `s_t` are overlapping views of one array (B, K + 1, H, W[, 3]): only read them.
        """
        records = self._draw()
        batch = self._batch
        self._ring.gather_stacks(records, out=self._stacks)
        self._ring.action.take(records, out=batch.a_tm1, mode="clip")
        self._ring.reward.take(records, out=batch.r_t, mode="clip")
        self._ring.continues.take(records, out=batch.discount_t, mode="clip")
        np.multiply(batch.discount_t, self._discount, out=batch.discount_t)
        return batch

    def check_valid(self) -> None:
        """State the invariant; AssertionError tells what is broken. Looks at every record: for tests."""
        self._ring.check_valid()

    def _draw(self) -> Int64Array:
        """(B,) record numbers, uniform over the samplable ones: others that come up are drawn again.

        At most one record per lane and episode, and stack + 1 per lane, cannot be sampled: few are drawn twice.
        """
        if self._ring.num_samplable == 0:
            raise ValueError(f"sample() of a replay with {self._ring.num_steps} steps per lane and no transition yet")
        records = self._draw_any(len(self._stacks))
        rejected = np.flatnonzero(~self._ring.samplable.take(records))
        while rejected.size > 0:
            records[rejected] = self._draw_any(rejected.size)
            rejected = rejected[~self._ring.samplable.take(records[rejected])]
        return records

    def _draw_any(self, count: int) -> Int64Array:
        """(count,) record numbers, uniform over all records that have been written."""
        fill = self._ring.lane_fill
        lane, slot = np.divmod(self._rng.integers(self._ring.num_lanes * fill, size=count), fill)
        return lane * self._ring.lane_capacity + slot
