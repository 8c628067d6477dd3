"""What a role of Q-learning is made of: network, replica, client, actor, learner, built from its spec on its host.

Every role that plays or learns is put together here, so that a bundle and a pair of separate roles are the same parts.
Random streams are named after the role and the step that it starts at (`pipeline.roles.spec.RoleSpec.stream_name`).
Not here: what the parts do in turn (`pipeline.roles.bundle`, `.standalone_actor`, `.standalone_learner`).
"""

from collections.abc import Sequence

import torch

from pipeline import seeding
from pipeline.envs.atari import AtariLanes
from pipeline.envs.rom import num_actions
from pipeline.envs.seeded import SeededLanes
from pipeline.interfaces import RowSink, ShardHandle, TransitionSink, TransitionSource
from pipeline.networks import compute
from pipeline.networks.network import QNetwork
from pipeline.networks.replica import QReplica
from pipeline.param_server.client import ParamClient
from pipeline.param_server.layout import ParamLayout
from pipeline.replay.keeper import ReplayKeeper, kept
from pipeline.replay.memory import ReplayMemory
from pipeline.roles.actor import Actor
from pipeline.roles.follower import Follower
from pipeline.roles.heldout import HeldoutStates
from pipeline.roles.learner import Learner
from pipeline.roles.spec import QRoleSpec
from pipeline.roles.statistics import UpdateStatistics

UPDATES_PER_ROW = 100
"""Updates of one learner that make one row."""


class RoleParts:
    """The parts that acting and learning share, and makers of the others. Sets the calling thread's compute threads."""

    def __init__(self, spec: QRoleSpec, shards: Sequence[ShardHandle], num_threads: int) -> None:
        compute.set_compute_threads(num_threads)
        self._spec = spec
        self._num_threads = num_threads
        environment = spec.environment
        actions = num_actions(spec.game, environment.full_action_set)
        network = spec.network.make(environment.stack, environment.frame_shape, actions)
        assert isinstance(network, QNetwork), "another network is refused before the run starts"
        self._network = network
        self._device = compute.resolve_device(spec.device)
        self._dtype = compute.resolve_precision(spec.precision, self._device)
        layout = ParamLayout(self._network.num_parameters, spec.param_server.num_shards)
        self._client = ParamClient(
            shards, layout, spec.sender, spec.generation, spec.param_server, first_shard=spec.place.index
        )
        # One stream for acting and learning: they draw in turn, in one thread.
        self.noise = torch.Generator().manual_seed(seeding.torch_seed(spec.seed, *spec.stream_name("noise")))
        self.online = self._follower()
        """The replica that acts and learns."""

    def lanes(self) -> AtariLanes:
        """The games that this role plays; to be closed by the caller."""
        spec = self._spec
        lanes = SeededLanes if spec.restorable else AtariLanes
        return lanes(spec.game, spec.environment, spec.num_lanes, num_threads=self._num_threads)

    def kept_replay(self) -> tuple[ReplayMemory, ReplayKeeper | None]:
        """A replay of this role's own, with what an earlier start has saved of it; and who saves it, if anybody."""
        return kept(self.replay, self._spec.kept_replays, self._spec.place.role, self._spec.attempt)

    def replay(self) -> ReplayMemory:
        """A replay of this role's own, empty: of one writer's lanes."""
        spec = self._spec
        return ReplayMemory(
            spec.replay,
            num_writers=1,
            num_lanes=spec.num_lanes,
            frame_shape=spec.environment.frame_shape,
            stack=spec.environment.stack,
            discount=spec.algorithm.discount,
            n_step=spec.algorithm.n_step,
            rng=seeding.stream(spec.seed, *spec.stream_name("replay")),
        )

    def actor(self, lanes: AtariLanes, transitions: TransitionSink, rows: RowSink) -> Actor:
        """An actor that plays `lanes` with the online replica."""
        spec = self._spec
        return Actor(
            spec.place,
            lanes,
            self.online,
            spec.param_server.actor_pull_every_steps,
            spec.algorithm.exploration,
            spec.extent,
            transitions,
            rows,
            seeding.stream(spec.seed, *spec.stream_name("exploration")),
            self.noise,
            seeding.emulator_seeds(spec.seed, *spec.stream_name("emulator"), count=spec.num_lanes),
        )

    def learner(self, transitions: TransitionSource, statistics: UpdateStatistics) -> Learner:
        """A learner of the online replica, with a target replica of its own."""
        spec = self._spec
        return Learner(
            spec.algorithm,
            spec.replay,
            spec.param_server,
            self.online,
            self._follower(),
            transitions,
            self._client,
            statistics,
            self.noise,
        )

    def heldout(self) -> HeldoutStates:
        """The states on which this run's values are followed."""
        return HeldoutStates(self._spec.game, self._spec.environment, self._spec.seed, self.online.replica)

    def _follower(self) -> Follower[QReplica]:
        return Follower(QReplica(self._network, self._dtype, self._device), self._client)
