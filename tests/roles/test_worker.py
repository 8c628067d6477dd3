"""The worker on real games and real shards: alone, and as one of a quorum whose workers take turns."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from pipeline import seeding
from pipeline.algorithms.actor_critic import actor_critic_loss, clipping_factors
from pipeline.envs.due_lanes import make_due_lanes
from pipeline.errors import DivergedError
from pipeline.interfaces import GradientExchange, ParamVector
from pipeline.networks import compute
from pipeline.networks.network import ActorCriticNetwork
from pipeline.networks.replica import PolicyReplica
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.snapshot import first_snapshot
from pipeline.roles import divergence, rollout_worker, worker
from pipeline.roles.choosing import Sampling
from pipeline.roles.rollouts import Rollouts
from pipeline.roles.spec import WorkerSpec
from pipeline.types import AnyGradient, FactoredGradient, Float32Array, Receipt, UInt8Array
from tests.clocks import Clock
from tests.networks.configs import actor_critic_config
from tests.param_server.configs import server_config
from tests.param_server.synchronous_server import mean_in_order
from tests.roles.wiring import Rows, first_server
from tests.roles.worker_wiring import (
    ADAM,
    WiredAlone,
    WiredTogether,
    actor_critic,
    network_of,
    worker_spec,
)
from tests.rounding import assert_equal_but_for_rounding

NUM_UPDATES = 4


def loop_by_hand(spec: WorkerSpec, num_updates: int, optimizer_config: OptimizerConfig = ADAM) -> Float32Array:
    """The parameters after so many updates, made by a loop that knows no server and no worker."""
    compute.set_compute_threads(spec.compute_threads)
    params = first_server(spec).params.copy()
    network = network_of(spec)
    assert isinstance(network, ActorCriticNetwork)
    replica = PolicyReplica(network, torch.float32, torch.device("cpu"))
    optimizer = optimizer_config.make(params.size)
    lanes = make_due_lanes(spec.game, spec.environment, spec.num_lanes, num_threads=1)
    rollouts = Rollouts(
        spec.place,
        lanes,
        spec.algorithm,
        Rows(),
        Sampling(),
        seeding.stream(spec.seed, spec.place.role, "actions", 0),
        seeding.emulator_seeds(spec.seed, spec.place.role, "emulator", 0, count=spec.num_lanes),
    )

    def policy(observations: UInt8Array) -> tuple[Float32Array, Float32Array]:
        logits, values = replica.policy_and_value(observations)
        return logits.numpy(), values.numpy()

    for _ in range(num_updates):
        replica.load(params)
        batch = rollouts.collect(policy, version=0)
        logits, values = replica.outputs(batch.s_tm1)
        a_tm1, return_tm1 = torch.from_numpy(batch.a_tm1), torch.from_numpy(batch.return_tm1)
        algorithm = spec.algorithm
        loss = actor_critic_loss(logits, values, a_tm1, return_tm1, algorithm.entropy_weight, algorithm.value_weight)
        gradient = replica.gradient(loss.objective)
        tensors = replica.gradient_tensors
        norms = torch.stack([tensor.norm() for tensor in tensors])
        sizes = [tensor.numel() for tensor in tensors]
        factors = clipping_factors(norms, sizes, algorithm.max_average_norm, algorithm.max_gradient_norm)
        if algorithm.max_gradient_norm is not None:
            assert max(factors) < 1, "a limit that is never met shows nothing"
        gradient = torch.cat([tensor * factor for tensor, factor in zip(tensors, factors, strict=True)])
        optimizer.apply(params, gradient.numpy().copy())
    lanes.close()
    return params


@pytest.mark.parametrize(
    ("activation", "max_average_norm", "max_gradient_norm"),
    [
        pytest.param("relu", 1e-4, 1e-3, id="recalled"),
        pytest.param("linear", 1e-4, None, id="averages clipped", marks=pytest.mark.slow),
        pytest.param("linear", None, None, id="unclipped", marks=pytest.mark.slow),
        pytest.param("linear", 1e-4, 1e-3, id="all clipped", marks=pytest.mark.slow),
    ],
)
def test_one_worker_equals_a_loop_written_by_hand_bit_for_bit(
    activation: str, max_average_norm: float | None, max_gradient_norm: float | None
) -> None:
    algorithm = actor_critic(max_average_norm=max_average_norm, max_gradient_norm=max_gradient_norm)
    network = actor_critic_config(torso="nature", activation=activation)
    spec = worker_spec(num_lanes=4, algorithm=algorithm, network=network)
    by_hand = loop_by_hand(spec, NUM_UPDATES)
    assert not np.array_equal(by_hand, first_server(spec).params)
    three_shards = replace(spec, param_server=server_config(num_shards=3, target_period_updates=None))
    for wired in (WiredAlone(spec), WiredAlone(three_shards), WiredTogether([spec], quorum=1)):
        (one,) = wired.workers
        for _ in range(NUM_UPDATES):
            one.step()
        server = wired.server()
        assert set(server.versions) == {NUM_UPDATES}
        np.testing.assert_array_equal(server.params, by_hand)
        one.close()


class Sent:
    """Remembers the gradients that a worker pushes."""

    def __init__(self, one: worker.Worker) -> None:
        self.gradients: list[Float32Array] = []
        self._push = one._exchange.push
        one._exchange.push = self  # type: ignore[method-assign]  # on its way to the shards, looked at

    def __call__(self, gradient: AnyGradient, computed_at: Sequence[int]) -> tuple[Receipt, ...]:
        assert not isinstance(gradient, FactoredGradient)
        self.gradients.append(gradient.copy())
        return self._push(gradient, computed_at)


def test_each_pass_is_a_gradient_of_the_same_batch_at_newer_parameters() -> None:
    algorithm = actor_critic(clip_range=0.1, num_passes=3, gae_lambda=0.95)
    wired = WiredTogether([worker_spec(algorithm=algorithm)], quorum=1)
    (one,) = wired.workers
    sent, steps = Sent(one), []
    for _ in range(7):
        one.step()
        steps.append(one.progress().num_steps)
    assert set(wired.server().versions) == {7}
    assert steps[0] == steps[1] == steps[2] < steps[3] == steps[5] < steps[6]
    assert not np.array_equal(sent.gradients[0], sent.gradients[1])
    one.close()


def test_normalised_advantages_make_another_gradient_of_the_policy_from_the_first_batch_on() -> None:
    first = []
    for normalised in (False, True):
        algorithm = actor_critic(clip_range=0.1, num_passes=1, normalised_advantages=normalised, value_weight=0.0)
        wired = WiredTogether([worker_spec(algorithm=algorithm)], quorum=1)
        (one,) = wired.workers
        sent = Sent(one)
        one.step()
        one.close()
        first.append(sent.gradients[0])
    assert not np.allclose(first[0], first[1])


def two_workers(quorum: int, **changes: object) -> WiredTogether:
    return WiredTogether([worker_spec(index, 2, **changes) for index in range(2)], quorum)


def test_an_update_of_two_workers_is_the_mean_of_their_two_gradients() -> None:
    wired = two_workers(quorum=2)
    params = wired.server().params.copy()
    optimizer = ADAM.make(params.size)
    sent = [Sent(one) for one in wired.workers]
    for update in range(1, 4):
        for one in wired.workers:
            assert wired.synchronous.versions == [update - 1] * 2
            one.step()
        mine, other = sent[0].gradients[-1], sent[1].gradients[-1]
        assert not np.array_equal(mine, other), "they play games of their own"
        optimizer.apply(params, mean_in_order([mine, other]))
        assert wired.synchronous.versions == [update] * 2
        np.testing.assert_array_equal(wired.server().params, params)


RELU = actor_critic_config(torso="nature", activation="relu")


@pytest.mark.slow
def test_factors_of_a_lone_worker_to_one_shard_are_its_gradient_bit_for_bit() -> None:
    servers = []
    for wire in ("dense", "factors"):
        config = server_config(target_period_updates=None, wire=wire)
        spec = worker_spec(network=RELU, algorithm=actor_critic(max_average_norm=None), param_server=config)
        for wired in (WiredAlone(spec), WiredTogether([spec], quorum=1)):
            for _ in range(NUM_UPDATES):
                wired.workers[0].step()
            servers.append(wired.server())
            wired.workers[0].close()
    for server in servers:
        assert set(server.versions) == {NUM_UPDATES}
        np.testing.assert_array_equal(server.params, servers[0].params)


@pytest.mark.parametrize(
    ("num_shards", "max_average_norm", "max_gradient_norm"),
    [
        pytest.param(3, 1e-6, 1e-4, id="clipped"),
        pytest.param(1, None, None, id="one shard", marks=pytest.mark.slow),
        pytest.param(3, None, None, id="unclipped", marks=pytest.mark.slow),
        pytest.param(1, 1e-6, 1e-4, id="clipped to one shard", marks=pytest.mark.slow),
    ],
)
def test_factors_of_two_workers_are_the_mean_of_their_gradients_but_for_rounding(
    num_shards: int, max_average_norm: float | None, max_gradient_norm: float | None
) -> None:
    algorithm = actor_critic(max_average_norm=max_average_norm, max_gradient_norm=max_gradient_norm)
    moments = []
    for wire in ("dense", "factors"):
        config = server_config(num_shards=num_shards, target_period_updates=None, wire=wire)
        wired = two_workers(quorum=2, network=RELU, algorithm=algorithm, param_server=config)
        for one in wired.workers:
            one.step()
        assert set(wired.server().versions) == {1}
        # Adam's first moment is 0.2 of the first gradient.
        moments.append(torch.from_numpy(wired.server().slots["mean"]))
        for one in wired.workers:
            one.close()
    dense, factored = moments
    assert dense.abs().max() > 0
    assert_equal_but_for_rounding(factored, dense, num_terms=2 * 20 + 576)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(rollout_worker, "time", clock)
    return clock


def test_a_straggler_sleeps_in_parts_before_it_sends_and_its_row_says_how_long(clock: Clock) -> None:
    stragglers = ((1, "constant", 1.25),)
    wired = two_workers(quorum=2, stragglers=stragglers)
    quick, slow = wired.workers
    quick.step()
    assert clock.sleeps == []
    for sleeps in ([0.5], [0.5, 0.5]):
        slow.step()
        assert clock.sleeps == sleeps and wired.synchronous.versions == [0, 0]
    slow.step()
    assert clock.sleeps == [0.5, 0.5, 0.25] and wired.synchronous.versions == [1, 1]
    for one in wired.workers:
        one.close()
    delayed = {row.role: row.delayed_seconds for row in wired.rows.gradients}
    assert delayed == {"worker-0": 0.0, "worker-1": 1.25}


def test_with_a_backup_worker_a_late_gradient_is_counted_and_its_worker_goes_on_at_the_new_version(
    clock: Clock,
) -> None:
    stragglers = ((1, "constant", 0.75),)
    wired = two_workers(quorum=1, stragglers=stragglers)
    quick, slow = wired.workers
    slow.step()
    quick.step()
    assert wired.synchronous.versions == [1, 1]
    before = wired.server().params
    slow.step()  # sends what it computed at version 0
    assert slow.progress().version == 0
    np.testing.assert_array_equal(wired.server().params, before)
    slow.step()
    assert slow.progress().version == 1 and slow.progress().num_updates == 2
    slow.step()
    assert wired.synchronous.versions == [2, 2], "its second gradient came first"
    for one in wired.workers:
        one.close()
    rows = {row.role: row for row in wired.rows.gradients}
    assert (rows["worker-0"].num_admitted, rows["worker-0"].num_dropped_late) == (1, 0)
    assert (rows["worker-1"].num_admitted, rows["worker-1"].num_dropped_late) == (1, 1)
    assert (rows["worker-1"].num_dropped_stale, rows["worker-1"].num_refused) == (0, 0)


class NeverReady(GradientExchange):
    """An exchange at which nothing ever comes; `asked` is how long it was to be waited."""

    def __init__(self, clock: Clock) -> None:
        self.asked: list[float] = []
        self._clock = clock

    def ready(self, timeout_seconds: float) -> bool:
        self.asked.append(timeout_seconds)
        self._clock.now += timeout_seconds
        return False

    def pull(self, into: ParamVector, known_versions: Sequence[int]) -> tuple[int, ...]:
        raise AssertionError("there is nothing to pull")

    def pull_target(self, into: ParamVector, known_versions: Sequence[int]) -> tuple[int, ...]:
        raise AssertionError("there is no target network")

    def push(self, gradient: AnyGradient, computed_at: Sequence[int]) -> tuple[Receipt, ...]:
        raise AssertionError("nothing was computed")

    def flush(self) -> tuple[Receipt, ...]:
        return ()


def test_a_worker_that_waits_comes_back_after_a_moment_so_that_it_hears_of_a_stop(clock: Clock) -> None:
    wired = WiredAlone(worker_spec())
    (one,) = wired.workers
    one.step()
    never = one._exchange = NeverReady(clock)
    before = one.progress()
    for _ in range(3):
        one.step()
    assert never.asked == [0.5, 0.5, 0.5]
    after = one.progress()
    assert after == before._replace(waited_seconds=1.5, wall_seconds=after.wall_seconds)
    one.close()
    assert wired.rows.gradients[0].waited_seconds == 1.5


def test_of_many_workers_each_waits_longer_so_that_no_server_is_asked_more_often_than_it_can_answer(
    clock: Clock,
) -> None:
    assert [rollout_worker.wait_seconds(count) for count in (1, 128, 256, 1_024)] == [0.5, 0.5, 1.0, 4.0]
    (one,) = WiredAlone(worker_spec(num_workers=1_024)).workers
    never = one._exchange = NeverReady(clock)
    one.step()
    assert never.asked == [4.0]


def test_a_worker_that_waits_for_others_makes_no_steps_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_worker, "_WAIT_SECONDS", 0.0)
    wired = two_workers(quorum=2)
    one, other = wired.workers
    one.step()
    before = one.progress()
    one.step()
    assert one.progress().num_steps == before.num_steps and one.progress().num_updates == 1
    other.step()
    one.step()
    assert one.progress().num_updates == 2 and one.progress().version == 1


def test_the_weight_of_the_entropy_follows_the_server_s_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    weights: list[float] = []

    def looked_at(*args: object) -> object:
        weights.append(args[4])  # type: ignore[arg-type]
        return actor_critic_loss(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(worker, "actor_critic_loss", looked_at)
    (one,) = WiredAlone(worker_spec(algorithm=actor_critic(entropy_weight_changes=((2, 0.5), (3, 0.25))))).workers
    for _ in range(5):
        one.step()
    assert weights == [0.01, 0.01, 0.5, 0.25, 0.25]


def test_a_gradient_that_is_no_number_is_not_sent_and_too_many_end_the_run_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(divergence, "_MAX_NOT_FINITE", 3)
    spec = worker_spec()
    diverged = first_snapshot(np.full_like(first_server(spec).params, np.nan))
    wired = WiredTogether([spec], quorum=1, start=diverged)
    (one,) = wired.workers
    for _ in range(2):
        one.step()
    assert wired.synchronous.versions == [0, 0] and one.progress().num_updates == 0
    with pytest.raises(DivergedError, match=r"3 times in a row at update 0: lower optimizer\.learning_rate"):
        one.step()
    one.close()


def test_a_group_of_gradients_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_worker, "UPDATES_PER_ROW", 2)
    place = replace(worker_spec().place, num_steps_before=1_000, num_actors=3, wall_seconds_before=60.0)
    wired = WiredAlone(worker_spec(place=place, algorithm=actor_critic(max_average_norm=None)))
    (one,) = wired.workers
    for _ in range(5):
        one.step()
    first, second = wired.rows.gradients
    assert (first.role, first.num_updates, first.num_admitted) == ("worker-0", 2, 2)
    assert [row.version for row in (first, second)] == [1, 3], "of the parameters that the last gradient was made with"
    assert first.total_frames == (1_000 + 40) * 4 * 3 and second.total_frames == (1_000 + 80) * 4 * 3
    assert 0 < first.mean_entropy <= np.log(6) and first.mean_gradient_norm > 0
    assert first.mean_explained_variance <= 1 and first.mean_value_loss >= 0
    assert 0 < first.active_filters <= 1
    assert second.wall_seconds >= first.wall_seconds >= 60.0
    one.close()
    assert [row.num_updates for row in wired.rows.gradients] == [2, 2, 1]


def test_a_worker_is_done_once_it_has_made_its_steps_resumes_included() -> None:
    place = replace(worker_spec().place, num_steps_before=100)
    (one,) = WiredAlone(worker_spec(place=place, max_steps=120)).workers
    assert not one.done
    one.step()
    assert one.done and one.progress().num_steps == 120


def test_after_a_resume_other_games_are_played() -> None:
    chosen = []
    for num_steps_before in (0, 20):
        place = replace(worker_spec().place, num_steps_before=num_steps_before)
        (one,) = WiredAlone(worker_spec(place=place)).workers
        sent = Sent(one)
        one.step()
        chosen.append(sent.gradients[0].tolist())
    assert chosen[0] != chosen[1]
