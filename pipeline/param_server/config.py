"""Settings of the sharded parameter server."""

from dataclasses import dataclass

WIRE_DTYPES = ("float32", "bfloat16")
DENSE, FACTORS = "dense", "factors"
WIRES = (DENSE, FACTORS)


@dataclass(frozen=True)
class ParamServerConfig:
    """Sharding, admission and wire. Sources stand beside the values in `conf/param_server/`."""

    num_shards: int
    """Contiguous slices of the parameter vector, each with its optimizer state and version."""
    max_staleness: int | None
    """A shard drops a gradient computed more than this many of its versions ago; None: never."""
    target_period_updates: int | None
    """The target network is a copy of the server's parameters, renewed every this many server updates; None: never,
    for an algorithm without one."""
    wire: str
    """How gradients travel: "dense", all P numbers; "factors", that of the hidden layer's weights as the two thin
    matrices whose product it is. Parameters travel as they are."""
    wire_dtype: str
    """"float32" or "bfloat16": how gradients and targets are sent, within one process too, where it saves nothing, and
    parameters between processes. Master parameters are float32 always."""
    actor_pull_every_steps: int
    """Steps of its lanes after which an actor asks for newer parameters. A bundle has one replica for both of its
    sides: whichever of this and the next comes first counts."""
    learner_pull_every_updates: int
    """Gradients after which a learner asks for newer parameters."""
    push_every_updates: int
    """Gradients whose mean a learner sends as one."""
    overlap: bool
    """A role does not wait for shards in other processes: its push and its next pull travel while it computes."""
    timeout_seconds: float
    """Deadline of one call to a shard."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.num_shards < 1:
            found.append(f"num_shards={self.num_shards} must be at least 1")
        if self.max_staleness is not None and self.max_staleness < 0:
            found.append(f"max_staleness={self.max_staleness} must be at least 0, or null for no limit")
        if self.target_period_updates is not None and self.target_period_updates < 1:
            found.append(f"target_period_updates={self.target_period_updates} must be at least 1, or null for never")
        for name in (
            "actor_pull_every_steps",
            "learner_pull_every_updates",
            "push_every_updates",
        ):
            if getattr(self, name) < 1:
                found.append(f"{name}={getattr(self, name)} must be at least 1")
        if self.wire not in WIRES:
            found.append(f"wire={self.wire} must be one of {', '.join(WIRES)}")
        if self.wire == FACTORS and self.push_every_updates > 1:
            found.append(
                f"push_every_updates={self.push_every_updates} must be 1 with wire={FACTORS}: a mean of several "
                f"gradients travels with wire={DENSE} only"
            )
        if self.wire_dtype not in WIRE_DTYPES:
            found.append(f"wire_dtype={self.wire_dtype} must be one of {', '.join(WIRE_DTYPES)}")
        if self.timeout_seconds <= 0:
            found.append(f"timeout_seconds={self.timeout_seconds} must be positive")
        return found
