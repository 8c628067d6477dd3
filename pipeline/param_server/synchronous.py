"""A shard whose gradients wait for their quorum: it keeps slices, and applies the mean of those that it is told to.

What becomes of a push, decided in this order (Adamski et al. 2018, DBA3C):

    of another generation, or computed at a version yet to come    "old_generation"   nothing is kept
    computed at a version that is past                             "late"             nothing is kept
    its sender has another gradient here for this version          "duplicate"        the first stays
    else                                                           ""                 kept; a second copy adds nothing

"Kept" is no promise: which slices are applied is for the leader to say, and it names only senders whose slices all
shards have acknowledged. What is kept belongs to the version that the shard is at, so that one gradient of each worker
is the most that there is. Not used: `max_staleness`, since a gradient of another version is never applied.

An update is carried out by whoever comes first: the leader, which tells its shards one after the other, or a thread in
this process that waits for it and has nothing else to do. Shards are then updated side by side.

Not here: whose gradients (`pipeline.param_server.quorum`); waiting on an event loop
(`pipeline.cluster.remotes.quorum`).
"""

import contextlib
import time
from concurrent.futures import Future

from pipeline.errors import BrokenQuorumError
from pipeline.interfaces import ClosedUpdate, Immediate, Push, SynchronousShardHandle
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.quorum import DUPLICATE, LATE, OLD_GENERATION
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.slices import check_length
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.param_server.version_signal import VersionSignal
from pipeline.types import Receipt

KEPT = ""


class SynchronousShard(ParameterShard):
    """A slice of the parameters that changes by one closed update at a time. Safe to call from any thread."""

    def __init__(
        self, start: ShardSnapshot, optimizer: OptimizerConfig, config: ParamServerConfig, generation: int
    ) -> None:
        """See ParameterShard; all shards of a server start at the same version."""
        super().__init__(start, optimizer, config, generation)
        self._kept: dict[str, Push] = {}
        """By sender, of the version that the shard is at."""
        self._signal = VersionSignal(start.version)
        self._closed: ClosedUpdate | None = None
        """The newest update that was told of."""
        self._foretold = VersionSignal(start.version)
        """Versions that it makes, or that one before it has made."""

    @property
    def version(self) -> int:
        """Updates applied. Never waits for one that is under way."""
        return self._signal.version

    def push(self, push: Push) -> Receipt:
        """Keep one gradient slice, or say why not. Raises ValueError for a slice of another length.

        It is kept where it lies, which nobody may change before its version is past.
        """
        check_length(push.gradient, self._params.size)
        with self._lock:
            version = self._optimizer.num_updates
            reason = reason_to_refuse(push, self._generation, version, self._kept.get(push.sender))
            if reason == KEPT and push.sender not in self._kept:
                self._kept[push.sender] = push
            return Receipt(reason == KEPT, reason, version, version - push.computed_at)

    def apply(self, update: ClosedUpdate) -> int:
        """Carry out one update, unless it was; the version afterwards.

        The mean of dense gradients is a sum in float32 in the order of the senders, divided by their number: the same
        however the vector is cut. That of factored ones is one product (`pipeline.param_server.slices`).
        Raises BrokenQuorumError for what a leader that agrees with this shard would never ask.
        """
        self.foretell(update)
        with self._lock:
            self._check_agreed(update, self._optimizer.num_updates)
            version = self._carry_out(update)
        self._signal.reach(version)
        return version

    def foretell(self, update: ClosedUpdate) -> None:
        """Have `update` carried out by a thread that waits for it, if there is one; `apply` has the last word."""
        if update.generation == self._generation:
            self._closed = update
            self._foretold.reach(update.version + 1)

    def wait_version(self, version: int, timeout_seconds: float) -> int:
        """Wait in this thread until `version` is reached, at most so long; the version then.

        Meanwhile this thread carries out an update that was foretold, unless another one is at it.
        """
        end = time.monotonic() + timeout_seconds
        with contextlib.suppress(TimeoutError):
            self._foretold.reached(version).result(timeout_seconds)
            self._help()
            self.reached(version).result(max(end - time.monotonic(), 0.0))
        return self.version

    def reached(self, version: int) -> "Future[int]":
        """Done as soon as `version` is reached, for those who must not wait in a thread; not to be cancelled."""
        return self._signal.reached(version)

    def _help(self) -> None:
        # Where the lock is held, somebody updates or looks at the shard; waiting for it would be no help.
        if self._closed is not None and self._lock.acquire(blocking=False):
            try:
                version = self._carry_out(self._closed)
            finally:
                self._lock.release()
            self._signal.reach(version)

    def _carry_out(self, update: ClosedUpdate) -> int:
        """Apply `update` if it is this version's and all that it is made of is here; the version afterwards."""
        if update.version == self._optimizer.num_updates and all(sender in self._kept for sender in update.senders):
            self._update(self._multiplier.mean([self._kept[sender].gradient for sender in update.senders]))
            self._kept.clear()
        return self._optimizer.num_updates

    def _check_agreed(self, update: ClosedUpdate, version: int) -> None:
        if update.generation != self._generation:
            wrong = f"it is of generation {update.generation}"
        elif update.version > version:
            wrong = "the updates before it were never applied here"
        elif update.version == version and (missing := [s for s in update.senders if s not in self._kept]):
            wrong = f"no gradient of {', '.join(missing)} is kept here"
        else:
            return
        raise BrokenQuorumError(
            f"a shard of generation {self._generation} at version {version} was told to apply the update of version "
            f"{update.version}, but {wrong}: all shards have to go back to one checkpoint together"
        )


def reason_to_refuse(push: Push, generation: int, version: int, kept: Push | None) -> str:
    """Why a shard of this generation and version must not keep `push`, given what it keeps of its sender; else KEPT."""
    if push.generation != generation or push.computed_at > version:
        return OLD_GENERATION
    if push.computed_at < version:
        return LATE
    # Another shard might have got only the other one of the two, and its sender would be joined with itself.
    if kept is not None and kept.sequence != push.sequence:
        return DUPLICATE
    return KEPT


class DirectSynchronousShard(DirectShard, SynchronousShardHandle):
    """A synchronous shard in the same process: a call is answered when it returns, but for `wait_version`."""

    _shard: SynchronousShard

    def __init__(self, shard: SynchronousShard) -> None:
        super().__init__(shard)

    def apply(self, update: ClosedUpdate) -> Immediate[int]:
        """See SynchronousShard.apply."""
        return Immediate(self._shard.apply(update))

    def foretell(self, update: ClosedUpdate) -> None:
        """See SynchronousShard.foretell."""
        self._shard.foretell(update)

    def wait_version(self, version: int, timeout_seconds: float) -> "_VersionWait":
        """See SynchronousShard.wait_version; the time runs from now on, and `result` waits for what is left of it."""
        return _VersionWait(self._shard, version, time.monotonic() + timeout_seconds)


class _VersionWait:
    def __init__(self, shard: SynchronousShard, version: int, end: float) -> None:
        self._shard = shard
        self._version = version
        self._end = end

    def result(self, timeout_seconds: float) -> int:
        """The version, at the end of the wait; its own limit is what counts here."""
        return self._shard.wait_version(self._version, max(self._end - time.monotonic(), 0.0))
