"""Workers wired by hand in one thread: real lanes, a real network, real shards, with a quorum or without.

Of either kind: those that learn a policy, and those that learn values.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pipeline.algorithms.config import ActorCriticConfig, PqnConfig
from pipeline.algorithms.exploration_config import ExplorationConfig
from pipeline.envs.rom import num_actions
from pipeline.interfaces import Servers
from pipeline.networks.network import Network
from pipeline.optimizers.config import AdamConfig
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.leader import DirectLeader
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ServerSnapshot, merge_snapshots, split_snapshot
from pipeline.roles.place import RolePlace
from pipeline.roles.spec import QWorkerSpec, RolloutSpec, WorkerSpec
from pipeline.roles.worker import Worker
from pipeline.rows import ActorCriticUpdateRow
from pipeline.schedules import Extent
from tests.networks.configs import actor_critic_config, network_config
from tests.param_server.configs import server_config
from tests.param_server.synchronous_server import SynchronousServer
from tests.protocols import nature_protocol
from tests.roles.wiring import Rows, first_server

ADAM = AdamConfig(kind="adam", learning_rate=1e-3, learning_rate_changes=(), beta1=0.8, beta2=0.75, epsilon=1e-8)


def actor_critic(**changes: Any) -> ActorCriticConfig:
    """DBA3C's learning rule on batches of 20 steps."""
    config = ActorCriticConfig(
        kind="actor_critic",
        discount=0.99,
        t_max=5,
        batch_size=20,
        entropy_weight=0.01,
        entropy_weight_changes=(),
        value_weight=1.0,
        max_average_norm=1e-4,
        max_gradient_norm=None,
        gae_lambda=1.0,
        clip_range=None,
        num_passes=1,
        normalised_advantages=False,
    )
    return replace(config, **changes)


def worker_spec(index: int = 0, num_workers: int = 1, **changes: Any) -> WorkerSpec:
    """A worker on Pong, seen small: 2 lanes, batches of 20 steps, 16 hidden units, float32, two shards."""
    spec = WorkerSpec(
        place=RolePlace(f"worker-{index}", index, num_workers, 0, 0.0),
        attempt=1,
        seed=0,
        game="Pong",
        num_lanes=2,
        compute_threads=1,
        device="cpu",
        precision="float32",
        generation=1,
        max_steps=None,
        extent=Extent(None, None),
        algorithm=actor_critic(),
        network=actor_critic_config(torso="dqn_2013"),
        environment=nature_protocol(noop_max=0, frame_height=52, frame_width=52, stack=2),
        param_server=server_config(num_shards=2, target_period_updates=None),
        stragglers=(),
    )
    return replace(spec, **changes)


def pqn(**changes: Any) -> PqnConfig:
    """PQN's learning rule on batches of 20 steps, of which two in five are explored at first."""
    config = PqnConfig(
        kind="pqn",
        discount=0.99,
        t_max=5,
        batch_size=20,
        num_passes=1,
        max_gradient_norm=None,
        q_lambda=0.65,
        exploration=ExplorationConfig(0.4, 0.1, 4, None, 0.0),
    )
    return replace(config, **changes)


def q_worker_spec(index: int = 0, num_workers: int = 1, **changes: Any) -> QWorkerSpec:
    """The same worker as a learner of values."""
    common = {**vars(worker_spec(index, num_workers)), "algorithm": pqn()}
    return replace(QWorkerSpec(**common | {"network": network_config(torso="dqn_2013", layer_norm=True)}), **changes)


def network_of(spec: RolloutSpec) -> Network:
    """The worker's network."""
    environment = spec.environment
    actions = num_actions(spec.game, environment.full_action_set)
    return spec.network.make(environment.stack, environment.frame_shape, actions)


class WiredAlone:
    """One worker beside shards that apply its gradients as they come."""

    def __init__(self, spec: WorkerSpec, optimizer: OptimizerConfig = ADAM) -> None:
        self.rows = WorkerRows()
        start = first_server(spec)
        layout = ParamLayout(start.params.size, spec.param_server.num_shards)
        self.shards = [
            ParameterShard(part, optimizer, spec.param_server, spec.generation)
            for part in split_snapshot(start, layout)
        ]
        self.workers = [Worker(spec, Servers([DirectShard(shard) for shard in self.shards], ()), self.rows)]

    def server(self) -> ServerSnapshot:
        """The server's state now."""
        return merge_snapshots([shard.snapshot() for shard in self.shards])


class WiredTogether:
    """Workers of one quorum around one server, all in this thread: they take turns."""

    def __init__(self, specs: Sequence[WorkerSpec], quorum: int, start: ServerSnapshot | None = None) -> None:
        config = specs[0].param_server
        self.rows = WorkerRows()
        self.synchronous = SynchronousServer(
            start or first_server(specs[0]), quorum, specs[0].generation, ADAM, **config.__dict__
        )
        servers = Servers(self.synchronous.handles, (), DirectLeader(self.synchronous.leader))
        self.workers = [Worker(spec, servers, self.rows) for spec in specs]

    def server(self) -> ServerSnapshot:
        """The server's state now."""
        return self.synchronous.snapshot()


class WorkerRows(Rows):
    """A sink that keeps what it is given."""

    @property
    def gradients(self) -> list[ActorCriticUpdateRow]:
        """Rows of groups of gradients."""
        return [row for row in self.rows if isinstance(row, ActorCriticUpdateRow)]
