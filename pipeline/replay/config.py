"""Settings of a replay memory, and of the traffic around a global one."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReplayConfig:
    """The replay of one bundle, or one shard of a global replay. Sources stand beside the values in `conf/replay/`."""

    capacity: int | None
    """Agent steps kept, all lanes together; the oldest are overwritten. None: as many as fit in `capacity_bytes`."""
    capacity_bytes: int | None
    """Bytes that the kept steps may take; None: what `capacity` steps need."""
    min_transitions: int
    """Learning starts when this many could ever be sampled, those that were overwritten since included: where games are
    short, a full replay may not hold so many at once."""
    batch_size: int
    """Transitions of one minibatch."""
    priority_exponent: float | None
    """alpha: a transition is drawn with a chance proportional to (error + priority_floor) ** alpha; None: all alike."""
    priority_floor: float
    """Added to each error, so that nothing is forgotten for good."""
    importance_exponent: float
    """beta at update 0: how far importance weights make up for unequal chances; see `importance_updates`."""
    importance_updates: int
    """Server updates over which beta grows linearly to 1.0."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if (self.capacity is None) == (self.capacity_bytes is None):
            found.append(
                f"capacity={_shown(self.capacity)} and capacity_bytes={_shown(self.capacity_bytes)}: "
                "exactly one of them must be given, the other null"
            )
        if self.batch_size < 1:
            found.append(f"batch_size={self.batch_size} must be at least 1")
        if self.min_transitions < self.batch_size:
            found.append(f"min_transitions={self.min_transitions} must be at least batch_size={self.batch_size}")
        if self.capacity is not None and self.capacity <= self.min_transitions:
            found.append(f"capacity={self.capacity} must be larger than min_transitions={self.min_transitions}")
        if self.capacity_bytes is not None and self.capacity_bytes < 1:
            found.append(f"capacity_bytes={self.capacity_bytes} must be at least 1")
        if self.priority_exponent is not None and self.priority_exponent <= 0:
            found.append(f"priority_exponent={self.priority_exponent} must be positive, or null for uniform replay")
        if self.priority_floor <= 0:
            found.append(f"priority_floor={self.priority_floor} must be positive")
        if not 0 <= self.importance_exponent <= 1:
            found.append(f"importance_exponent={self.importance_exponent} must lie in [0, 1]")
        if self.importance_updates < 1:
            found.append(f"importance_updates={self.importance_updates} must be at least 1")
        return found


@dataclass(frozen=True)
class ReplayTrafficConfig:
    """How actors and learners meet around a global replay. Sources stand beside the values in `conf/topology/`."""

    chunk_steps: int
    """Steps of all its lanes that an actor sends in one message."""
    prefetch: int
    """Minibatches that a learner asks for ahead; 0: none, it waits for each."""
    slack_updates: int | None
    """Minibatches per shard that learners may be ahead of, or behind, one per `steps_per_update`; None: no limit."""
    wait_seconds: float
    """A role that is held back for longer ends the run with the reason; a learner only while no steps are added."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.chunk_steps < 1:
            found.append(f"chunk_steps={self.chunk_steps} must be at least 1")
        if self.prefetch < 0:
            found.append(f"prefetch={self.prefetch} must be at least 0")
        if self.slack_updates is not None and self.slack_updates < 1:
            found.append(f"slack_updates={self.slack_updates} must be at least 1, or null for no limit")
        if self.wait_seconds <= 0:
            found.append(f"wait_seconds={self.wait_seconds} must be positive")
        return found


def _shown(value: int | None) -> str:
    return "null" if value is None else str(value)
