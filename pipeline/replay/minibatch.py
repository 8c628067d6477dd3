"""From records to transitions: stacks are put together and rewards summed when a minibatch is drawn.

The transition of record i goes from its own stack to that of record i + m, m steps later: n, or fewer where a record
before i + n is not valid. With K = 3, n = 3 and the lane of `pipeline.replay.ring`, whose record 3 ends an episode:

    record i                  0      1      2
    m                         3      2      1        never past record 3: after a time limit s_t ends with its frame a3
    s_tm1                     00a    0aa    aaa      = the emulator's own zero-padded stack
    s_t                       aaa    aaa    aaa      the same for all three: that of record 3
    r_t                       r0 + g c0 r1 + g² c0 c1 r2        r1 + g c1 r2        r2
    discount_t                g³ c0 c1 c2                       g² c1 c2            g c2

where g is the discount and c is 0 where the return ends (game over, or a lost life if the protocol says so). An episode
that ends by a time limit has c = 1 to its end: it bootstraps from the last thing that was seen of it. A lane that was
reset in mid-episode is treated alike: its last record is not valid, since nobody saw where it led.

n-step returns: Sutton 1988; summed over what was really played, without correction for the exploring policy, as in
Hessel et al. 2018, section "multi-step learning", and Horgan et al. 2018, section 3.2.
Not here: which records can make a transition (`pipeline.replay.ring`), which are drawn (`replay.sampler`).
"""

import numpy as np

from pipeline.replay.ring import LaneRing
from pipeline.replay.sampler import Draw
from pipeline.types import Int64Array, TransitionBatch, UInt8Array


class Minibatch:
    """The arrays of one minibatch, filled again for each draw.

    Fresh arrays would cost more than filling them: their pages would have to be mapped each time.
    """

    def __init__(self, ring: LaneRing, batch_size: int, discount: float) -> None:
        self._ring = ring
        self._discount = np.float32(discount)
        stack = ring.stack
        # One step apart, both states have K - 1 frames in common: they are copied once.
        num_frames = stack + 1 if ring.n_step == 1 else 2 * stack
        frames = np.zeros((batch_size, num_frames, *ring.frames.shape[1:]), np.uint8)
        self.stacks: UInt8Array = frames
        """(B, K + 1, H, W[, 3]) with n_step 1, else (B, 2 K, ...): s_tm1 is its first K frames, s_t its last K."""
        self._rows = frames.reshape(batch_size * num_frames, -1)
        self._ring_rows = ring.frames.reshape(len(ring.frames), -1)
        self._batch = TransitionBatch(
            s_tm1=frames[:, :stack],
            a_tm1=np.zeros(batch_size, np.int64),
            r_t=np.zeros(batch_size, np.float32),
            discount_t=np.zeros(batch_size, np.float32),
            s_t=frames[:, -stack:],
            relative_chance=np.zeros(batch_size, np.float32),
            key=np.zeros(batch_size, np.int64),
        )

    def fill(self, draw: Draw) -> TransitionBatch:
        """The transitions of the records that were drawn, in that order; valid until the next call."""
        records, batch = draw.records, self._batch
        last = self._sum_rewards(records)
        frame = self._frames_one_step_apart(records) if self._ring.n_step == 1 else self._frames_of_both(records, last)
        # One copy of a whole frame per index. Any mode but "raise" lets NumPy write to `out` without a buffer.
        self._ring_rows.take(frame.ravel(), axis=0, out=self._rows, mode="clip")
        self._ring.action.take(records, out=batch.a_tm1, mode="clip")
        batch.relative_chance[:] = draw.relative_chance
        batch.key[:] = self._ring.keys_of(records)
        return batch

    def _sum_rewards(self, records: Int64Array) -> Int64Array:
        """Write r_t and discount_t; return the record (B,) whose stack is s_t."""
        ring, r_t, discount_t = self._ring, self._batch.r_t, self._batch.discount_t
        ring.reward.take(records, out=r_t, mode="clip")
        ring.continues.take(records, out=discount_t, mode="clip")
        np.multiply(discount_t, self._discount, out=discount_t)
        last = self._successor(records)
        goes_on = np.ones(len(records), np.bool_)
        for _ in range(ring.n_step - 1):
            goes_on &= ring.valid.take(last)
            r_t += np.where(goes_on, discount_t * ring.reward.take(last), 0)
            discount_t *= np.where(goes_on, self._discount * ring.continues.take(last), 1)
            last = np.where(goes_on, self._successor(last), last)
        return last

    def _successor(self, records: Int64Array) -> Int64Array:
        slot = records % self._ring.lane_capacity
        return np.where(slot < self._ring.lane_capacity - 1, records + 1, records - slot)

    def _frames_one_step_apart(self, records: Int64Array) -> Int64Array:
        """(B, K + 1) frame numbers, oldest first: the episode's start cuts both stacks at the same place."""
        return self._frames(records, np.arange(self._ring.stack - 1, -2, -1))  # K = 4: 3 2 1 0 -1, -1: the successor

    def _frames_of_both(self, records: Int64Array, last: Int64Array) -> Int64Array:
        """(B, 2 K) frame numbers, oldest first: the stack of `records`, then that of `last`."""
        age = np.arange(self._ring.stack - 1, -1, -1)
        return np.concatenate([self._frames(records, age), self._frames(last, age)], axis=1)

    def _frames(self, records: Int64Array, age: Int64Array) -> Int64Array:
        ring = self._ring
        slot = records % ring.lane_capacity
        frame: Int64Array = (records - slot)[:, None] + (slot[:, None] - age) % ring.lane_capacity
        before_episode = age >= ring.stack_depth.take(records)[:, None]
        frame[before_episode] = len(ring.frames) - 1
        return frame
