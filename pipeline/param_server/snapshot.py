"""The server's state as values: of one shard, and of the whole server whatever its number of shards.

A checkpoint holds the whole vectors, so that a run can resume with another number of shards. With the same number
nothing is lost. With another, new slices straddle old ones, so each new shard takes the oldest version that it might
hold: the minimum over the old shards, which is what the server's version means. If all shards were at one version, as
those of a synchronous server are, both ways are one.

Not here: sequence numbers of senders, which end with the generation; files (`pipeline.experiments`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pipeline.errors import CheckpointError
from pipeline.param_server.layout import ParamLayout
from pipeline.types import Float32Array


class ShardSnapshot(NamedTuple):
    """One shard between two updates. Its arrays are nobody else's."""

    version: int
    """Updates behind `params`, and behind `slots`."""
    params: Float32Array
    """(slice length,) master parameters."""
    target_version: int
    target: Float32Array
    """(slice length,) the parameters as they were at `target_version`."""
    slots: dict[str, Float32Array]
    """The optimizer's arrays, (slice length,) each; empty for a new optimizer."""


class ServerSnapshot(NamedTuple):
    """All shards together. They are not one cut: the shards may have been asked at different versions."""

    versions: tuple[int, ...]
    """Each shard's, in shard order."""
    params: Float32Array
    """(P,)"""
    target_versions: tuple[int, ...]
    target: Float32Array
    """(P,)"""
    slots: dict[str, Float32Array]
    """(P,) each."""

    @property
    def version(self) -> int:
        """The server's version: the oldest of the shards'."""
        return min(self.versions)

    def at_one_version(self) -> "ServerSnapshot":
        """The same with all shards at the oldest version: what a synchronous server can start from."""
        return self._replace(versions=(self.version,) * len(self.versions))


def first_snapshot(params: Float32Array) -> ServerSnapshot:
    """A server before its first update: the target network equals `params` (P,), the optimizer is new."""
    return ServerSnapshot((0,), params, (0,), params, {})


def merge_snapshots(shards: Sequence[ShardSnapshot]) -> ServerSnapshot:
    """The whole server from its shards, in shard order."""
    return ServerSnapshot(
        versions=tuple(shard.version for shard in shards),
        params=np.concatenate([shard.params for shard in shards]),
        target_versions=tuple(shard.target_version for shard in shards),
        target=np.concatenate([shard.target for shard in shards]),
        slots={name: np.concatenate([shard.slots[name] for shard in shards]) for name in shards[0].slots},
    )


def split_snapshot(server: ServerSnapshot, layout: ParamLayout) -> list[ShardSnapshot]:
    """The server cut for `layout`, which may have another number of shards than the snapshot; arrays are copies.

    Raises CheckpointError when the network has another number of parameters.
    """
    if server.params.size != layout.num_params:
        raise CheckpointError(
            f"the checkpoint holds {server.params.size} parameters, the network has {layout.num_params}: "
            "resume with the network (and the game) that the run was started with"
        )
    same_cut = len(server.versions) == layout.num_shards
    versions = server.versions if same_cut else (server.version,) * layout.num_shards
    target_versions = server.target_versions if same_cut else (min(server.target_versions),) * layout.num_shards
    return [
        ShardSnapshot(
            version=version,
            params=server.params[part].copy(),
            target_version=target_version,
            target=server.target[part].copy(),
            slots={name: slot[part].copy() for name, slot in server.slots.items()},
        )
        for part, version, target_version in zip(layout.slices, versions, target_versions, strict=True)
    ]
