"""One shard of the global replay: a replay memory that several actors write to and several learners draw from.

Nair et al. 2015 (Gorila's global replay: one distributed database beside the actors' own memories); Horgan et al. 2018,
section 3. What becomes of a chunk, decided in this order:

    of an older start of its actor    RemoteLostError      a ghost of a host that was given up
    sequence number seen before       stored already       answered like the first time
    actors ahead of learners          held back            to be sent again, unless learners wait for it
    else                              stored

Not here: what travels how (`pipeline.cluster`), waiting (`pipeline.replay.client`), settings (`replay.config`).
"""

import threading

import numpy as np

from pipeline.errors import RemoteLostError
from pipeline.interfaces import AddAnswer, FramedBatch, Immediate, ReplayCounts, ReplayHandle, SampleAnswer, StepChunk
from pipeline.replay.keeper import ReplayKeeper
from pipeline.replay.memory import ReplayMemory
from pipeline.replay.rate_limit import RateLimit
from pipeline.types import Float32Array, Int64Array, LaneStep


class ReplayShard:
    """Each method is short and atomic, and no array it returns ever changes.

    The lock is there for the reason of `pipeline.param_server.shard`: callers in the same process come in their own
    threads.
    """

    def __init__(self, memory: ReplayMemory, limit: RateLimit, keeper: ReplayKeeper | None = None) -> None:
        """`keeper`: who saves that memory; None: nobody."""
        self._memory = memory
        self._keeper = keeper
        self._limit = limit
        self._num_steps = 0
        self._num_batches = 0
        self._newest: dict[int, tuple[int, int]] = {}
        """Writer -> (attempt, sequence) of its last stored chunk."""
        self._lock = threading.Lock()

    def add(self, chunk: StepChunk) -> AddAnswer:
        """Store the steps of one chunk, or say why its actor has to wait. Raises RemoteLostError for a ghost."""
        with self._lock:
            attempt, sequence = self._newest.get(chunk.writer, (chunk.attempt, 0))
            if chunk.attempt < attempt:
                raise RemoteLostError(f"writer {chunk.writer} was started again: attempt {chunk.attempt} is over")
            if chunk.attempt == attempt and chunk.sequence <= sequence:
                return AddAnswer("", self._counts())
            held_back = self._why_no_add()
            if not held_back:
                self._newest[chunk.writer] = (chunk.attempt, chunk.sequence)
                for step in range(len(chunk.steps.valid)):
                    self._memory.add(LaneStep._make(field[step] for field in chunk.steps), chunk.writer)
                self._num_steps += int(np.count_nonzero(chunk.steps.valid))
                if self._keeper is not None:
                    self._keeper.save_if_due()
            return AddAnswer(held_back, self._counts())

    def may_add(self) -> AddAnswer:
        """What `add` would answer now."""
        with self._lock:
            return AddAnswer(self._why_no_add(), self._counts())

    def sample(self) -> SampleAnswer:
        """Draw a minibatch, or say why the learner has to wait."""
        with self._lock:
            held_back = self._limit.why_no_sample(self._memory.num_added, self._num_steps, self._num_batches)
            held_back = held_back or self._why_none_now()
            if held_back:
                return SampleAnswer(None, held_back, self._counts())
            self._num_batches += 1
            return SampleAnswer(self._draw(), "", self._counts())

    def update_priorities(self, key: Int64Array, abs_error: Float32Array) -> None:
        """See TransitionSource.update_priorities."""
        with self._lock:
            self._memory.update_priorities(key, abs_error)

    def _why_no_add(self) -> str:
        if self._why_none_now():
            return ""  # whoever is ahead: only more steps help
        return self._limit.why_no_add(self._memory.num_added, self._num_steps, self._num_batches)

    def _why_none_now(self) -> str:
        """Why nothing can be drawn at this moment, however much was added; empty if something can.

        A lane of few steps may hold a single candidate, and that may be the end of a game.
        """
        return "" if self._memory.num_transitions() else "no step that the replay holds can be drawn now"

    def _draw(self) -> FramedBatch:
        batch = self._memory.sample()
        # The memory fills the same arrays each time, and this minibatch may still be on its way then.
        return FramedBatch(
            self._memory.stacks.copy(),
            batch.a_tm1.copy(),
            batch.r_t.copy(),
            batch.discount_t.copy(),
            batch.relative_chance.copy(),
            batch.key.copy(),
        )

    def _counts(self) -> ReplayCounts:
        return ReplayCounts(self._memory.num_transitions(), self._num_steps, self._num_batches, self._memory.mass)


class DirectReplay(ReplayHandle):
    """A shard in the same process: every call is answered when it returns."""

    def __init__(self, shard: ReplayShard) -> None:
        self._shard = shard

    def add(self, chunk: StepChunk) -> Immediate[AddAnswer]:
        """See ReplayShard.add."""
        return Immediate(self._shard.add(chunk))

    def may_add(self) -> Immediate[AddAnswer]:
        """See ReplayShard.may_add."""
        return Immediate(self._shard.may_add())

    def sample(self) -> Immediate[SampleAnswer]:
        """See ReplayShard.sample."""
        return Immediate(self._shard.sample())

    def update_priorities(self, key: Int64Array, abs_error: Float32Array) -> Immediate[None]:
        """See ReplayShard.update_priorities."""
        self._shard.update_priorities(key, abs_error)
        return Immediate(None)
