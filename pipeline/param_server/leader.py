"""The quorum leader: takes commits, and tells all shards which update to apply.

    worker:   push to all S shards -> S receipts -> commit --> leader: N-th of its version -> apply --> all S shards

The leader waits for no shard. Every worker of the next update has read its version from all shards, so the next update
cannot be closed before all have applied this one: at most one word to each shard is ever unacknowledged. One that was
lost on its way holds up the workers, until one of them asks the leader to say it again.

Not here: which gradients make an update (`pipeline.param_server.quorum`); a shard or a leader that is lost with its
host, which ends their generation (`pipeline.topologies.supervision`).
"""

import threading
import time
from collections.abc import Sequence

from pipeline.errors import BrokenQuorumError, CallTimeoutError, RemoteLostError
from pipeline.interfaces import (
    Call,
    ClosedUpdate,
    Commit,
    CommitAnswer,
    Immediate,
    LeaderHandle,
    SynchronousShardHandle,
)
from pipeline.param_server.quorum import Quorum


class QuorumLeader:
    """A quorum and its shards. Each method is short, waits for no network, and is safe to call from any thread."""

    def __init__(self, quorum: Quorum, shards: Sequence[SynchronousShardHandle]) -> None:
        """`shards` in shard order, all at the version of `quorum`."""
        self._quorum = quorum
        self._shards = tuple(shards)
        self._told: dict[int, tuple[ClosedUpdate, Call[int]]] = {}
        """By shard, the last word to it, as long as it is not known to have arrived."""
        self._lock = threading.Lock()

    def commit(self, commit: Commit) -> CommitAnswer:
        """Count a commit; the one that completes a quorum has the update applied.

        Raises BrokenQuorumError if a shard in this process cannot apply it.
        """
        with self._lock:
            answer, closed = self._quorum.commit(commit, time.monotonic())
            self._tell_all(closed)
            return answer

    def remind(self) -> int:
        """Say again what a shard has not acknowledged; the number of updates closed. Who asks waits for one.

        Raises BrokenQuorumError if a shard has answered that it cannot apply what it was told to.
        """
        with self._lock:
            for shard, (update, call) in list(self._told.items()):
                if _has_arrived(call):
                    del self._told[shard]
                else:
                    self._tell(shard, update)
            self._tell_all(self._quorum.look(time.monotonic()))
            return self._quorum.version

    def hold(self) -> int:
        """See Quorum.hold; shards that have not heard of the last update yet will still reach this version."""
        with self._lock:
            return self._quorum.hold()

    def release(self) -> int:
        """See Quorum.release; the number of updates closed."""
        with self._lock:
            self._tell_all(self._quorum.release(time.monotonic()))
            return self._quorum.version

    def _tell_all(self, closed: ClosedUpdate | None) -> None:
        if closed is None:
            return
        for handle in self._shards:
            handle.foretell(closed)
        # The first shard shares the leader's host and is updated within this call: the others hear of it before. Who
        # waits begins with the first, and so meets this thread half-way where all are here.
        for shard in reversed(range(len(self._shards))):
            self._tell(shard, closed)

    def _tell(self, shard: int, update: ClosedUpdate) -> None:
        self._told[shard] = (update, self._shards[shard].apply(update))


class DirectLeader(LeaderHandle):
    """A leader in the same process: every call is answered when it returns."""

    def __init__(self, leader: QuorumLeader) -> None:
        self._leader = leader

    def commit(self, commit: Commit) -> Immediate[CommitAnswer]:
        """See QuorumLeader.commit."""
        return Immediate(self._leader.commit(commit))

    def remind(self) -> Immediate[int]:
        """See QuorumLeader.remind."""
        return Immediate(self._leader.remind())


def _has_arrived(call: Call[int]) -> bool:
    try:
        call.result(timeout_seconds=0.0)
    except BrokenQuorumError:
        raise
    except (CallTimeoutError, RemoteLostError):
        # On its way, or its connection broke; if the host is gone, those who watch it will see that.
        return False
    return True
