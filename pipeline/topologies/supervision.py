"""What becomes of the roles of a fleet: who is lost, who is started again and where, when it is the end of the run.

    begin              -> Start ...
    look               -> Say, Cancel ..., Fail
    while some of them are lost, with what hosts offer:
        search         -> proposals, as long as there are any; of one that could be held:
        found          -> Start, Say ...
        not_found      -> Say, Fail, or nothing yet
    left, not_left     how they leave at the end of a run or a generation

A role whose host dies, or of which nothing was heard for minutes, is started again; as long as those that are left make
a quorum, the run goes on without it for as long as that takes. Logic without I/O, on a clock that is passed in.
Not here: looking, and doing what is ordered (`pipeline.topologies.fleet`), which host a role gets
(`pipeline.topologies.restarts`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.cluster.coordination.channel import LEASE_LAPSED
from pipeline.cluster.placement import Demand, Offer
from pipeline.errors import (
    CallTimeoutError,
    PipelineError,
    RemoteLostError,
    RoleFailedError,
    StarvedError,
    UnreachableError,
)
from pipeline.topologies.looks import (
    Cancelled,
    Failed,
    HostGone,
    Look,
    NoFarewell,
    NotArrived,
    Returned,
    StillThere,
)
from pipeline.topologies.orders import Cancel, Fail, Order, Say, Start
from pipeline.topologies.patience import Patience
from pipeline.topologies.restarts import Proposal, Scene, Search, StandsStillError, no_host_came
from pipeline.topologies.silence import Absence

_CUT_OFF = (
    "the connection to the scheduler broke, which ends all tasks of a run: "
    "resume=true goes on from the newest checkpoint"
)


@dataclass(frozen=True)
class Terms:
    """What a fleet is held to from its start to its end."""

    roles: tuple[str, ...]
    demands: tuple[Demand, ...]
    """Of roles and shards, and of what else was placed with them."""
    quorum: int | None
    """N: updates go on as long as N roles do; None: no role is done without."""
    max_restarts: int
    lease_seconds: float
    call_timeout_seconds: float
    """Deadline of one call to a shard."""
    has_own_replay: bool
    """Whether a role has a replay of its own, which is empty when it is started again."""
    held_back_seconds: float
    """How long a global replay may hold a role back until it gives up, starved; 0.0: there is none."""
    patience: Patience = field(default_factory=Patience)

    @property
    def lost_silence_seconds(self) -> float:
        """A role that has said nothing for so long is lost."""
        return max(self.patience.lost_silence_seconds, self.patience.calls_in_a_step * self.call_timeout_seconds)


class Supervision:
    """The roles of one generation, as far as is known; changed by what it is told, and by nothing else."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self.standing: set[str] = set()
        """Roles that were started, and are neither lost nor given up: they keep their host."""
        self._left: set[str] = set()
        """Those of them that have done their work and are heard out."""
        self._lost: dict[str, str] = {}
        """Roles that wait for a host, and why they lost theirs."""
        self._lost_at = 0.0
        self._has_told = False
        """Whether it was said since then that updates wait."""
        self._num_starts: Counter[str] = Counter()
        self._num_excused: Counter[str] = Counter()
        """How often each role ended because of another one that was lost, or because its host's time was over."""
        self._num_unreachable: Counter[str] = Counter()
        """How often each role ended because a connection of its own had broken."""
        self._absence = Absence(terms.patience.odd_silence_seconds)
        self.num_restarted = 0
        """Roles that were started again so far."""

    @property
    def lost(self) -> tuple[str, ...]:
        """Roles that wait for a host, in the order in which they lost theirs."""
        return tuple(self._lost)

    @property
    def watched(self) -> tuple[str, ...]:
        """Roles that are to be looked at: they were started, and have neither left nor been lost."""
        there = self.standing - self._left
        return tuple(role for role in self._terms.roles if role in there)

    @property
    def is_finished(self) -> bool:
        """Whether every role has left with its work done."""
        return not self._lost and self._left == self.standing

    def has_quorum(self, without: str | None = None) -> bool:
        """Whether updates go on without the roles that are lost, and without this one."""
        return self._terms.quorum is not None and len(self.standing - {without}) >= self._terms.quorum

    def begin(self, placement: Mapping[str, Offer], now: float) -> list[Start]:
        """All roles begin, in place of those of before; roles without a host wait for one."""
        self.standing, self._left, self._lost = set(), set(), {}
        for role in self._terms.roles:
            if role not in placement:
                self._lost[role], self._lost_at = "there was no host for it", now
        return [self._start(role, placement) for role in self._terms.roles if role in placement]

    def look(self, seen: Look) -> list[Order]:
        """What follows from what was seen; nothing comes after a Fail."""
        for name, host in seen.servers.items():
            if host not in seen.present:
                why = ", whose time was over" if host in seen.served else ""
                return [Fail(RemoteLostError(f"{name} is lost with its host {host}{why}{self._lost_before()}"))]
        orders = self._name_silent(seen)
        for role in self.watched:
            match self._fate(role, seen):
                case str(reason):
                    orders += self._lose(role, reason, seen.now)
                case PipelineError() as error:
                    orders.append(Fail(error))
            if orders and isinstance(orders[-1], Fail):
                break
        return orders

    def search(self, placement: Mapping[str, Offer], servers: Iterable[str], offers: Sequence[Offer]) -> Search:
        """Hosts for the roles that wait, among those that offer something; `placement` is without those given up."""
        scene = Scene(self._terms.demands, placement, self.standing | set(servers), offers)
        return Search(self.lost, scene, may_split=self._terms.quorum is not None)

    def found(self, proposal: Proposal) -> list[Order]:
        """These roles have a host again."""
        orders: list[Order] = []
        own_replay = " with an empty replay" if self._terms.has_own_replay else ""
        for role in proposal.roles:
            reason = self._lost.pop(role)
            self.num_restarted += 1
            start = self._start(role, proposal.placement)
            orders += [start, Say(f"{role} was lost ({reason}) and started again on {start.host}{own_replay}")]
        return orders

    def not_found(self, why: Exception, host_timeout_seconds: float, now: float) -> list[Order]:
        """No role that waits has found a host; one that is to come is waited for so long, 0 where none will."""
        # A nanny or a batch system may be bringing a host; the others go on meanwhile.
        waited_seconds, patience = now - self._lost_at, self._terms.patience
        if isinstance(why, StandsStillError):
            # It goes on, or is missed: then its shard is lost, and the run goes back to what is saved.
            host_timeout_seconds = max(host_timeout_seconds, patience.missed_seconds)
        if self.has_quorum():
            if waited_seconds <= max(host_timeout_seconds, patience.remind_seconds):
                return []
            self._lost_at = now
            return [Say(f"{', '.join(self._lost)} still without a host; the others make the quorum and go on")]
        if waited_seconds > host_timeout_seconds:
            lost = "; ".join(f"{role} was lost ({reason})" for role, reason in self._lost.items())
            return [Fail(no_host_came(lost, host_timeout_seconds, why))]
        if waited_seconds <= patience.untold_seconds or self._has_told:
            return []
        self._has_told = True
        reason = next(iter(self._lost.values()))
        return [Say(f"{', '.join(self._lost)} lost ({reason}); waiting up to {host_timeout_seconds:g} s for a host")]

    def left(self, role: str) -> None:
        """It has left with its work done, and is heard out."""
        self._left.add(role)

    def not_left(self, role: str, how: NoFarewell) -> list[Order]:
        """It was told to leave, and has left nothing: what it had done before is known, if that will do."""
        match how:
            case HostGone() | Failed(CallTimeoutError() | UnreachableError()):
                return []
            case Failed(PipelineError() as error):
                return [Fail(error)]
            case Failed(error):
                return [Fail(_failed(role, error))]
            case Cancelled():
                return [Fail(RoleFailedError(_CUT_OFF))]
            case StillThere(seconds):
                # Its host is very slow, or it hangs: what all have learned is worth more than its last step.
                late = f"{role} did not leave within {seconds:.0f} s: what it did since its last word is not counted"
                return [] if self.has_quorum(without=role) else [Say(late)]

    def _start(self, role: str, placement: Mapping[str, Offer]) -> Start:
        self.standing.add(role)
        self._num_starts[role] += 1
        return Start(role, placement[role].address, self._num_starts[role])

    def _name_silent(self, seen: Look) -> list[Order]:
        """Whose silence has become odd, in sentences, once for each."""
        limit = self._terms.patience.odd_silence_seconds
        news = self._absence.look(seen.silent_seconds, self._lost.keys(), seen.now)
        return [Say(f"nothing was heard of {role} on {seen.placement[role].address} for {limit:g} s") for role in news]

    def _fate(self, role: str, seen: Look) -> str | PipelineError | None:
        """Why it is lost, in words, or what ends the fleet; None: nothing is the matter, or it has left."""
        host = seen.placement[role].address
        if host in seen.served:
            self._num_excused[role] += 1
            return f"the time of its host {host} was over"
        if host not in seen.present:
            return f"its host {host} is gone"
        match seen.ended.get(role):
            case None:
                limit = self._terms.lost_silence_seconds
                is_lost = seen.silent_seconds.get(role, 0.0) > limit
                return f"nothing was heard of it for {limit:g} s" if is_lost else None
            case Returned(reason) if reason == LEASE_LAPSED:
                return f"it heard nothing of its coordinator for {self._terms.lease_seconds:g} s"
            case Returned():
                self.left(role)
                return None
            case NotArrived():
                return "what it returned did not arrive"
            case Cancelled():
                return RoleFailedError(_CUT_OFF)
            case Failed(error):
                return self._why_failed(role, error, seen.now)

    def _why_failed(self, role: str, error: BaseException, now: float) -> str | PipelineError:
        match error:
            case CallTimeoutError():
                return str(error)
            case StarvedError() if self._absence.explains(role, now, self._terms.held_back_seconds):
                # Whom it waited for is missed, too, and that has a deadline of its own.
                self._absence.starved(role)
                self._num_excused[role] += 1
                return str(error)
            case UnreachableError():
                # The hosts of all shards are there, as far as anybody knows: a single connection may have broken.
                # Where others make the quorum, they reach the shards.
                self._num_unreachable[role] += 1
                is_first = self._num_unreachable[role] == 1
                return str(error) if is_first or self.has_quorum(without=role) else error
            case RemoteLostError():
                return RemoteLostError(f"{error}{self._lost_before()}") if self._lost else error
        return _failed(role, error)

    def _lost_before(self) -> str:
        """Roles that wait for a host: of those nothing has been said yet."""
        return "".join(f"; {role} was lost before ({reason})" for role, reason in self._lost.items())

    def _lose(self, role: str, reason: str, now: float) -> list[Order]:
        self._absence.lost(role, now)
        number = self._num_starts[role]
        lost = f"{role} was lost{f' {number} times, the last time' if number > 1 else ''} because {reason}"
        self.standing.remove(role)
        if number - self._num_excused[role] > self._terms.max_restarts:
            if not self.has_quorum():
                self._lost[role] = reason
                return [Cancel(role), Fail(RoleFailedError(lost))]
            return [Cancel(role), Say(f"{lost}; the others make the quorum, and it is not started again")]
        self._lost[role], self._lost_at, self._has_told = reason, now, False
        return [Cancel(role)]


def _failed(role: str, error: BaseException) -> RoleFailedError:
    failure = RoleFailedError(f"{role} failed: {error!r}")
    failure.__cause__ = error
    return failure
