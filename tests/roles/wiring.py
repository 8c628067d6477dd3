"""Roles wired by hand in one thread: real lanes, a real replay, real shards, and a sink that remembers rows."""

from dataclasses import dataclass, field, replace
from typing import Any

from pipeline import seeding
from pipeline.algorithms.config import QLearningConfig
from pipeline.algorithms.exploration_config import ExplorationConfig
from pipeline.envs.rom import num_actions
from pipeline.interfaces import RowSink
from pipeline.optimizers.config import AdaGradConfig
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ServerSnapshot, first_snapshot, merge_snapshots, split_snapshot
from pipeline.replay.config import ReplayConfig
from pipeline.roles.bundle import Bundle
from pipeline.roles.place import RolePlace
from pipeline.roles.spec import QRoleSpec, RoleSpec
from pipeline.rows import EpisodeRow, Row, UpdateRow
from pipeline.schedules import Extent
from tests.networks.configs import network_config
from tests.param_server.configs import server_config
from tests.protocols import nature_protocol

ADAGRAD = AdaGradConfig(
    kind="adagrad", learning_rate=1e-3, learning_rate_changes=(), epsilon=1e-6, initial_accumulator=0.0
)


def bundle_spec(**changes: Any) -> QRoleSpec:
    """A bundle on Breakout that learns within a second: 2 lanes, 16 hidden units, minibatches of 8, float32."""
    spec = QRoleSpec(
        place=RolePlace("bundle-0", 0, 1, 0, 0.0),
        attempt=1,
        seed=0,
        game="Breakout",
        num_lanes=2,
        compute_threads=1,
        device="cpu",
        precision="float32",
        generation=1,
        max_steps=None,
        extent=Extent(None, None),
        algorithm=QLearningConfig(
            kind="q_learning",
            discount=0.99,
            n_step=1,
            double=False,
            max_abs_td_error=1.0,
            max_gradient_norm=None,
            outlier_deviations=None,
            outlier_decay=0.99,
            outlier_min_error=0.0,
            steps_per_update=4,
            munchausen=False,
            munchausen_weight=0.9,
            munchausen_temperature=0.03,
            munchausen_floor=-1.0,
            exploration=ExplorationConfig(1.0, 0.1, 50, None, 0.0),
        ),
        network=network_config(torso="dqn_2013"),
        environment=nature_protocol(),
        replay=ReplayConfig(
            capacity=2_000,
            capacity_bytes=None,
            min_transitions=64,
            batch_size=8,
            priority_exponent=None,
            priority_floor=1e-6,
            importance_exponent=0.4,
            importance_updates=1_000,
        ),
        param_server=server_config(),
        traffic=None,
    )
    return replace(spec, **changes)


def first_server(spec: RoleSpec) -> ServerSnapshot:
    """The server before its first update, with the parameters that seed 0 gives."""
    environment = spec.environment
    actions = num_actions(spec.game, environment.full_action_set)
    network = spec.network.make(environment.stack, environment.frame_shape, actions)
    return first_snapshot(network.initial_parameters(seeding.stream(spec.seed, "parameters")))


@dataclass
class Rows(RowSink):
    """A sink that keeps what it is given."""

    rows: list[Row] = field(default_factory=list)

    def emit(self, row: Row) -> None:
        """Keep one row."""
        self.rows.append(row)

    @property
    def episodes(self) -> list[EpisodeRow]:
        """Rows of finished games."""
        return [row for row in self.rows if isinstance(row, EpisodeRow)]

    @property
    def updates(self) -> list[UpdateRow]:
        """Rows of groups of updates."""
        return [row for row in self.rows if isinstance(row, UpdateRow)]


class Wired:
    """One bundle and its shards in this thread."""

    def __init__(self, spec: QRoleSpec, optimizer: OptimizerConfig = ADAGRAD) -> None:
        self.rows = Rows()
        start = first_server(spec)
        layout = ParamLayout(start.params.size, spec.param_server.num_shards)
        self.shards = [
            ParameterShard(part, optimizer, spec.param_server, spec.generation)
            for part in split_snapshot(start, layout)
        ]
        self.bundle = Bundle(spec, [DirectShard(shard) for shard in self.shards], self.rows)

    def run(self, num_steps: int) -> ServerSnapshot:
        """Step until this many agent steps were made; the server afterwards."""
        while self.bundle.progress().num_steps < num_steps:
            self.bundle.step()
        return self.server()

    def server(self) -> ServerSnapshot:
        """The server's state now."""
        return merge_snapshots([shard.snapshot() for shard in self.shards])
