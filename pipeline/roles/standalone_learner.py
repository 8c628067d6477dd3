"""A learner on a host of its own: draws from the global replay and sends gradients (Nair et al. 2015).

Not here: one update (`pipeline.roles.learner`), drawing (`pipeline.replay.client`), who starts it
(`pipeline.topologies`).
"""

from pipeline import seeding
from pipeline.algorithms.exploration import lane_epsilons
from pipeline.errors import ConfigError
from pipeline.interfaces import RowSink, Servers
from pipeline.replay.client import ReplayReader
from pipeline.roles.parts import UPDATES_PER_ROW, RoleParts
from pipeline.roles.place import RoleClock
from pipeline.roles.progress import RoleProgress
from pipeline.roles.spec import QRoleSpec
from pipeline.roles.statistics import UpdateStatistics


class StandaloneLearner:
    """One gradient per step, as soon as the replay has a minibatch for it."""

    done = False
    """It learns until it is stopped."""

    def __init__(self, spec: QRoleSpec, servers: Servers, rows: RowSink) -> None:
        if spec.traffic is None:
            raise ConfigError(["topology.traffic is missing: a standalone learner draws from a global replay"])
        parts = RoleParts(spec, servers.shards, spec.compute_threads)
        self._spec = spec
        self._rows = rows
        self._online = parts.online
        self._replay = ReplayReader(
            spec.place.role,
            servers.replays,
            spec.environment.stack,
            spec.traffic,
            spec.param_server.timeout_seconds,
            seeding.stream(spec.seed, *spec.stream_name("replay")),
        )
        self._statistics = UpdateStatistics(spec.place.role, num_steps=0)
        self._learner = parts.learner(self._replay, self._statistics)
        self._heldout = parts.heldout()
        self._clock = RoleClock(spec.place)
        self._waited_before_row = 0.0

    def step(self) -> None:
        """One gradient, unless the replay holds this learner back."""
        if not self._replay.ready():
            return
        self._learner.step()
        if self._statistics.num_updates >= UPDATES_PER_ROW:
            self._emit_row()

    def progress(self) -> RoleProgress:
        """What this learner has done so far."""
        return RoleProgress(
            num_steps=0,
            num_updates=self._learner.num_updates,
            version=self._online.version,
            epsilon=self._epsilon(),
            replay_transitions=self._replay.num_transitions(),
            wall_seconds=self._clock.wall_seconds,
            waited_seconds=self._replay.waited_seconds,
            budget_share=self._budget_share(),
        )

    def close(self) -> None:
        """Emit what is left."""
        self._learner.close()
        if self._statistics.num_updates:
            self._emit_row()

    def _emit_row(self) -> None:
        waited, self._waited_before_row = (
            self._replay.waited_seconds - self._waited_before_row,
            self._replay.waited_seconds,
        )
        self._rows.emit(
            self._statistics.row(
                version=self._online.version,
                num_steps=0,
                total_frames=self._num_steps() * self._spec.environment.frame_skip,
                epsilon=self._epsilon(),
                heldout_max_q=self._heldout.max_q(self._learner.num_updates),
                replay_transitions=self._replay.num_transitions(),
                waited_seconds=waited,
                wall_seconds=self._clock.wall_seconds,
            )
        )

    def _epsilon(self) -> float:
        """Mean over all lanes of all actors."""
        num_lanes = self._spec.num_lanes * self._spec.place.num_actors
        exploration, version = self._spec.algorithm.exploration, self._online.version
        return float(lane_epsilons(exploration, version, self._budget_share(), num_lanes, 0, 1).mean())

    def _budget_share(self) -> float:
        return self._clock.budget_share(self._spec.extent, self._num_steps())

    def _num_steps(self) -> int:
        """Agent steps of all actors."""
        return self._spec.place.num_steps_before + self._replay.num_steps
