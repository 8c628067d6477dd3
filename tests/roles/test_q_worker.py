"""The worker that learns values, on real games and real shards: alone, and as one of a quorum."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pipeline import seeding
from pipeline.algorithms.exploration import lane_epsilons
from pipeline.algorithms.exploration_config import ExplorationConfig
from pipeline.algorithms.q_learning import MinibatchLoss
from pipeline.envs.due_lanes import make_due_lanes
from pipeline.interfaces import Servers
from pipeline.networks import compute
from pipeline.networks.network import QNetwork
from pipeline.networks.replica import QReplica
from pipeline.param_server.leader import DirectLeader
from pipeline.roles import rollout_worker
from pipeline.roles.choosing import EpsilonGreedy
from pipeline.roles.q_worker import QWorker
from pipeline.roles.rollouts import Rollouts
from pipeline.roles.spec import QWorkerSpec
from pipeline.schedules import Extent
from pipeline.types import Float32Array, RolloutBatch, UInt8Array
from tests.param_server.synchronous_server import SynchronousServer
from tests.roles.wiring import Rows, first_server
from tests.roles.worker_wiring import ADAM, network_of, pqn, q_worker_spec

NUM_UPDATES = 4


class Wired:
    """Workers of one quorum around one server, all in this thread: they take turns."""

    def __init__(self, *specs: QWorkerSpec, quorum: int | None = None) -> None:
        self.rows = Rows()
        config, start = specs[0].param_server, first_server(specs[0])
        self.server = SynchronousServer(start, quorum or len(specs), specs[0].generation, ADAM, **config.__dict__)
        servers = Servers(self.server.handles, (), DirectLeader(self.server.leader))
        self.workers = [QWorker.build(spec, servers, self.rows) for spec in specs]

    def close(self) -> None:
        """All of them."""
        for one in self.workers:
            one.close()


def loop_by_hand(spec: QWorkerSpec, num_updates: int) -> Float32Array:
    """The parameters after so many updates, made by a loop that knows no server and no worker."""
    compute.set_compute_threads(spec.compute_threads)
    params = first_server(spec).params.copy()
    network = network_of(spec)
    assert isinstance(network, QNetwork)
    replica = QReplica(network, torch.float32, torch.device("cpu"))
    optimizer = ADAM.make(params.size)
    lanes, exploring = make_due_lanes(spec.game, spec.environment, spec.num_lanes, num_threads=1), EpsilonGreedy(2)
    name = spec.place.role
    seeds = seeding.emulator_seeds(spec.seed, name, "emulator", 0, count=spec.num_lanes)
    rng = seeding.stream(spec.seed, name, "actions", 0)
    rollouts = Rollouts(spec.place, lanes, spec.algorithm, Rows(), exploring, rng, seeds)

    def policy(observations: UInt8Array) -> tuple[Float32Array, Float32Array]:
        q: Float32Array = replica.values(observations).numpy()
        return q, q.max(axis=1)

    for update in range(num_updates):
        replica.load(params)
        exploring.epsilons = lane_epsilons(spec.algorithm.exploration, update, 0.0, 2)
        batch = rollouts.collect(policy, version=update)
        taken = replica.outputs(batch.s_tm1)[torch.arange(len(batch.a_tm1)), torch.from_numpy(batch.a_tm1)]
        gradient = replica.gradient((0.5 * (torch.from_numpy(batch.return_tm1) - taken) ** 2).mean())
        optimizer.apply(params, gradient.numpy().copy())
    lanes.close()
    return params


def test_one_worker_equals_a_loop_written_by_hand_bit_for_bit() -> None:
    spec = q_worker_spec()
    by_hand = loop_by_hand(spec, NUM_UPDATES)
    assert not np.array_equal(by_hand, first_server(spec).params)
    wired = Wired(spec)
    for _ in range(NUM_UPDATES):
        wired.workers[0].step()
    np.testing.assert_array_equal(wired.server.snapshot().params, by_hand)
    wired.close()


def test_a_return_is_made_of_rewards_and_of_the_largest_values_on_the_way() -> None:
    spec = q_worker_spec(algorithm=pqn(batch_size=10))
    seen: list[Float32Array] = []
    wired = Wired(spec)
    (one,) = wired.workers
    policy, loss = one._policy, one._loss
    batches: list[RolloutBatch] = []

    def looked_at(observations: UInt8Array) -> tuple[Float32Array, Float32Array]:
        q, values = policy(observations)
        assert values.tolist() == q.max(axis=1).tolist()
        seen.append(values)
        return q, values

    def kept(batch: RolloutBatch) -> MinibatchLoss:
        batches.append(batch)
        return loss(batch)

    one._policy, one._loss = looked_at, kept  # type: ignore[method-assign]
    one.step()
    (batch,) = batches
    of_lane = np.array(seen)[:, 0]
    # Pong's first steps have no reward: the published recursion, from the value behind the fifth step.
    target = 0.99 * of_lane[5]
    for following in of_lane[4:0:-1]:
        target = 0.99 * following + 0.99 * 0.65 * (target - following)
    assert batch.return_tm1[0] == pytest.approx(target, rel=1e-5)
    wired.close()


def test_its_epsilon_falls_with_updates_or_with_its_share_of_the_budget_and_stands_in_rows_and_progress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rollout_worker, "UPDATES_PER_ROW", 2)
    of_share = ExplorationConfig(1.0, 0.0, None, 0.5, 0.0)
    for algorithm, extent, wanted in (
        (pqn(), Extent(None, None), [0.4, 0.325, 0.25]),
        # Of 160 steps the first half: 20 a gradient, and some beyond them, whose return is not known.
        (pqn(exploration=of_share), Extent(160, None), [1.0, 0.75, 0.5]),
    ):
        wired = Wired(q_worker_spec(algorithm=algorithm, extent=extent))
        (one,) = wired.workers
        epsilons = []
        for _ in range(3):
            one.step()
            epsilons.append(one.progress().epsilon)
        assert epsilons == pytest.approx(wanted, abs=0.06)
        (row,) = wired.rows.updates
        assert (row.num_updates, row.num_admitted, row.version, row.epsilon) == (2, 2, 1, epsilons[1])
        assert np.isfinite([row.mean_loss, row.mean_q, row.heldout_max_q]).all() and row.mean_gradient_norm > 0
        assert row.replay_transitions == 0
        wired.close()


def test_a_gradient_that_is_late_for_its_update_counts_as_dropped_for_its_age() -> None:
    wired = Wired(q_worker_spec(0, 2), q_worker_spec(1, 2), quorum=1)
    first, last = wired.workers
    # It has the parameters of the first version, and learns with them though the second is there.
    last._online.refresh()
    first.step()
    assert wired.server.versions == [1, 1]
    last._online.refresh = lambda: None  # type: ignore[method-assign]
    last.step()
    wired.close()
    of = {row.role: row for row in wired.rows.updates}
    assert (of["worker-0"].num_admitted, of["worker-0"].num_dropped_stale) == (1, 0)
    assert (of["worker-1"].num_admitted, of["worker-1"].num_dropped_stale) == (0, 1)


def test_the_share_of_the_budget_never_falls_behind_what_an_earlier_start_had_told() -> None:
    spec = q_worker_spec(extent=Extent(1_000_000, None))
    wired = Wired(replace(spec, place=replace(spec.place, budget_share_before=0.7)))
    wired.workers[0].step()
    assert wired.workers[0].progress().budget_share == 0.7
    wired.close()
