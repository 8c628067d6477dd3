"""An actor on a host of its own: plays and sends what it saw to a shard of the global replay (Nair et al. 2015).

Not here: playing (`pipeline.roles.actor`), sending (`pipeline.replay.client`), who starts it (`pipeline.topologies`).
"""

from dataclasses import replace

from pipeline.errors import ConfigError
from pipeline.interfaces import RowSink, Servers
from pipeline.replay.client import ReplayWriter
from pipeline.roles.parts import RoleParts
from pipeline.roles.progress import RoleProgress
from pipeline.roles.spec import QRoleSpec

NUM_THREADS = 1
"""Compute threads of an actor: it asks the network for one minibatch per step of its lanes."""


class StandaloneActor:
    """Actor i writes to replay shard i modulo R, as that shard's writer i // R."""

    done = False
    """It plays until it is stopped."""

    def __init__(self, spec: QRoleSpec, servers: Servers, rows: RowSink) -> None:
        if spec.traffic is None:
            raise ConfigError(["topology.traffic is missing: a standalone actor writes to a global replay"])
        # device=cuda is a demand of those who learn; an actor takes what its host has.
        parts = RoleParts(replace(spec, device="auto") if spec.device == "cuda" else spec, servers.shards, NUM_THREADS)
        writer, shard = divmod(spec.place.index, len(servers.replays))
        self._replay = ReplayWriter(
            spec.place.role,
            servers.replays[shard],
            writer,
            spec.attempt,
            spec.traffic,
            spec.param_server.timeout_seconds,
        )
        self._online = parts.online
        self._lanes = parts.lanes()
        self._actor = parts.actor(self._lanes, self._replay, rows)

    def step(self) -> None:
        """One step in every lane, unless the replay holds this actor back."""
        if self._replay.ready():
            self._actor.step()

    def progress(self) -> RoleProgress:
        """What this actor has done so far."""
        return RoleProgress(
            num_steps=self._actor.num_steps,
            num_updates=0,
            version=self._online.version,
            epsilon=self._actor.epsilon,
            replay_transitions=0,
            wall_seconds=self._actor.wall_seconds,
            waited_seconds=self._replay.waited_seconds,
            budget_share=self._actor.budget_share,
        )

    def close(self) -> None:
        """Free the emulators."""
        self._lanes.close()
