"""What a replay remembers: one ring of records per lane, each frame stored once.

Record i of a lane is one LaneStep: the newest frame of the observation in which the action was chosen, and what came of
it. Its successor's newest frame is the frame of record i + 1. With K = 3 and an episode of three steps (the last frame
comes with an action that is ignored: the emulator resets in the next step), a lane looks like this:

    record           0    1    2    3    4    5
    frame            a0   a1   a2   a3   b0   b1      a0..a3 is the first episode
    first            yes  -    -    -    yes  -
    valid            yes  yes  yes  -    yes  yes     record 3: the episode was over, the action did nothing
    stack depth      1    2    3    3    1    2       real frames in the record's stack; zeros before them
    samplable, n=1   yes  yes  yes  -    yes  -       record 5: its successor has not arrived yet
    samplable, n=2   yes  yes  yes  -    -    -       record 4: one of its two successors has not arrived yet

A record is samplable if it is valid, its n successors are there, and no frame of its stack has been overwritten.

Several writers, each an actor with E lanes of its own, may fill the lanes of one ring. Those of one writer are written
in step, at the same slot; what differs between them is where episodes begin and end. Writers come as they like.

Not here: the transition that a record makes (`replay.minibatch`), which records are drawn (`replay.uniform`,
`replay.prioritised`). Not thread-safe: `replay.memory` says whose business that is.
"""

from typing import NamedTuple

import numpy as np

from pipeline.errors import CheckpointError
from pipeline.types import BoolArray, Float32Array, Int64Array, LaneStep, UInt8Array

_FIELD_DTYPES = (np.uint8, np.bool_, np.bool_, np.int64, np.float32, np.float32)
"""Of stack depth, valid, samplable, action, reward, continues."""


class Change(NamedTuple):
    """What one step did to the records that can be sampled."""

    admitted: Int64Array
    """Records that can be sampled from now on, at most one per lane."""
    retired: Int64Array
    """Records that cannot be sampled any more, at most K per lane: their frames are being overwritten."""


class RingState(NamedTuple):
    """A ring without its frames, and without what follows from the rest. Arrays are (W * E, lane_capacity)."""

    num_steps: tuple[int, ...]
    num_admitted: int
    stack_depth: UInt8Array
    valid: BoolArray
    action: Int64Array
    reward: Float32Array
    continues: Float32Array


def ring_bytes(num_lanes: int, lane_capacity: int, frame_shape: tuple[int, ...]) -> int:
    """Bytes of all arrays of a LaneRing with so many lanes, those of all writers together: exact."""
    frame_bytes = int(np.prod(frame_shape))
    field_bytes = sum(np.dtype(dtype).itemsize for dtype in _FIELD_DTYPES)
    return num_lanes * lane_capacity * (frame_bytes + field_bytes) + frame_bytes


class LaneRing:
    """The newest `lane_capacity` records of each of W * E lanes. A record's number is lane * lane_capacity + slot.

    Lane w * E + e is lane e of writer w.
    """

    def __init__(
        self,
        num_writers: int,
        num_lanes: int,
        lane_capacity: int,
        frame_shape: tuple[int, ...],
        stack: int,
        *,
        n_step: int,
    ) -> None:
        """`num_lanes` is E. ValueError if a lane cannot hold one transition: its first stack and n successors."""
        if lane_capacity < stack + n_step:
            raise ValueError(
                f"lane_capacity={lane_capacity} must be at least {stack + n_step}: a transition needs stack={stack} "
                f"frames for its first state and n_step={n_step} more"
            )
        shape = (num_writers * num_lanes, lane_capacity)
        self.frames: UInt8Array = np.zeros((shape[0] * lane_capacity + 1, *frame_shape), np.uint8)
        """(W * E * lane_capacity + 1, H, W[, 3]), by record number. The last one stays zero: padding."""
        # What came before a lane's first record is unknown. Full depth there makes a lane that joins in mid-episode
        # samplable from its K-th record on.
        self.stack_depth: UInt8Array = np.full(shape, stack, np.uint8)
        """(W * E, lane_capacity): frames between the episode's start and the record, both counted, at most K."""
        self.valid: BoolArray = np.zeros(shape, np.bool_)
        self.samplable: BoolArray = np.zeros(shape, np.bool_)
        self.action: Int64Array = np.zeros(shape, np.int64)
        self.reward: Float32Array = np.zeros(shape, np.float32)
        self.continues: Float32Array = np.zeros(shape, np.float32)
        self.num_steps = [0] * num_writers
        """Records ever written by each writer, per lane."""
        self.num_samplable = 0
        self.num_admitted = 0
        """Records that ever became samplable."""
        self.stack = stack
        self.n_step = n_step
        self._lanes_of = [slice(start, start + num_lanes) for start in range(0, shape[0], num_lanes)]
        self._frames_by_lane = self.frames[:-1].reshape(*shape, *frame_shape)

    @property
    def num_lanes(self) -> int:
        """W * E, the lanes of all writers."""
        return len(self.valid)

    @property
    def lanes_per_writer(self) -> int:
        """E."""
        return self.num_lanes // len(self.num_steps)

    @property
    def lane_capacity(self) -> int:
        """Records kept per lane."""
        return len(self.valid[0])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        fields = (self.stack_depth, self.valid, self.samplable, self.action, self.reward, self.continues)
        return self.frames.nbytes + sum(field.nbytes for field in fields)

    def lane_fill(self, writer: int) -> int:
        """Records held per lane of this writer; they are in slots 0 to lane_fill - 1."""
        return min(self.num_steps[writer], self.lane_capacity)

    def add(self, step: LaneStep, writer: int) -> Change:
        """Write one record per lane of this writer over its oldest ones. The arrays are copied.

        Raises ValueError when there is no such writer, or the frames are not uint8 of the shape that this ring keeps.
        """
        self._check(step, writer)
        lanes = self._lanes_of[writer]
        num_steps = self.num_steps[writer]
        slot = num_steps % self.lane_capacity
        previous = (slot - 1) % self.lane_capacity
        retired = self._retire_stacks_that_reach(slot, lanes)
        self._frames_by_lane[lanes, slot] = step.frame_tm1
        # The minimum before the sum: a byte holds the largest depth and nothing beyond.
        self.stack_depth[lanes, slot] = np.where(
            step.first_tm1, 1, np.minimum(self.stack_depth[lanes, previous], self.stack - 1) + 1
        )
        self.valid[lanes, slot] = step.valid
        self.action[lanes, slot] = step.a_tm1
        self.reward[lanes, slot] = step.r_t
        self.continues[lanes, slot] = step.continues_t
        # A lane that was reset in the middle of an episode leaves a last step whose successor was never seen.
        self.valid[lanes, previous] &= ~step.first_tm1
        admitted = self._admit_records_of_step(num_steps - self.n_step, lanes)
        self.num_steps[writer] += 1
        self.num_samplable += len(admitted) - len(retired)
        self.num_admitted += len(admitted)
        return Change(admitted, retired)

    def state(self) -> RingState:
        """A copy of all but the frames."""
        return RingState(
            tuple(self.num_steps),
            self.num_admitted,
            self.stack_depth.copy(),
            self.valid.copy(),
            self.action.copy(),
            self.reward.copy(),
            self.continues.copy(),
        )

    def restore(self, state: RingState) -> None:
        """Go on from `state`; the frames come by themselves. Raises CheckpointError for a ring of another shape."""
        if state.valid.shape != self.valid.shape or len(state.num_steps) != len(self.num_steps):
            raise CheckpointError(
                f"the saved replay has {state.valid.shape} lanes and steps, this one {self.valid.shape}: "
                "resume with the replay and the lanes that the run was started with"
            )
        self.num_steps, self.num_admitted = list(state.num_steps), state.num_admitted
        self.stack_depth[:], self.valid[:], self.action[:] = state.stack_depth, state.valid, state.action
        self.reward[:], self.continues[:] = state.reward, state.continues
        self.samplable[:] = _samplable(self, self._num_steps_of(np.arange(self.num_lanes)))
        self.num_samplable = int(self.samplable.sum())

    def frames_of(self, writer: int) -> UInt8Array:
        """(E, lane_capacity, H, W[, 3]): a view of the frames of one writer, by slot."""
        return self._frames_by_lane[self._lanes_of[writer]]

    def keys_of(self, records: Int64Array) -> Int64Array:
        """Keys (B,) of records (B,): numbers that no other record ever had or will have in this ring."""
        lane, slot = np.divmod(records, self.lane_capacity)
        newest = self._num_steps_of(lane) - 1
        step = newest - (newest - slot) % self.lane_capacity
        return step * self.num_lanes + lane

    def find_keys(self, keys: Int64Array) -> tuple[Int64Array, BoolArray]:
        """Records (B,) of these keys (B,), and (B,) which of them can still be sampled; elsewhere the record is void.

        Keys of an earlier ring of the same shape cannot be told from this one's.
        """
        step, lane = np.divmod(keys, self.num_lanes)
        age = self._num_steps_of(lane) - step
        records = lane * self.lane_capacity + step % self.lane_capacity
        return records, (age >= 1) & (age <= self.lane_capacity) & (step >= 0) & self.samplable.take(records)

    def check_valid(self) -> None:
        """Recompute what `add` keeps up to date; AssertionError tells the first thing that differs."""
        newest = self._num_steps_of(np.arange(self.num_lanes))[:, None] - 1
        step = newest - (newest - np.arange(self.lane_capacity)) % self.lane_capacity  # below 0: never written
        oldest = np.maximum(newest + 1 - self.lane_capacity, 0)
        depth = self.stack_depth.astype(np.int64)
        has_successor = (step >= oldest) & (step < newest)
        successor_depth = np.roll(depth, -1, axis=1)
        grows = successor_depth == np.minimum(depth + 1, self.stack)
        samplable = _samplable(self, self._num_steps_of(np.arange(self.num_lanes)))
        _require(not self.valid[step < oldest].any(), "a record that was never written is valid")
        _require(bool(((depth >= 1) & (depth <= self.stack)).all()), f"a stack depth is not in 1..{self.stack}")
        _require(
            bool((grows | (successor_depth == 1))[has_successor].all()),
            "a stack is neither one deeper than the one before nor an episode's first",
        )
        _require(bool(grows[self.valid & has_successor].all()), "an episode starts right after a valid record")
        _require(
            bool((self.samplable == samplable).all()),
            f"records {np.flatnonzero(self.samplable != samplable).tolist()} have the wrong samplable mark",
        )
        _require(
            self.num_samplable == int(samplable.sum()),
            f"num_samplable is {self.num_samplable}, but {int(samplable.sum())} records are samplable",
        )
        _require(not self.frames[-1].any(), "the padding frame is not zero")

    def _num_steps_of(self, lane: Int64Array) -> Int64Array:
        return np.array(self.num_steps).take(lane // self.lanes_per_writer)

    def _check(self, step: LaneStep, writer: int) -> None:
        if not 0 <= writer < len(self.num_steps):
            raise ValueError(f"writer={writer}: this replay has {len(self.num_steps)} writers, counted from 0")
        expected = (self.lanes_per_writer, *self.frames.shape[1:])
        if step.frame_tm1.shape != expected or step.frame_tm1.dtype != np.uint8:
            given = f"{step.frame_tm1.dtype} {step.frame_tm1.shape}"
            raise ValueError(f"frame_tm1 is {given}, this replay stores uint8 {expected}")

    def _retire_stacks_that_reach(self, slot: int, lanes: slice) -> Int64Array:
        """The oldest record is about to be overwritten: those whose stack needs its frame cannot be sampled now."""
        age = np.arange(self.stack)  # how much younger than the oldest record
        slots = (slot + age) % self.lane_capacity
        lane, i = np.nonzero(self.samplable[lanes, slots] & (self.stack_depth[lanes, slots] > age))
        retired: Int64Array = (lanes.start + lane) * self.lane_capacity + slots[i]
        self.samplable.ravel()[retired] = False
        return retired

    def _admit_records_of_step(self, step: int, lanes: slice) -> Int64Array:
        """The last successor of these records has arrived: they can be sampled from now on, if valid."""
        if step < 0:
            return np.zeros(0, np.int64)
        slot = step % self.lane_capacity
        # The ring is longer than a stack and n successors: only before a lane's first record can frames be missing.
        admitted = self.valid[lanes, slot] & (self.stack_depth[lanes, slot] <= step + 1)
        self.samplable[lanes, slot] = admitted
        records: Int64Array = (lanes.start + np.flatnonzero(admitted)) * self.lane_capacity + slot
        return records


def _samplable(ring: LaneRing, num_steps: Int64Array) -> BoolArray:
    """What the marks of `ring` have to be, whose lanes have written `num_steps` (W * E,) records each."""
    newest = num_steps[:, None] - 1
    step = newest - (newest - np.arange(ring.lane_capacity)) % ring.lane_capacity  # below 0: never written
    oldest = np.maximum(newest + 1 - ring.lane_capacity, 0)
    is_whole = step - ring.stack_depth.astype(np.int64) + 1 >= oldest
    samplable: BoolArray = ring.valid & (step + ring.n_step <= newest) & is_whole
    return samplable


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)
