"""Which gradients make a synchronous update: the first N that are committed at its version. Logic without I/O.

N may be another number for each update (`pipeline.param_server.quorum_size`).

A worker commits when all shards hold its gradient, so whatever is chosen here can be applied everywhere. N + b workers
compute, and an update waits for N: the b slowest of it, whoever they are, hold up nobody. What becomes of a commit,
decided in this order:

    of another generation, or of a version yet to come    "old_generation"   nothing is remembered
    of a version that is closed                            "late"             nothing changes
    a second one of its sender                             "duplicate"        the first counts
    after the first N, while updates are held              "late"             nothing changes
    else                                                   ""                 it counts; the N-th closes the update

Adamski et al. 2018 (DBA3C), with the backup workers of Chen et al. 2016. Departure from their published code: they
average with TensorFlow's accumulators, of which each variable has its own, so that one update may join
different workers in different tensors, and more than N of them. Here an update is the mean of the same N everywhere.
Not here: telling the shards (`pipeline.param_server.leader`), the mean (`pipeline.param_server.synchronous`).
"""

from pipeline.interfaces import ClosedUpdate, Commit, CommitAnswer
from pipeline.param_server.quorum_size import QuorumRange, QuorumSize

COUNTED = ""
OLD_GENERATION = "old_generation"
LATE = "late"
DUPLICATE = "duplicate"


class Quorum:
    """Counts commits. `version` is the number of updates closed, those before the start included."""

    def __init__(self, size: int | QuorumRange, version: int, generation: int) -> None:
        """`size` is N, or of what it is chosen for each update; all shards start at `version`."""
        self.version = version
        self._size = QuorumSize(size)
        self._generation = generation
        self._senders: list[str] = []
        """Of the update that is open, in the order of their commits."""
        self._held = False

    def commit(self, commit: Commit, now: float = 0.0) -> tuple[CommitAnswer, ClosedUpdate | None]:
        """Count a commit, or say why not; the update that it has closed, if it has.

        `now`, in seconds on any clock, matters where N is chosen.
        """
        reason = self._judge(commit)
        if reason == COUNTED:
            self._senders.append(commit.sender)
        if reason in (COUNTED, LATE):
            self._size.committed(commit.sender, now, waits=commit.version == self.version)
        closed = self._close_if_complete(now)
        return CommitAnswer(reason, self.version), closed

    def look(self, now: float) -> ClosedUpdate | None:
        """Somebody waits: the update that is closed since who is missing takes too long, if one is."""
        self._size.look(now)
        return self._close_if_complete(now)

    def hold(self) -> int:
        """Close no update until `release`, so that all shards can be seen at one version, which is returned."""
        self._held = True
        return self.version

    def release(self, now: float = 0.0) -> ClosedUpdate | None:
        """Go on; the update that was complete meanwhile, if one was. Without a `hold` nothing changes."""
        self._held = False
        return self._close_if_complete(now)

    def _judge(self, commit: Commit) -> str:
        # A version yet to come was reached by updates that were lost with an older generation.
        if commit.generation != self._generation or commit.version > self.version:
            return OLD_GENERATION
        if commit.version < self.version:
            return LATE
        if commit.sender in self._senders:
            return DUPLICATE
        return LATE if len(self._senders) >= self._size.now else COUNTED

    def _close_if_complete(self, now: float) -> ClosedUpdate | None:
        if self._held or len(self._senders) < self._size.now:
            return None
        closed = ClosedUpdate(self._generation, self.version, tuple(sorted(self._senders)))
        self._size.opened(now)
        self._senders = []
        self.version += 1
        return closed
