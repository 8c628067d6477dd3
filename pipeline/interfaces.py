"""What roles talk through. Roles know these and never dask; `cluster` and the tests provide them.

Calling order of a learner: `source.pull(...)` -> `transitions.sample()` -> gradient -> `sink.push(gradient, versions)`.
Calling order of an actor: `source.pull(...)` -> choose actions -> step the lanes -> `transitions.add(step)`.

Not here: how a call reaches another host (`cluster.remotes`), what a shard does with it (`param_server.shard`).
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from pipeline.rows import Row
from pipeline.types import (
    AnyGradient,
    Float32Array,
    Int64Array,
    LaneStep,
    Receipt,
    SliceGradient,
    TransitionBatch,
    UInt8Array,
    WireArray,
)

T_co = TypeVar("T_co", covariant=True)


class Call(Protocol[T_co]):
    """A call under way to an object that may live in another process."""

    def result(self, timeout_seconds: float) -> T_co:
        """The answer. Raises CallTimeoutError after `timeout_seconds`, RemoteLostError if the host is gone."""


class Push(NamedTuple):
    """One slice of one gradient on its way to one shard. (sender, generation, sequence) name it for ever."""

    gradient: SliceGradient
    """(slice length,) float32, or bfloat16 as uint16; or in factors."""
    sender: str
    generation: int
    """Generation of the server that the sender believes in; another one is refused."""
    sequence: int
    """Counts the sender's pushes from 1; a shard applies each at most once."""
    computed_at: int
    """The shard's version that the gradient was computed at."""


class PulledSlice(NamedTuple):
    """Answer to a pull: the slice, or None when the caller already has this version."""

    version: int
    params: WireArray | None


SliceLoader = Callable[[Float32Array], None]
"""Copies a slice to where the caller wants it."""


class ShardHandle(Protocol):
    """A parameter shard, here or on another host. Every method starts a call and returns at once."""

    def push(self, push: Push) -> Call[Receipt]:
        """Offer one gradient slice."""

    def pull(self, known_version: int) -> Call[PulledSlice]:
        """Ask for the current slice; `known_version` -1 means "I have none"."""

    def pull_target(self, known_version: int) -> Call[PulledSlice]:
        """Ask for the target network's slice: a copy kept every `target_period_updates` updates."""

    def read(self, known_version: int, load: SliceLoader) -> Call[int]:
        """Like `pull`, for a caller that copies the slice: unless known, `load` has it by `result`, its version."""

    def overlapped(self) -> "ShardHandle":
        """A handle whose `read` gives what the `read` before it asked for; itself where nothing has to travel."""


class Commit(NamedTuple):
    """A worker's word that all shards hold its gradient of one synchronous update."""

    sender: str
    generation: int
    version: int
    """Server version that the gradient was computed at: it belongs to the update version -> version + 1."""


class CommitAnswer(NamedTuple):
    """What became of a commit."""

    reason: str
    """"": the gradient is one of the quorum; else why it is none: "late" | "duplicate" | "old_generation"."""
    version: int
    """Updates that the leader has closed."""


class ClosedUpdate(NamedTuple):
    """A synchronous update whose quorum is complete."""

    generation: int
    version: int
    """Version that its gradients were computed at."""
    senders: tuple[str, ...]
    """The quorum, sorted: the update is the mean of their gradients."""


class SynchronousShardHandle(ShardHandle, Protocol):
    """A shard whose pushes wait for their quorum. Its `push` keeps the slice, its receipt says that it is kept.

    In the same process the slice that it keeps is the sender's memory, until the shard has passed its version.
    """

    def foretell(self, update: ClosedUpdate) -> None:
        """Say that `update` is about to be told: in this process, one who waits for it may carry it out."""

    def apply(self, update: ClosedUpdate) -> Call[int]:
        """Carry out one update; to ask twice does no harm. The answer is the shard's version."""

    def wait_version(self, version: int, timeout_seconds: float) -> Call[int]:
        """Wait until the shard has reached `version`, at most so long; the answer is the version that it has."""


class LeaderHandle(Protocol):
    """The quorum leader, here or on another host. Every method starts a call and returns at once."""

    def commit(self, commit: Commit) -> Call[CommitAnswer]:
        """Offer a gradient that all shards hold."""

    def remind(self) -> Call[int]:
        """Have what a shard has not acknowledged said again; the answer is the number of updates closed."""


class ParamVector(Protocol):
    """What a role copies parameters into."""

    def load_slice(self, start: int, values: Float32Array) -> None:
        """Copy `values` into the vector from number `start` on; they may change afterwards."""


class ParamSource(Protocol):
    """Where a role gets parameters from."""

    def pull(self, into: ParamVector, known_versions: Sequence[int]) -> tuple[int, ...]:
        """Bring the newest parameters into a vector that holds those of `known_versions`; returns their versions (S,).

        Empty `known_versions`: it holds none. A slice whose version is known is not touched.
        """

    def pull_target(self, into: ParamVector, known_versions: Sequence[int]) -> tuple[int, ...]:
        """Like `pull`, for the target network; versions are those of the parameters that it is a copy of."""


class GradientSink(Protocol):
    """Where a learner sends gradients to."""

    def push(self, gradient: AnyGradient, computed_at: Sequence[int]) -> tuple[Receipt, ...]:
        """Send one whole gradient, computed at the given shard versions; one receipt per shard.

        A sink that does not wait gives those of the gradient before; none for the first.
        """

    def flush(self) -> tuple[Receipt, ...]:
        """Wait for the receipts that are still to come; none if there are no such."""


class GradientExchange(ParamSource, GradientSink, Protocol):
    """Where a role gets parameters from and sends gradients to, whether these are applied as they come or wait.

    Calling order: ready() until it is True -> pull(...) -> gradient -> push(gradient, versions). The memory of a
    gradient that was pushed may be used again when ready() is True.
    """

    def ready(self, timeout_seconds: float) -> bool:
        """Whether there are parameters to go on with, newer than those of the last push; waits at most so long."""


class TransitionSink(Protocol):
    """Where an actor puts what it saw."""

    def add(self, step: LaneStep) -> None:
        """Store one step of all lanes. The arrays are copied."""


class TransitionSource(Protocol):
    """Where a learner gets minibatches from."""

    def num_transitions(self) -> int:
        """Transitions that can be sampled now."""

    def sample(self) -> TransitionBatch:
        """One minibatch; its arrays are valid until the next call."""

    def update_priorities(self, key: Int64Array, abs_error: Float32Array) -> None:
        """Say how large the error of transitions (B,) of the last sample was; a uniform replay does not listen."""


class StepChunk(NamedTuple):
    """Consecutive steps of one actor's lanes on their way to a global replay, T steps of E lanes in one message."""

    writer: int
    """Which of the shard's writers the actor is."""
    attempt: int
    """Counts the starts of that actor; only the newest may write."""
    sequence: int
    """Counts the chunks of this attempt from 1; each is stored at most once."""
    steps: LaneStep
    """Arrays as in LaneStep, with T in front."""


class ReplayCounts(NamedTuple):
    """Where a replay shard stands."""

    num_transitions: int
    """That can be sampled now."""
    num_steps: int
    """Agent steps ever added."""
    num_batches: int
    """Minibatches ever drawn."""
    mass: float
    """How often learners should draw from this shard rather than another."""


class AddAnswer(NamedTuple):
    """Answer to a chunk: stored, or held back by the rate limit, with the reason; then it is to be sent again."""

    held_back: str
    counts: ReplayCounts


class SampleAnswer(NamedTuple):
    """Answer to a learner: a minibatch, or None and the reason why it has to wait."""

    batch: "FramedBatch | None"
    held_back: str
    counts: ReplayCounts


class FramedBatch(NamedTuple):
    """A TransitionBatch as it travels: both stacks of a transition share an array, and the frames that they share."""

    stacks: UInt8Array
    """(B, F, H, W[, 3]): the first K frames are s_tm1, the last K are s_t."""
    a_tm1: Int64Array
    r_t: Float32Array
    discount_t: Float32Array
    relative_chance: Float32Array
    key: Int64Array


class ReplayHandle(Protocol):
    """A shard of the global replay, here or on another host. Every method starts a call and returns at once."""

    def add(self, chunk: StepChunk) -> Call[AddAnswer]:
        """Offer steps; what was held back has to be offered again."""

    def may_add(self) -> Call[AddAnswer]:
        """Ask whether steps would be held back now."""

    def sample(self) -> Call[SampleAnswer]:
        """Ask for a minibatch."""

    def update_priorities(self, key: Int64Array, abs_error: Float32Array) -> Call[None]:
        """See TransitionSource.update_priorities."""


class Servers(NamedTuple):
    """What a role talks to."""

    shards: Sequence[ShardHandle]
    """Of the parameter server, in shard order."""
    replays: Sequence[ReplayHandle]
    """Of the global replay; empty where each bundle has its own."""
    leader: LeaderHandle | None = None
    """Of a synchronous parameter server, whose shards are SynchronousShardHandles; None: gradients are applied as they
    come."""


class RowSink(Protocol):
    """Where a role puts result rows; they reach the run folder, or the run ends with an error."""

    def emit(self, row: Row) -> None:
        """Take one row. Never blocks on a disk or a network."""


class StopSignal(Protocol):
    """Tells a role when to leave."""

    def should_stop(self) -> bool:
        """True once the run is over, or its coordinator is gone."""


class Immediate(Generic[T_co]):
    """A call that is already answered: what a handle in the same thread returns."""

    def __init__(self, value: T_co) -> None:
        self._value = value

    def result(self, timeout_seconds: float) -> T_co:
        """The answer, at once."""
        return self._value
