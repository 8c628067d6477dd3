"""Evaluations that wait for hosts, as decisions: what is seen comes in, what to start, take or give up comes out.

    waiting, in order ── Start ──► played on a host, one on each ── ended ──► HandOver
        ▲                                  │ the host is lost, or what was played there does not arrive
        └───────────── GiveBack ───────────┘ more often than `max_restarts`: Fail

One of which nothing was ever heard may wait there behind another program's task: that host is no lost one, and each
evaluation has as many tries of that kind for itself.

No clock, no cluster: times and hosts are passed in. Not here: doing it (`pipeline.experiments.scoring.tasks`).
"""

import heapq
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple


class Fate(Enum):
    """What has become of an evaluation that was started on a host."""

    PLAYING = "it is played"
    ENDED = "it has ended, with games or with an error"
    LOST = "it was lost with its host"
    SILENT = "it has said nothing for too long"
    UNHEARD = "it has never said anything, for too long"


def fate_of(*, is_present: bool, is_ended: bool, is_cancelled: bool, is_silent: bool, is_heard: bool) -> Fate:
    """The fate of a task, by whether its host is there, what Dask says of the task, and whether it is heard of.

    `is_silent`: for too long; `is_heard`: it has said something before.
    Dask cancels the task of a lost host together with the parameters that were sent there, or waits for ever.
    """
    if is_cancelled:
        return Fate.LOST
    if is_ended:
        return Fate.ENDED
    if not is_present:
        return Fate.LOST
    if not is_silent:
        return Fate.PLAYING
    return Fate.SILENT if is_heard else Fate.UNHEARD


class Seen(NamedTuple):
    """What is seen at one look."""

    has_hosts: bool
    """Whether any host is there at all."""
    open_hosts: Sequence[str]
    """Those where others have left room, the ones to be taken first in front; with those that play for this queue."""
    fates: Mapping[str, Fate]
    """Of each evaluation that was started and is neither handed over nor given back, by its host."""


class Start(NamedTuple):
    """Start this evaluation on that host; `EvaluationQueue.not_started` if it cannot be."""

    number: int
    host: str
    attempt: int
    """How many were given back before, or lost with their games: later ones have higher numbers."""


class HandOver(NamedTuple):
    """Take the games of this evaluation from that host; `EvaluationQueue.not_handed_over` if they do not arrive."""

    number: int
    host: str


class GiveBack(NamedTuple):
    """Give up what was started on that host: it will be started again."""

    number: int
    host: str
    fate: Fate
    """LOST, SILENT or UNHEARD."""


class AskForHosts(NamedTuple):
    """There are none: ask for others."""


class Fail(NamedTuple):
    """End with this error."""

    message: str


class FailWithoutHosts(NamedTuple):
    """End with this error, and with the names of those who have the hosts."""

    message: str


Instruction = Start | HandOver | GiveBack | AskForHosts | Fail | FailWithoutHosts


class EvaluationQueue:
    """So many evaluations, numbered from 0 in the order in which they are to start."""

    def __init__(self, num_evaluations: int, max_restarts: int, host_timeout_seconds: float) -> None:
        self._waiting = list(range(num_evaluations))  # a heap
        self._playing: dict[str, int] = {}
        """Host -> the evaluation that was started there."""
        self._max_restarts = max_restarts
        self._host_timeout_seconds = host_timeout_seconds
        self._num_lost = 0
        self._last_lost = ""
        self._num_unheard = Counter[int]()
        """Of each evaluation."""
        self._unheard_at = Counter[str]()
        """Of each host."""
        self._nobody_since = math.inf

    @property
    def is_empty(self) -> bool:
        """Whether all of them are handed over."""
        return not self._waiting and not self._playing

    @property
    def wants_hosts(self) -> bool:
        """Whether any waits for a host."""
        return bool(self._waiting)

    def look(self, seen: Seen, now: float) -> list[Instruction]:
        """What to do now, in this order."""
        todo: list[Instruction] = []
        given_back = set[str]()
        for host, number in list(self._playing.items()):
            match seen.fates[host]:
                case Fate.ENDED:
                    del self._playing[host]
                    todo.append(HandOver(number, host))
                case Fate.LOST | Fate.SILENT as fate:
                    del self._playing[host]
                    self._lose(number, host)
                    todo.append(GiveBack(number, host, fate))
                    given_back.add(host)
                case Fate.UNHEARD as fate:
                    del self._playing[host]
                    heapq.heappush(self._waiting, number)
                    self._num_unheard[number] += 1
                    self._unheard_at[host] += 1
                    todo.append(GiveBack(number, host, fate))
                    given_back.add(host)
        if self._num_lost > self._max_restarts:
            return [*todo, Fail(self._why_too_many())]
        if max(self._num_unheard.values(), default=0) > self._max_restarts:
            return [*todo, Fail(self._why_unheard())]
        if not seen.has_hosts:
            todo.append(AskForHosts())
        # Of those that were given back it is not known yet what they keep of their hosts.
        todo += self._starts([host for host in seen.open_hosts if host not in given_back])
        # Who is open has been started on, though it may be refused.
        self._nobody_since = math.inf if self._playing else min(self._nobody_since, now)
        if now - self._nobody_since > self._host_timeout_seconds:
            todo.append(FailWithoutHosts(self._why_nobody()))
        return todo

    def not_started(self, start: Start) -> None:
        """The host was taken by others, or lost while it was sent the parameters: the evaluation keeps its place."""
        del self._playing[start.host]
        heapq.heappush(self._waiting, start.number)

    def not_handed_over(self, ended: HandOver) -> None:
        """The games were lost with their host, and count as that."""
        self._lose(ended.number, ended.host)

    def _starts(self, open_hosts: Sequence[str]) -> list[Instruction]:
        starts: list[Instruction] = []
        num_before = self._num_lost + self._num_unheard.total()
        for host in sorted(open_hosts, key=self._unheard_at.__getitem__):
            if self._waiting and host not in self._playing:
                number = self._playing[host] = heapq.heappop(self._waiting)
                starts.append(Start(number, host, num_before))
        return starts

    def _lose(self, number: int, host: str) -> None:
        heapq.heappush(self._waiting, number)
        self._num_lost += 1
        self._last_lost = host

    def _why_too_many(self) -> str:
        return (
            f"{self._last_lost} was lost during an evaluation, or fell silent, the {self._num_lost}. host: "
            f"cluster.max_restarts={self._max_restarts} allows no more"
        )

    def _why_unheard(self) -> str:
        hosts = ", ".join(sorted(self._unheard_at))
        return (
            f"nothing was heard of an evaluation on {hosts}: other programs have their threads, or they stand still; "
            f"cluster.max_restarts={self._max_restarts} allows no more tries"
        )

    def _why_nobody(self) -> str:
        return (
            f"no host is left for {len(self._waiting)} evaluation(s), and none has come within "
            f"{self._host_timeout_seconds:g} s"
        )
