"""What each step of a worker and each message to a server costs, in seconds of a core and seconds on the way.

Not here: how they are measured (`studies.simulation.measured_costs`, `.call_costs`).
"""

from dataclasses import dataclass
from typing import NamedTuple


class Linear(NamedTuple):
    """Seconds of a core: so many for itself, and so many for each parameter of a slice."""

    fixed: float
    per_param: float = 0.0

    def seconds(self, num_params: int) -> float:
        """For a slice of this size."""
        return self.fixed + self.per_param * num_params


class CallCost(NamedTuple):
    """One call, there and back."""

    caller: Linear
    """Of the caller's core."""
    server: Linear
    """Of the server's core, which does nothing else meanwhile."""


class ApplyCost(NamedTuple):
    """One update of one slice: the mean of N gradients, the optimizer's step, the copy that is sent to all."""

    fixed: float
    per_param: float
    per_param_and_gradient: float

    def seconds(self, num_params: int, num_gradients: int) -> float:
        """For a slice of this size."""
        return self.fixed + num_params * (self.per_param + self.per_param_and_gradient * num_gradients)


class Wire(NamedTuple):
    """The way between two machines. Every machine has a link of this speed for what comes and one for what goes."""

    latency_seconds: float
    """One way, of a message without parameters."""
    bytes_per_second: float


@dataclass(frozen=True)
class Costs:
    """Everything that the simulation knows of the machine and the network."""

    step_seconds: tuple[float, ...]
    """A worker's rollouts and gradient, as samples that are drawn from; seconds of a core that it has for itself."""
    batch_size: int
    """Data points, which are agent steps, of one gradient."""
    num_params: int
    bytes_per_param: int
    push: CallCost
    pull: CallCost
    message: CallCost
    """A call without parameters: a commit, a wait for a version, the word to apply an update, an "unchanged"."""
    apply: ApplyCost
    wire: Wire
