"""What a replay remembers: one ring of records per lane, each frame stored once, stacks assembled on demand.

Record i of a lane is one LaneStep: the newest frame of the observation in which the action was chosen, and what came of
it. Its successor's newest frame is the frame of record i + 1. With K = 3 and an episode of three steps (the last frame
comes with an action that is ignored: the emulator resets in the next step), a lane looks like this:

    record           0    1    2    3    4    5
    frame            a0   a1   a2   a3   b0   b1      a0..a3 is the first episode
    first            yes  -    -    -    yes  -
    valid            yes  yes  yes  -    yes  yes     record 3: the episode was over, the action did nothing
    stack depth      1    2    3    3    1    2       real frames in the record's stack; zeros before them
    stack of s_tm1   00a  0aa  aaa       00b          = the emulator's own zero-padded stack
    stack of s_t     0aa  aaa  aaa       0bb          s_t of record 2 ends with a3: true also after a time limit
    samplable        yes  yes  yes  -    yes  -       record 5: its successor has not arrived yet

A record is samplable if it is valid, its successor is there, and no frame of its stack has been overwritten.

Not here: which records are drawn (`pipeline.replay.uniform`). Not thread-safe: one role adds and samples in turn.
"""

import numpy as np

from pipeline.types import BoolArray, Float32Array, Int64Array, LaneStep, UInt8Array

_FIELD_DTYPES = (np.uint8, np.bool_, np.bool_, np.int64, np.float32, np.float32)
"""Of stack depth, valid, samplable, action, reward, continues."""


def ring_bytes(num_lanes: int, lane_capacity: int, frame_shape: tuple[int, ...]) -> int:
    """Bytes of all arrays of a LaneRing of this size: exact."""
    frame_bytes = int(np.prod(frame_shape))
    field_bytes = sum(np.dtype(dtype).itemsize for dtype in _FIELD_DTYPES)
    return num_lanes * lane_capacity * (frame_bytes + field_bytes) + frame_bytes


class LaneRing:
    """The newest `lane_capacity` records of each of E lanes. A record's number is lane * lane_capacity + slot.

    All lanes are written in step, at the same slot; what differs between them is where episodes begin and end.
    """

    def __init__(self, num_lanes: int, lane_capacity: int, frame_shape: tuple[int, ...], stack: int) -> None:
        if lane_capacity <= stack:
            raise ValueError(
                f"lane_capacity={lane_capacity} must be larger than stack={stack}: a transition needs both its stacks"
            )
        shape = (num_lanes, lane_capacity)
        self.frames: UInt8Array = np.zeros((num_lanes * lane_capacity + 1, *frame_shape), np.uint8)
        """(E * lane_capacity + 1, H, W[, 3]), by record number. The last one stays zero: padding before an episode."""
        # What came before a lane's first record is unknown. Full depth there makes a lane that joins in mid-episode
        # samplable from its K-th record on.
        self.stack_depth: UInt8Array = np.full(shape, stack, np.uint8)
        """(E, lane_capacity): frames between the episode's start and the record, both counted, at most K."""
        self.valid: BoolArray = np.zeros(shape, np.bool_)
        self.samplable: BoolArray = np.zeros(shape, np.bool_)
        self.action: Int64Array = np.zeros(shape, np.int64)
        self.reward: Float32Array = np.zeros(shape, np.float32)
        self.continues: Float32Array = np.zeros(shape, np.float32)
        self.num_steps = 0
        """Records ever written, per lane."""
        self.num_samplable = 0
        self._stack = stack
        self._frames_by_lane = self.frames[:-1].reshape(num_lanes, lane_capacity, *frame_shape)
        self._flat_frames = self.frames.reshape(len(self.frames), -1)

    @property
    def num_lanes(self) -> int:
        """E."""
        return len(self.valid)

    @property
    def lane_capacity(self) -> int:
        """Records kept per lane."""
        return len(self.valid[0])

    @property
    def lane_fill(self) -> int:
        """Records held per lane; they are in slots 0 to lane_fill - 1."""
        return min(self.num_steps, self.lane_capacity)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        fields = (self.stack_depth, self.valid, self.samplable, self.action, self.reward, self.continues)
        return self.frames.nbytes + sum(field.nbytes for field in fields)

    def add(self, step: LaneStep) -> None:
        """Write one record per lane over the oldest ones. The arrays are copied.

        Raises ValueError when the frames are not uint8 of the shape that this ring was made for.
        """
        expected = (self.num_lanes, *self.frames.shape[1:])
        if step.frame_tm1.shape != expected or step.frame_tm1.dtype != np.uint8:
            given = f"{step.frame_tm1.dtype} {step.frame_tm1.shape}"
            raise ValueError(f"frame_tm1 is {given}, this replay stores uint8 {expected}")
        slot = self.num_steps % self.lane_capacity
        previous = (slot - 1) % self.lane_capacity
        self._retire_stacks_that_reach(slot)
        self._frames_by_lane[:, slot] = step.frame_tm1
        self.stack_depth[:, slot] = np.where(
            step.first_tm1, 1, np.minimum(self.stack_depth[:, previous] + 1, self._stack)
        )
        self.valid[:, slot] = step.valid
        self.action[:, slot] = step.a_tm1
        self.reward[:, slot] = step.r_t
        self.continues[:, slot] = step.continues_t
        self._admit_records_followed_by(step.first_tm1, previous)
        self.num_steps += 1

    def gather_stacks(self, records: Int64Array, out: UInt8Array) -> None:
        """Write the K + 1 newest frames of each record's successor into `out` (B, (K + 1) * pixels), oldest first.

        Frames 0..K-1 are s_tm1 and 1..K are s_t: the episode's start cuts both at the same place.
        """
        slot = records % self.lane_capacity
        lane_start = records - slot
        age = np.arange(self._stack - 1, -2, -1)  # K = 4: 3 2 1 0 -1, where -1 is the successor
        frame = lane_start[:, None] + (slot[:, None] - age) % self.lane_capacity
        before_episode = age >= self.stack_depth.take(records)[:, None]
        frame[before_episode] = len(self.frames) - 1
        # One copy of a whole frame per index. Any mode but "raise" lets NumPy write to `out` without a buffer.
        self._flat_frames.take(frame.ravel(), axis=0, out=out.reshape(frame.size, -1), mode="clip")

    def check_valid(self) -> None:
        """Recompute what `add` keeps up to date; AssertionError tells the first thing that differs."""
        newest = self.num_steps - 1
        oldest = self.num_steps - self.lane_fill
        step = newest - (newest - np.arange(self.lane_capacity)) % self.lane_capacity  # below 0: never written
        depth = self.stack_depth.astype(np.int64)
        has_successor = (step >= oldest) & (step < newest)
        successor_depth = np.roll(depth, -1, axis=1)
        grows = successor_depth == np.minimum(depth + 1, self._stack)
        samplable = self.valid & has_successor & (step - depth + 1 >= oldest)
        _require(not self.valid[:, step < oldest].any(), "a record that was never written is valid")
        _require(bool(((depth >= 1) & (depth <= self._stack)).all()), f"a stack depth is not in 1..{self._stack}")
        _require(
            bool((grows | (successor_depth == 1))[:, has_successor].all()),
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

    def _retire_stacks_that_reach(self, slot: int) -> None:
        """The oldest record is about to be overwritten: those whose stack needs its frame cannot be sampled now."""
        age = np.arange(self._stack)  # how much younger than the oldest record
        slots = (slot + age) % self.lane_capacity
        before = self.samplable[:, slots]
        after = before & (self.stack_depth[:, slots] <= age)
        self.samplable[:, slots] = after
        self.num_samplable += int(np.count_nonzero(after)) - int(np.count_nonzero(before))

    def _admit_records_followed_by(self, first: BoolArray, previous: int) -> None:
        """The successor of the records in slot `previous` has arrived: they can be sampled from now on, if valid."""
        # A lane that was reset in the middle of an episode leaves a last step whose successor was never seen.
        self.valid[:, previous] &= ~first
        admitted = self.valid[:, previous] & (self.stack_depth[:, previous] <= self.num_steps)
        self.samplable[:, previous] = admitted
        self.num_samplable += int(np.count_nonzero(admitted))


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)
