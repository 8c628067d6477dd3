"""Settings of a replay memory, and how much memory they cost."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReplayConfig:
    """One bundle's replay. Sources stand beside the values in `conf/replay/`."""

    capacity: int
    """Agent steps kept, all lanes together; the oldest are overwritten."""
    min_transitions: int
    """Learning starts when this many can be sampled."""
    batch_size: int
    """Transitions of one minibatch."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.batch_size < 1:
            found.append(f"batch_size={self.batch_size} must be at least 1")
        if self.min_transitions < self.batch_size:
            found.append(f"min_transitions={self.min_transitions} must be at least batch_size={self.batch_size}")
        if self.capacity <= self.min_transitions:
            found.append(f"capacity={self.capacity} must be larger than min_transitions={self.min_transitions}")
        return found
