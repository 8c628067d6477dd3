"""Simulated parameter servers: each keeps a slice and works one message at a time; the first holds the leader as well.

Which gradients are kept and which make an update is not simulated: the real rules decide, `reason_to_refuse` of the
shards and `Quorum` of the leader.
Not here: who sends the messages (`studies.simulation.workers`).
"""

from collections import deque
from collections.abc import Sequence
from functools import partial

from pipeline.interfaces import ClosedUpdate, Commit, CommitAnswer, Push
from pipeline.param_server.quorum import Quorum
from pipeline.param_server.synchronous import reason_to_refuse
from studies.simulation.clock import Clock, Cores, Event, Link
from studies.simulation.costs import Costs

GENERATION = 1


class Server:
    """One slice: its version, the gradients that it keeps, and the messages that wait for it."""

    def __init__(self, clock: Clock, cores: Cores, costs: Costs, num_params: int) -> None:
        """`num_params` is the size of the slice."""
        self.version = 0
        self.num_params = num_params
        self.slice_bytes = num_params * costs.bytes_per_param
        self.inward = Link(clock, costs.wire.bytes_per_second)
        self.outward = Link(clock, costs.wire.bytes_per_second)
        self.busy_seconds = 0.0
        self._clock = clock
        self._cores = cores
        self._costs = costs
        self._kept: dict[str, Push] = {}
        self._messages: deque[tuple[float, Event]] = deque()
        self._is_busy = False
        self._waiting: list[tuple[int, Event]] = []
        """For a version: who is answered then."""

    def take(self, seconds: float, then: Event) -> None:
        """Work on a message for so long, after those that came before; `then` happens at its end."""
        self._messages.append((seconds, then))
        if not self._is_busy:
            self._work()

    def take_next(self, seconds: float, then: Event) -> None:
        """As `take`, before those that wait already; only at the end of a message, which this is the rest of."""
        self._messages.appendleft((seconds, then))

    def keep(self, push: Push) -> str:
        """Keep a gradient, or say why not; see SynchronousShard.push."""
        reason = reason_to_refuse(push, GENERATION, self.version, self._kept.get(push.sender))
        if not reason:
            self._kept[push.sender] = push
        return reason

    def apply(self, update: ClosedUpdate) -> None:
        """One version further; who waited for it is answered in turn."""
        assert update.version == self.version and all(sender in self._kept for sender in update.senders), update
        self.version += 1
        self._kept.clear()
        due = [answer for version, answer in self._waiting if version <= self.version]
        self._waiting = [waiting for waiting in self._waiting if waiting[0] > self.version]
        for answer in due:
            self._answer_wait(answer)

    def answer_at(self, version: int, answer: Event) -> None:
        """Answer as soon as this version is reached. Waiting itself costs nothing: it occupies no thread."""
        if self.version >= version:
            self._answer_wait(answer)
        else:
            self._waiting.append((version, answer))

    def _answer_wait(self, answer: Event) -> None:
        self.take(self._costs.message.server.fixed, answer)

    def _work(self) -> None:
        self._is_busy = True
        seconds, then = self._messages.popleft()
        self._cores.run(seconds, partial(self._worked, self._clock.now, then))

    def _worked(self, began: float, then: Event) -> None:
        self.busy_seconds += self._clock.now - began
        # Still busy while `then` happens: what it takes next comes before all else.
        then()
        self._is_busy = False
        if self._messages:
            self._work()


class Leader:
    """The real quorum, in the process of the first server, whose one thread it shares."""

    def __init__(self, clock: Clock, costs: Costs, servers: Sequence[Server], quorum: Quorum) -> None:
        self.updates: list[ClosedUpdate] = []
        """That were closed."""
        self.commits: list[tuple[Commit, CommitAnswer]] = []
        """In the order in which they were judged."""
        self._clock = clock
        self._costs = costs
        self._first, *self._others = servers
        self._quorum = quorum

    def commit(self, commit: Commit, answer: Event) -> None:
        """Judge a commit, and have the update applied that it closes; `answer` happens when all that is said."""
        self._first.take(self._costs.message.server.fixed, partial(self._judge, commit, answer))

    def remind(self) -> None:
        """Take a reminder of one who waits: where the quorum is chosen, it may be complete by now."""
        self._first.take(self._costs.message.server.fixed, self._look)

    def _judge(self, commit: Commit, answer: Event) -> None:
        answered, closed = self._quorum.commit(commit, self._clock.now)
        self.commits.append((commit, answered))
        self._close(closed, answer)

    def _look(self) -> None:
        self._close(self._quorum.look(self._clock.now), lambda: None)

    def _close(self, closed: ClosedUpdate | None, answer: Event) -> None:
        if closed is None:
            answer()
            return
        self.updates.append(closed)
        saying = len(self._others) * self._costs.message.caller.fixed
        self._first.take_next(saying, partial(self._tell, closed, answer))

    def _tell(self, update: ClosedUpdate, answer: Event) -> None:
        if self._others:
            self._clock.after(self._costs.wire.latency_seconds, partial(self._told, update))
        self._first.take_next(self._apply_seconds(self._first, update), partial(self._applied, update, answer))

    def _told(self, update: ClosedUpdate) -> None:
        for server in self._others:
            seconds = self._costs.message.server.fixed + self._apply_seconds(server, update)
            server.take(seconds, partial(server.apply, update))

    def _applied(self, update: ClosedUpdate, answer: Event) -> None:
        self._first.apply(update)
        answer()

    def _apply_seconds(self, server: Server, update: ClosedUpdate) -> float:
        return self._costs.apply.seconds(server.num_params, len(update.senders))
