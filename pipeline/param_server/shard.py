"""One shard of the parameter server: a slice of the parameters, its optimizer, its version, and who may change them.

What becomes of a push, decided in this order (Gorila, Nair et al. 2015; per shard as in DistBelief, Dean et al. 2012):

    of another generation             "old_generation"   nothing is remembered
    sequence number seen before       "duplicate"        nothing changes
    older than `max_staleness`        "stale"            its sequence number is used up
    else                              admitted           optimizer step, version + 1, number used up

A stale push uses up its number, since it can only grow staler: to offer it again is of no use, and a second copy of it
is then told apart from a new gradient. Of one sender's pushes only ever the newest number is remembered, so one that
arrives behind a later one is dropped as a duplicate; a client that waits for its receipts never sends such.
A gradient that is not finite is admitted like any other: the learner, which knows the loss, refuses to send one
(`pipeline.roles.learner`).

Not here: threads and sockets (`pipeline.cluster`); cutting the vector (`pipeline.param_server.client`); pushes that
wait for their quorum (`pipeline.param_server.synchronous`).
"""

import threading

from pipeline.interfaces import Immediate, PulledSlice, Push, ShardHandle, SliceLoader
from pipeline.optimizers.optimizer import OptimizerConfig, OptimizerState
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.slices import Multiplier, check_length
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.param_server.wire import encode
from pipeline.types import Float32Array, Receipt, WireArray

ADMITTED = ""
OLD_GENERATION = "old_generation"
DUPLICATE = "duplicate"
STALE = "stale"


class ParameterShard:
    """A slice of the server's parameters. Each method is short and atomic, and no array it returns ever changes.

    The one lock is there because Dask runs a call in the thread of a caller that lives in the shard's process, and all
    other calls in a thread of its own.
    """

    def __init__(
        self, start: ShardSnapshot, optimizer: OptimizerConfig, config: ParamServerConfig, generation: int
    ) -> None:
        """Begin at `start`, which is copied; `generation` is a number that no earlier shard in this place has had.

        Raises CheckpointError if `start` holds the state of another optimizer.
        """
        self._config = config
        self._generation = generation
        self._params = start.params.copy()
        self._multiplier = Multiplier()
        self._optimizer = optimizer.make(self._params.size)
        if start.version > 0 or start.slots:
            self._optimizer.load_state(OptimizerState(start.version, start.slots))
        self._target = start.target.copy()
        self._target_version = start.target_version
        self._published: WireArray | None = None
        self._published_target: WireArray | None = None
        self._last_sequence: dict[str, int] = {}
        self._lock = threading.Lock()

    def push(self, push: Push) -> Receipt:
        """Apply one gradient slice, or say why not. Raises ValueError for a slice of another length."""
        check_length(push.gradient, self._params.size)
        with self._lock:
            version = self._optimizer.num_updates
            last_sequence = self._last_sequence.get(push.sender, 0)
            reason = reason_to_drop(push, self._generation, version, last_sequence, self._config.max_staleness)
            if reason in (ADMITTED, STALE):
                self._last_sequence[push.sender] = push.sequence
            if reason == ADMITTED:
                self._update(self._multiplier.whole(push.gradient))
            return Receipt(reason == ADMITTED, reason, self._optimizer.num_updates, version - push.computed_at)

    def pull(self, known_version: int) -> PulledSlice:
        """The slice as it travels, read-only, or None if its version is `known_version`.

        All pulls of one version share one array, made at the first of them.
        """
        with self._lock:
            version = self._optimizer.num_updates
            if version == known_version:
                return PulledSlice(version, None)
            if self._published is None:
                wire = encode(self._params, self._config.wire_dtype)
                self._published = _read_only(wire.copy() if wire is self._params else wire)
            return PulledSlice(version, self._published)

    def read(self, known_version: int, load: SliceLoader) -> int:
        """Hand the live slice to `load`, unless its version is `known_version`; returns the version.

        `load` copies and returns: nobody else reads or writes the shard meanwhile, and afterwards the values change.
        """
        with self._lock:
            version = self._optimizer.num_updates
            if version != known_version:
                load(self._params)
            return version

    def pull_target(self, known_version: int) -> PulledSlice:
        """Like `pull`, for the target network; the version is that of the parameters it is a copy of."""
        with self._lock:
            if self._target_version == known_version:
                return PulledSlice(known_version, None)
            if self._published_target is None:
                self._published_target = _read_only(encode(self._target, self._config.wire_dtype))
            return PulledSlice(self._target_version, self._published_target)

    def snapshot(self) -> ShardSnapshot:
        """A copy of the state between two updates."""
        with self._lock:
            state = self._optimizer.state()
            return ShardSnapshot(
                version=state.num_updates,
                params=self._params.copy(),
                target_version=self._target_version,
                target=self._target.copy(),
                slots=state.slots,
            )

    def _update(self, gradient: Float32Array) -> None:
        self._optimizer.apply(self._params, gradient)
        self._published = None
        version, period = self._optimizer.num_updates, self._config.target_period_updates
        if period is not None and version % period == 0:
            # Departure: in Gorila each learner makes its own copy; here the shard keeps one for all, by its own version
            # (docs/decisions/0002-target-network-on-the-shards.md).
            # A new array, not new contents: the old one may be in the hands of those who pulled it.
            self._target = self._params.copy()
            self._target_version = version
            self._published_target = None


def reason_to_drop(push: Push, generation: int, version: int, last_sequence: int, max_staleness: int | None) -> str:
    """Why a shard of this generation and version must not apply `push`; ADMITTED if it may."""
    # A gradient computed at a version yet to come was computed on updates that were lost with an older generation.
    if push.generation != generation or push.computed_at > version:
        return OLD_GENERATION
    if push.sequence <= last_sequence:
        return DUPLICATE
    if max_staleness is not None and version - push.computed_at > max_staleness:
        return STALE
    return ADMITTED


class DirectShard(ShardHandle):
    """A shard in the same thread: every call is answered when it returns."""

    def __init__(self, shard: ParameterShard) -> None:
        self._shard = shard

    def push(self, push: Push) -> Immediate[Receipt]:
        """See ParameterShard.push."""
        return Immediate(self._shard.push(push))

    def pull(self, known_version: int) -> Immediate[PulledSlice]:
        """See ParameterShard.pull."""
        return Immediate(self._shard.pull(known_version))

    def pull_target(self, known_version: int) -> Immediate[PulledSlice]:
        """See ParameterShard.pull_target."""
        return Immediate(self._shard.pull_target(known_version))

    def read(self, known_version: int, load: SliceLoader) -> Immediate[int]:
        """See ParameterShard.read: one copy where `pull` and its caller would make two."""
        return Immediate(self._shard.read(known_version, load))

    def overlapped(self) -> "DirectShard":
        """Itself: nothing has to travel."""
        return self


def _read_only(wire: WireArray) -> WireArray:
    wire.setflags(write=False)
    return wire
