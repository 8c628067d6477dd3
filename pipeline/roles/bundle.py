"""The bundle: one actor, its local replay and one learner on one host, in turn (Nair et al. 2015, "bundled mode").

    step():  the actor plays one step in each of its lanes
             the learner computes as many gradients as these steps are due (steps_per_update agent steps each)

Departure: both papers play one game and learn once per step, or per four steps. Here E lanes step together, and the
E / steps_per_update gradients that are due come in a row behind it, with fresh parameters for each.
The same class is the single-machine baseline: there the parameters lie in the same process.
Not here: who starts it (`pipeline.topologies`), how its shards are reached (`pipeline.cluster.remotes`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline import seeding
from pipeline.algorithms.config import QLearningConfig
from pipeline.envs.atari import AtariLanes
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.interfaces import RowSink, ShardHandle
from pipeline.networks import compute
from pipeline.networks.config import NetworkConfig
from pipeline.networks.nature import num_parameters, parameter_shapes
from pipeline.networks.replica import Replica
from pipeline.param_server.client import ParamClient
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.replay.config import ReplayConfig
from pipeline.replay.uniform import UniformReplay
from pipeline.roles.actor import Actor, ActorPlace
from pipeline.roles.follower import Follower
from pipeline.roles.heldout import heldout_states
from pipeline.roles.learner import Learner
from pipeline.roles.progress import RoleProgress
from pipeline.roles.statistics import UpdateStatistics

UPDATES_PER_ROW = 100
_UPDATES_PER_HELDOUT = 500


@dataclass(frozen=True)
class BundleSpec:
    """Everything that a host needs to know to build one bundle; picklable."""

    place: ActorPlace
    sender: str
    """Names this start of the bundle to the shards; nobody else's, since they count its pushes under it."""
    seed: int
    game: str
    num_lanes: int
    compute_threads: int
    device: str
    precision: str
    generation: int
    """Generation of the parameter server that it belongs to."""
    max_steps: int | None
    """Agent steps after which this bundle is done, resumes included; None: until it is stopped."""
    algorithm: QLearningConfig
    network: NetworkConfig
    environment: EnvironmentConfig
    replay: ReplayConfig
    param_server: ParamServerConfig


class Bundle:
    """Actor, replay and learner in one loop."""

    def __init__(self, spec: BundleSpec, shards: Sequence[ShardHandle], rows: RowSink) -> None:
        compute.set_compute_threads(spec.compute_threads)
        self._spec = spec
        self._rows = rows
        role, environment = spec.place.role, spec.environment
        start = spec.place.num_steps_before
        self._lanes = AtariLanes(spec.game, environment, spec.num_lanes, num_threads=spec.compute_threads)
        shapes = parameter_shapes(spec.network, environment.stack, environment.frame_shape, self._lanes.num_actions)
        device = compute.resolve_device(spec.device)
        dtype = compute.resolve_precision(spec.precision, device)
        layout = ParamLayout(num_parameters(shapes), spec.param_server.num_shards)
        client = ParamClient(shards, layout, spec.sender, spec.generation, spec.param_server)
        self._online = Follower(Replica(shapes, dtype, device), client)
        target = Follower(Replica(shapes, dtype, device), client)
        self._replay = UniformReplay(
            spec.replay,
            spec.num_lanes,
            environment.frame_shape,
            environment.stack,
            spec.algorithm.discount,
            seeding.stream(spec.seed, role, "replay", start),
        )
        self._statistics = UpdateStatistics(role, start)
        self._actor = Actor(
            spec.place,
            self._lanes,
            self._online,
            spec.algorithm.exploration,
            self._replay,
            rows,
            seeding.stream(spec.seed, role, "exploration", start),
            seeding.emulator_seeds(spec.seed, role, "emulator", start, count=spec.num_lanes),
        )
        self._learner = Learner(
            spec.algorithm,
            self._online,
            target,
            spec.param_server.target_period_updates,
            self._replay,
            client,
            self._statistics,
        )
        self._heldout = heldout_states(spec.game, environment, spec.seed)
        self._heldout_max_q = float("nan")
        self._steps_owed = 0

    @property
    def done(self) -> bool:
        """True once `max_steps` have been made."""
        return self._spec.max_steps is not None and self._actor.num_steps >= self._spec.max_steps

    def step(self) -> None:
        """One step in every lane, then the gradients that are due for it; none while the replay fills."""
        num_steps = self._actor.step()
        if self._replay.num_transitions() < self._spec.replay.min_transitions:
            return
        self._steps_owed += num_steps
        while self._steps_owed >= self._spec.algorithm.steps_per_update:
            self._steps_owed -= self._spec.algorithm.steps_per_update
            self._learner.step()
            if self._statistics.num_updates >= UPDATES_PER_ROW:
                self._emit_row()

    def progress(self) -> RoleProgress:
        """What this bundle has done so far."""
        return RoleProgress(
            num_steps=self._actor.num_steps,
            num_updates=self._learner.num_updates,
            version=self._online.version,
            epsilon=self._actor.epsilon,
            replay_transitions=self._replay.num_transitions(),
            wall_seconds=self._actor.wall_seconds,
        )

    def close(self) -> None:
        """Emit what is left and free the emulators."""
        if self._statistics.num_updates:
            self._emit_row()
        self._lanes.close()

    def _emit_row(self) -> None:
        if np.isnan(self._heldout_max_q) or self._learner.num_updates % _UPDATES_PER_HELDOUT < UPDATES_PER_ROW:
            self._heldout_max_q = self._online.replica.values(self._heldout).amax(dim=1).mean().item()
        self._rows.emit(
            self._statistics.row(
                version=self._online.version,
                num_steps=self._actor.num_steps,
                total_frames=self._actor.num_frames * self._spec.place.num_actors,
                epsilon=self._actor.epsilon,
                heldout_max_q=self._heldout_max_q,
                replay_transitions=self._replay.num_transitions(),
                wall_seconds=self._actor.wall_seconds,
            )
        )
