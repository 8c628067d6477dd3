"""Simulated hosts and shards. What becomes of a push is not simulated: the real rule decides, `reason_to_drop`.

A host answers calls from other processes one at a time, as Dask's one thread for actors does. A shard is locked while
a call is carried out, be it of its host's thread or of a bundle in the same process, which computes it on its own core.
Not here: who calls (`studies.gorila_growth.bundles`).
"""

from collections import deque
from collections.abc import Callable
from functools import partial

from pipeline.interfaces import Push
from pipeline.param_server.shard import ADMITTED, STALE, reason_to_drop
from pipeline.types import Receipt
from studies.gorila_growth.costs import GorilaCosts
from studies.simulation.clock import Clock, Cores, Event, Link

GENERATION = 1
Answer = Callable[[Receipt], object]


class Turns:
    """One at a time, in the order of asking."""

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()
        self._is_taken = False

    def ask(self, begin: Event) -> None:
        """`begin` happens when it is the caller's turn, which lasts until `leave`."""
        if self._is_taken:
            self._waiting.append(begin)
        else:
            self._is_taken = True
            begin()

    def leave(self) -> None:
        """The next one begins."""
        if self._waiting:
            self._waiting.popleft()()
        else:
            self._is_taken = False


class SimulatedHost:
    """One process: its cores, its network, and the one thread that answers calls from outside."""

    def __init__(self, clock: Clock, cores: Cores, bytes_per_second: float) -> None:
        self.cores = cores
        self.inward = Link(clock, bytes_per_second)
        self.outward = Link(clock, bytes_per_second)
        self.turns = Turns()


class SimulatedShard:
    """One slice: its version, what each sender sent last, and who waits for it."""

    def __init__(
        self, clock: Clock, host: SimulatedHost, costs: GorilaCosts, num_params: int, max_staleness: int | None
    ) -> None:
        """`num_params` is the size of the slice."""
        self.version = 0
        self.host = host
        self.num_params = num_params
        self.busy_seconds = 0.0
        """While somebody's call was carried out."""
        self._clock = clock
        self._direct, self._wire = costs.direct, costs.wire
        self._max_staleness = max_staleness
        self._last_sequence: dict[str, int] = {}
        self._lock = Turns()
        self._began = 0.0

    def push_directly(self, push: Push, cores: Cores, answer: Answer) -> None:
        """Within one process, on the caller's cores."""
        self._lock.ask(partial(self._push, push, None, cores, answer))

    def push_from_outside(self, push: Push, answer: Answer) -> None:
        """A push that has arrived at the host."""
        self.host.turns.ask(
            partial(self._lock.ask, partial(self._push, push, self.host.turns, self.host.cores, answer))
        )

    def read_directly(self, known_version: int, cores: Cores, answer: Callable[[int], object]) -> None:
        """Within one process: the version, after the slice was copied if it is newer."""
        self._lock.ask(partial(self._read, known_version, None, cores, answer))

    def read_from_outside(self, known_version: int, answer: Callable[[int], object]) -> None:
        """A pull that has arrived at the host; the slice has then to travel."""
        self.host.turns.ask(
            partial(self._lock.ask, partial(self._read, known_version, self.host.turns, self.host.cores, answer))
        )

    def _push(self, push: Push, turns: Turns | None, cores: Cores, answer: Answer) -> None:
        last = self._last_sequence.get(push.sender, 0)
        reason = reason_to_drop(push, GENERATION, self.version, last, self._max_staleness)
        whole = self._direct.push if turns is None else self._wire.push.server
        seconds = whole.seconds(self.num_params)
        if reason != ADMITTED:
            # What the update would take is not spent; all else is.
            dropped = self._direct.message if turns is None else self._wire.message.server.fixed
            seconds = max(seconds - self._direct.push.seconds(self.num_params), dropped)
        self._began = self._clock.now
        cores.run(seconds, partial(self._pushed, push, reason, turns, answer))

    def _pushed(self, push: Push, reason: str, turns: Turns | None, answer: Answer) -> None:
        staleness = self.version - push.computed_at
        if reason in (ADMITTED, STALE):
            self._last_sequence[push.sender] = push.sequence
        if reason == ADMITTED:
            self.version += 1
        answer(Receipt(reason == ADMITTED, reason, self.version, staleness))
        self._done(turns)

    def _read(self, known_version: int, turns: Turns | None, cores: Cores, answer: Callable[[int], object]) -> None:
        is_known = known_version == self.version
        if turns is None:
            seconds = self._direct.message if is_known else self._direct.pull.seconds(self.num_params)
        else:
            cost = self._wire.message if is_known else self._wire.pull
            seconds = cost.server.seconds(self.num_params)
        self._began = self._clock.now
        cores.run(seconds, partial(self._was_read, turns, answer))

    def _was_read(self, turns: Turns | None, answer: Callable[[int], object]) -> None:
        answer(self.version)
        self._done(turns)

    def _done(self, turns: Turns | None) -> None:
        self.busy_seconds += self._clock.now - self._began
        self._lock.leave()
        if turns is not None:
            turns.leave()
