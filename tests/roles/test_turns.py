"""Roles that take turns, in one thread: cut anywhere, they go on bit for bit, with games, replays, sums and rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from pipeline.errors import CheckpointError
from pipeline.interfaces import Servers
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.leader import DirectLeader
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ServerSnapshot, merge_snapshots, split_snapshot
from pipeline.replay.frames import FrameReader
from pipeline.roles.cuts import Cut, CutDesk, StartState
from pipeline.roles.place import RolePlace
from pipeline.roles.role import role_of
from pipeline.roles.spec import QRoleSpec, QWorkerSpec, RoleSpec, WorkerSpec
from pipeline.roles.turns import Turn, Turns
from pipeline.rows import Row
from pipeline.types import UInt8Array
from tests.networks.configs import actor_critic_config, network_config
from tests.param_server.configs import server_config
from tests.param_server.synchronous_server import SynchronousServer
from tests.protocols import nature_protocol
from tests.roles.wiring import ADAGRAD, Rows, bundle_spec, first_server
from tests.roles.worker_wiring import ADAM, pqn, q_worker_spec, worker_spec

STICKY = nature_protocol(
    sticky_probability=0.25, max_frames=160, frame_height=52, frame_width=52, life_loss_ends_return=True
)
"""Games of 40 steps, so that lanes restart within a test."""
TIMES = {"wall_seconds", "steps_per_second", "updates_per_second", "waited_seconds", "max_pause_seconds"}


def bundles(num_bundles: int, **changes: Any) -> QRoleSpec:
    algorithm = replace(
        bundle_spec().algorithm, outlier_deviations=2.0, outlier_decay=0.8, **changes.pop("algorithm", {})
    )
    replay = replace(bundle_spec().replay, capacity=160, **changes.pop("replay", {}))
    return bundle_spec(
        place=RolePlace("turns", 0, num_bundles, 0, 0.0),
        num_lanes=4,
        environment=STICKY,
        algorithm=algorithm,
        replay=replay,
        param_server=server_config(num_shards=num_bundles, target_period_updates=7),
        restorable=True,
        **changes,
    )


def workers(num_workers: int) -> WorkerSpec:
    return worker_spec(0, num_workers, num_lanes=4, environment=replace(STICKY, stack=2), restorable=True)


def q_workers(num_workers: int) -> QWorkerSpec:
    return q_worker_spec(0, num_workers, num_lanes=4, environment=replace(STICKY, stack=2), restorable=True)


RAINBOW = {
    "algorithm": {"n_step": 3, "double": True, "max_abs_td_error": None},
    "replay": {"priority_exponent": 0.5},
    "network": network_config(torso="dqn_2013", dueling=True, noisy=True, num_atoms=5),
}
SPECS: Mapping[str, tuple[RoleSpec, int]] = {
    "dqn": (bundles(1), 1),
    "rainbow": (bundles(1, **RAINBOW), 1),
    "gorila": (bundles(2), 2),
    "gradients sent together": (
        replace(
            bundles(1),
            param_server=server_config(
                target_period_updates=7, push_every_updates=3, learner_pull_every_updates=4, actor_pull_every_steps=3
            ),
        ),
        1,
    ),
    "gorila that sends factors": (
        replace(bundles(2), param_server=server_config(num_shards=2, target_period_updates=7, wire="factors")),
        2,
    ),
    "ba3c": (workers(1), 1),
    "dba3c": (workers(2), 2),
    "pqn": (q_workers(2), 2),
    "pqn with a noisy network": (
        replace(q_workers(1), network=network_config(torso="dqn_2013", noisy=True), algorithm=pqn(num_passes=2)),
        1,
    ),
    "dba3c that sends factors": (
        replace(
            workers(2),
            network=actor_critic_config(torso="dqn_2013", activation="relu"),
            param_server=server_config(num_shards=2, target_period_updates=None, wire="factors"),
        ),
        2,
    ),
    "dba3c with random frame skips": (
        replace(workers(2), environment=replace(STICKY, stack=2, min_frame_skip=2, max_pool=False)),
        2,
    ),
}


@dataclass(frozen=True)
class Stand:
    """All of a run between two rounds."""

    cut: Cut
    server: ServerSnapshot
    frames: dict[str, UInt8Array]
    rows: list[Row]


class Wired:
    """Turns and their shards in this thread."""

    def __init__(self, spec: RoleSpec, num_roles: int, start: Stand | None = None) -> None:
        server = first_server(spec) if start is None else start.server
        self.rows, self.desk = Rows(), CutDesk()
        optimizer: OptimizerConfig = ADAGRAD if isinstance(spec, QRoleSpec) else ADAM
        if isinstance(spec, QRoleSpec) or num_roles == 1:
            parts = split_snapshot(server, ParamLayout(server.params.size, spec.param_server.num_shards))
            shards = [ParameterShard(part, optimizer, spec.param_server, spec.generation) for part in parts]
            self.server: Callable[[], ServerSnapshot] = lambda: merge_snapshots([shard.snapshot() for shard in shards])
            servers = Servers([DirectShard(shard) for shard in shards], ())
        else:
            together = SynchronousServer(server, num_roles, spec.generation, ADAM, **spec.param_server.__dict__)
            self.server = together.snapshot
            servers = Servers(together.handles, (), DirectLeader(together.leader))
        if start is not None:
            frames = start.frames

            def load(name: str, reader: FrameReader) -> None:
                reader.load(reader.start, frames[name])

            self.desk.start = StartState(start.cut.states, start.cut.num_rows, load)
        kind = role_of(type(spec.algorithm))
        turns = [Turn(f"{kind.NAME}-{i}", i, kind.build) for i in range(num_roles)]
        self.turns = Turns(turns, self.desk.key, spec, servers, self.rows)

    def run(self, num_rounds: int) -> Stand:
        for _ in range(num_rounds):
            self.turns.step()
        cut = self.turns.cut()
        frames = {name: reader.read(reader.start, reader.end) for name, reader in cut.frames.items()}
        return Stand(cut, self.server(), frames, list(self.rows.rows))


def without_times(rows: list[Row]) -> list[list[object]]:
    return [[getattr(row, field.name) for field in fields(row) if field.name not in TIMES] for row in rows]


def assert_equal(one: Stand, other: Stand) -> None:
    assert one.cut.num_rows == other.cut.num_rows and one.cut.states.keys() == other.cut.states.keys()
    for role, packed in one.cut.states.items():
        again = other.cut.states[role]
        different = [name for name, array in packed.items() if array.tobytes() != again[name].tobytes()]
        assert packed.keys() == again.keys() and different == []
    assert one.server.versions == other.server.versions and one.server.target_versions == other.server.target_versions
    for name in ("params", "target"):
        assert getattr(one.server, name).tobytes() == getattr(other.server, name).tobytes()
    assert {n: s.tobytes() for n, s in one.server.slots.items()} == {
        n: s.tobytes() for n, s in other.server.slots.items()
    }
    assert {n: f.tobytes() for n, f in one.frames.items()} == {n: f.tobytes() for n, f in other.frames.items()}


@pytest.mark.slow
@pytest.mark.parametrize("system", SPECS)
def test_turns_go_on_bit_for_bit_wherever_they_were_cut(system: str) -> None:
    spec, num_roles = SPECS[system]
    num_rounds = 56 if isinstance(spec, QRoleSpec) else 24
    whole = Wired(spec, num_roles).run(num_rounds)
    assert whole.server.version > 10 and whole.rows
    rows: list[Row] = []
    stand, done = None, 0
    for cut in (3, num_rounds // 2, num_rounds):
        stand = Wired(replace(spec, generation=spec.generation + cut), num_roles, stand).run(cut - done)
        rows, done = rows + stand.rows, cut
    assert stand is not None
    assert_equal(whole, stand)
    assert without_times(rows) == without_times(whole.rows)


def test_states_of_other_roles_are_refused() -> None:
    stand = Wired(workers(1), 1).run(1)
    states = {"worker-7": stand.cut.states["worker-0"]}
    with pytest.raises(CheckpointError, match="worker-7"):
        Wired(workers(1), 1, replace(stand, cut=stand.cut._replace(states=states)))


def test_a_run_of_turns_ends_at_its_steps_of_all_together_and_leaves_its_state() -> None:
    wired = Wired(replace(workers(2), max_steps=100), 2)
    while not wired.turns.done:
        wired.turns.step()
    steps = wired.turns.progress().num_steps
    assert 100 <= steps < 100 + 2 * 20 + 8
    wired.turns.close()
    assert wired.desk.take(0.0).progress.num_steps == steps
    assert np.isfinite(wired.server().params).all()
