"""What each kind of role needs of its host, as a plan counts it.

Not here: where these numbers come from (`pipeline.experiments.plan`).
"""

from typing import NamedTuple


class RoleNeeds(NamedTuple):
    """Bytes of one role of each kind, without the process around it, and the GPUs of one that learns."""

    replay_bytes: int
    """One replay: a bundle's own, or one shard of the global one."""
    learner_bytes: int
    """Replicas, gradient and activations of one that learns."""
    actor_bytes: int
    """Replica and activations of one that only plays."""
    shard_bytes: int
    """One parameter shard."""
    host_bytes: int
    """A process of its own; 0 where hosts are threads."""
    num_gpus: int = 0
    """GPUs that one that learns must have."""
    prefers_gpu: bool = False
    """It takes one where there is one."""
