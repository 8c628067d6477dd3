"""A replica that follows the server: a network, and the versions of the parameters that are in it.

An actor and a learner of one bundle share one follower, as they share theta in Gorila's pseudo-code.
"""

from typing import Generic, NamedTuple, TypeVar

from pipeline.interfaces import ParamSource
from pipeline.networks.replica import Replica
from pipeline.types import Float32Array

AnyReplica = TypeVar("AnyReplica", bound=Replica)


class FollowerState(NamedTuple):
    """A replica and what is in it."""

    params: Float32Array
    """(P,): bfloat16 ones are exact in float32."""
    versions: tuple[int, ...]


class Follower(Generic[AnyReplica]):
    """Keeps `replica` equal to what `source` last answered."""

    def __init__(self, replica: AnyReplica, source: ParamSource) -> None:
        self.replica = replica
        self.versions: tuple[int, ...] = ()
        """Version of each shard's slice now in the replica, in shard order; empty before the first refresh."""
        self._source = source

    @property
    def version(self) -> int:
        """The oldest of the shards' versions, 0 before the first refresh."""
        return min(self.versions, default=0)

    def state(self) -> FollowerState:
        """A copy of what it holds, which may be older than what its source has."""
        return FollowerState(self.replica.flat(), self.versions)

    def restore(self, state: FollowerState) -> None:
        """Hold that instead."""
        self.replica.load(state.params)
        self.versions = state.versions

    def refresh(self) -> None:
        """theta <- theta+: take over the server's newest parameters."""
        self.versions = self._source.pull(self.replica, self.versions)

    def refresh_target(self) -> None:
        """theta- <- the server's target parameters, for a follower of the target network."""
        self.versions = self._source.pull_target(self.replica, self.versions)
