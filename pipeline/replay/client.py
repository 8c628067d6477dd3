"""A role's end of the global replay: an actor's ReplayWriter, a learner's ReplayReader.

    actor:    add(step), ...   -> chunk full -> sent; the next one gathers meanwhile
              held back        -> asks whether there is room, which is a small message; then sends it again
    learner:  `prefetch` minibatches are asked for ahead, so that the next one is here when the last one is used up

A shard holds back whoever is ahead (`pipeline.replay.rate_limit`). Then `ready` waits a little and says no, so that a
role can look at its stop signal; after `wait_seconds` without a yes it raises StarvedError, which says who waits why.
A learner's wait begins anew whenever the replay has grown: a large one may take long to fill, and nothing is wrong.
A pause of the whole process is no part of it (`dask_jobs.watched_time`).
Not here: how a call reaches another host (`pipeline.cluster`).
"""

import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dask_jobs.watched_time import WatchedTime
from pipeline.errors import StarvedError
from pipeline.interfaces import (
    AddAnswer,
    Call,
    FramedBatch,
    ReplayCounts,
    ReplayHandle,
    SampleAnswer,
    StepChunk,
    TransitionSink,
    TransitionSource,
)
from pipeline.replay.config import ReplayTrafficConfig
from pipeline.types import Float32Array, Int64Array, LaneStep, TransitionBatch

_PATIENCE_SECONDS = 0.05
"""How long `ready` waits before it says no."""
_PAUSE_SECONDS = 0.002
"""Between two tries at a shard that held back."""


class _HeldBack:
    """How long a role has been held back in a row, and nothing it waits for has come nearer."""

    def __init__(self, who: str, limit_seconds: float) -> None:
        self._who = who
        self._limit_seconds = limit_seconds
        self._waited: WatchedTime | None = None

    def over(self) -> None:
        """The role goes on, or what it waits for comes nearer."""
        self._waited = None

    def pause(self, held_back: str) -> None:
        """Wait a moment. Raises StarvedError when it has been too long."""
        if self._waited is None:
            self._waited = WatchedTime(time.monotonic)
        self._waited.look()
        if self._waited.seconds > self._limit_seconds:
            raise StarvedError(f"{self._who} was held back for {self._limit_seconds:g} s: {held_back}")
        time.sleep(_PAUSE_SECONDS)


class _Sent(NamedTuple):
    chunk: StepChunk
    is_offered: bool
    """Or else it was only asked whether it may be."""
    call: Call[AddAnswer]


class ReplayWriter(TransitionSink):
    """Sends one actor's steps to its shard, in chunks. For one thread."""

    def __init__(
        self,
        who: str,
        shard: ReplayHandle,
        writer: int,
        attempt: int,
        config: ReplayTrafficConfig,
        timeout_seconds: float,
    ) -> None:
        """`who`: the actor's name, for messages; `writer`, `attempt`: see StepChunk."""
        self.waited_seconds = 0.0
        """Time that this actor was held back, or waited for the wire."""
        self._shard = shard
        self._writer = writer
        self._attempt = attempt
        self._config = config
        self._timeout_seconds = timeout_seconds
        self._held_back = _HeldBack(who, config.wait_seconds)
        self._gathered: list[LaneStep] = []
        self._num_chunks = 0
        self._sent: _Sent | None = None

    def ready(self) -> bool:
        """True if a step may be added now. Waits a little; raises StarvedError when it has been too long."""
        start = time.monotonic()
        ready = self._make_room(start + _PATIENCE_SECONDS)
        self.waited_seconds += time.monotonic() - start
        return ready

    def add(self, step: LaneStep) -> None:
        """Gather one step of all lanes, after `ready`. The arrays are copied."""
        self._gathered.append(LaneStep._make(field.copy() for field in step))
        if len(self._gathered) == self._config.chunk_steps and self._sent is None:
            self._send(self._chunk())

    def _make_room(self, end: float) -> bool:
        while len(self._gathered) == self._config.chunk_steps:
            if self._deliver():
                self._send(self._chunk())
            elif time.monotonic() > end:
                return False
        self._held_back.over()
        return True

    def _deliver(self) -> bool:
        """True once the chunk that is under way is stored; else it is sent again when there is room."""
        if self._sent is None:
            return True
        chunk, is_offered, call = self._sent
        answer = call.result(self._timeout_seconds)
        if answer.held_back:
            self._held_back.pause(answer.held_back)
            self._sent = _Sent(chunk, False, self._shard.may_add())
        elif is_offered:
            self._sent = None
        else:
            self._send(chunk)
        return self._sent is None

    def _chunk(self) -> StepChunk:
        self._num_chunks += 1
        steps = LaneStep._make(np.stack(fields) for fields in zip(*self._gathered, strict=True))
        self._gathered = []
        return StepChunk(self._writer, self._attempt, self._num_chunks, steps)

    def _send(self, chunk: StepChunk) -> None:
        self._sent = _Sent(chunk, True, self._shard.add(chunk))


class _Asked(NamedTuple):
    shard: int
    call: Call[SampleAnswer]


class ReplayReader(TransitionSource):
    """Draws minibatches from all shards: the shard of each is chosen by its mass. For one thread.

    Departure: a minibatch comes from one shard whole, so its transitions are less mixed than the replay is.
    Departure: with `slack_updates` set a shard gives no more minibatches than are due for its steps, and its actors
    wait until they are drawn. So in the long run shards are drawn from in proportion to the steps added to them,
    whatever their masses; with `slack_updates: null` in proportion to their masses, as from one database.
    """

    def __init__(
        self,
        who: str,
        shards: Sequence[ReplayHandle],
        stack: int,
        config: ReplayTrafficConfig,
        timeout_seconds: float,
        rng: np.random.Generator,
    ) -> None:
        """`who`: the learner's name, for messages; `stack`: K frames of an observation."""
        self.waited_seconds = 0.0
        """Time that this learner was held back, or waited for the wire."""
        self._shards = tuple(shards)
        self._stack = stack
        self._config = config
        self._timeout_seconds = timeout_seconds
        self._rng = rng
        self._held_back = _HeldBack(who, config.wait_seconds)
        self._counts = [ReplayCounts(0, 0, 0, 0.0)] * len(shards)
        self._asked: deque[_Asked] = deque()
        self._next: tuple[int, FramedBatch] | None = None
        self._drawn_from = 0
        self._update: Call[None] | None = None

    @property
    def num_steps(self) -> int:
        """Agent steps added to all shards, as far as this learner knows."""
        return sum(counts.num_steps for counts in self._counts)

    def num_transitions(self) -> int:
        """Transitions in all shards, as far as this learner knows."""
        return sum(counts.num_transitions for counts in self._counts)

    def ready(self) -> bool:
        """True if `sample` has a minibatch now. Waits a little; raises StarvedError when it has been too long."""
        start = time.monotonic()
        ready = self._fetch(start + _PATIENCE_SECONDS)
        self.waited_seconds += time.monotonic() - start
        return ready

    def sample(self) -> TransitionBatch:
        """The next minibatch. Raises ValueError unless `ready` said that there is one."""
        if self._next is None:
            raise ValueError("no minibatch is here: sample() goes after ready()")
        self._drawn_from, batch = self._next
        self._next = None
        if self._config.prefetch > 0:
            # Asked for now, so that they travel while this one is computed with.
            self._ask()
        return TransitionBatch(
            s_tm1=batch.stacks[:, : self._stack],
            a_tm1=batch.a_tm1,
            r_t=batch.r_t,
            discount_t=batch.discount_t,
            s_t=batch.stacks[:, -self._stack :],
            relative_chance=batch.relative_chance,
            key=batch.key,
        )

    def update_priorities(self, key: Int64Array, abs_error: Float32Array) -> None:
        """Tell the shard of the last sample; the answer is awaited at the next call, so that its errors are seen."""
        if self._update is not None:
            self._update.result(self._timeout_seconds)
        self._update = self._shards[self._drawn_from].update_priorities(key, abs_error)

    def _fetch(self, end: float) -> bool:
        while self._next is None:
            self._ask()
            asked = self._asked.popleft()
            answer = asked.call.result(self._timeout_seconds)
            num_steps, self._counts[asked.shard] = self.num_steps, answer.counts
            if self.num_steps > num_steps:
                self._held_back.over()
            if answer.batch is not None:
                self._next = (asked.shard, answer.batch)
            else:
                # First of all: a shard that takes longer to answer than one waits here starves nobody unnoticed.
                self._held_back.pause(answer.held_back)
                if time.monotonic() > end:
                    return False
        self._held_back.over()
        return True

    def _ask(self) -> None:
        while len(self._asked) < max(self._config.prefetch, 1):
            shard = self._choose()
            self._asked.append(_Asked(shard, self._shards[shard].sample()))

    def _choose(self) -> int:
        mass = np.array([counts.mass for counts in self._counts])
        if not mass.all():  # a shard that is not known yet, or empty: ask it as often as any other
            return int(self._rng.integers(len(mass)))
        return int(self._rng.choice(len(mass), p=mass / mass.sum()))
