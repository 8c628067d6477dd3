"""What roles talk through. Roles know these and never dask; `cluster` and the tests provide them.

Calling order of a learner: `source.pull()` -> `transitions.sample()` -> gradient -> `sink.push(gradient, versions)`.
Calling order of an actor: `source.pull()` -> choose actions -> step the lanes -> `transitions.add(step)`.

Not here: how a call reaches another host (`cluster.remotes`), what a shard does with it (`param_server.shard`).
"""

from collections.abc import Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from pipeline.rows import Row
from pipeline.types import Float32Array, LaneStep, Params, Receipt, TransitionBatch, WireArray

T_co = TypeVar("T_co", covariant=True)


class Call(Protocol[T_co]):
    """A call under way to an object that may live in another process."""

    def result(self, timeout_seconds: float) -> T_co:
        """The answer. Raises CallTimeoutError after `timeout_seconds`, RemoteLostError if the host is gone."""
        ...


class Push(NamedTuple):
    """One slice of one gradient on its way to one shard. (sender, generation, sequence) name it for ever."""

    gradient: WireArray
    """(slice length,) float32, or bfloat16 as uint16."""
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


class ShardHandle(Protocol):
    """A parameter shard, here or on another host. Every method starts a call and returns at once."""

    def push(self, push: Push) -> Call[Receipt]:
        """Offer one gradient slice."""
        ...

    def pull(self, known_version: int) -> Call[PulledSlice]:
        """Ask for the current slice; `known_version` -1 means "I have none"."""
        ...

    def pull_target(self, known_version: int) -> Call[PulledSlice]:
        """Ask for the target network's slice: a copy kept every `target_period_updates` updates."""
        ...


class ParamSource(Protocol):
    """Where a role gets parameters from."""

    def pull(self) -> Params:
        """The newest parameters."""
        ...

    def pull_target(self) -> Params:
        """The newest parameters of the target network."""
        ...


class GradientSink(Protocol):
    """Where a learner sends gradients to."""

    def push(self, gradient: Float32Array, computed_at: Sequence[int]) -> tuple[Receipt, ...]:
        """Send one whole gradient (P,), computed at the given shard versions; one receipt per shard."""
        ...


class TransitionSink(Protocol):
    """Where an actor puts what it saw."""

    def add(self, step: LaneStep) -> None:
        """Store one step of all lanes. The arrays are copied."""
        ...


class TransitionSource(Protocol):
    """Where a learner gets minibatches from."""

    def num_transitions(self) -> int:
        """Transitions that can be sampled now."""
        ...

    def sample(self) -> TransitionBatch:
        """One minibatch; its arrays are valid until the next call."""
        ...


class RowSink(Protocol):
    """Where a role puts result rows; they reach the run folder, or the run ends with an error."""

    def emit(self, row: Row) -> None:
        """Take one row. Never blocks on a disk or a network."""
        ...


class StopSignal(Protocol):
    """Tells a role when to leave."""

    def should_stop(self) -> bool:
        """True once the run is over, or its coordinator is gone."""
        ...


class Immediate(Generic[T_co]):
    """A call that is already answered: what a handle in the same thread returns."""

    def __init__(self, value: T_co) -> None:
        self._value = value

    def result(self, timeout_seconds: float) -> T_co:
        """The answer, at once."""
        return self._value
