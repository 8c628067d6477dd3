"""The learner on a real replay and real shards."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from pipeline.errors import DivergedError
from pipeline.interfaces import Push
from pipeline.networks import computed_gradient
from pipeline.networks.config import QNetworkConfig
from pipeline.optimizers.config import AdamConfig, RMSPropConfig
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.shard import ParameterShard
from pipeline.param_server.slices import Multiplier
from pipeline.roles import divergence
from pipeline.types import Float32Array, Receipt
from tests.param_server.configs import server_config
from tests.roles.wiring import ADAGRAD, Wired, bundle_spec
from tests.rounding import assert_equal_but_for_rounding

OPTIMIZERS: list[OptimizerConfig] = [
    ADAGRAD,
    RMSPropConfig(kind="rmsprop", learning_rate=2.5e-4, learning_rate_changes=(), decay=0.95, epsilon=1e-5),
    AdamConfig(kind="adam", learning_rate=1e-4, learning_rate_changes=(), beta1=0.9, beta2=0.999, epsilon=1e-8),
]


def test_no_gradient_is_sent_while_the_replay_fills() -> None:
    wired = Wired(bundle_spec())
    assert wired.run(64).version == 0
    assert wired.run(200).version > 0


def test_one_gradient_is_sent_per_steps_per_update() -> None:
    wired = Wired(bundle_spec())
    before = wired.run(200)
    after = wired.run(400)
    assert after.version - before.version == pytest.approx(50, abs=1)


def test_the_replica_holds_the_server_s_parameters_and_never_its_own_update() -> None:
    wired = Wired(bundle_spec())
    wired.run(200)
    before = wired.server().params
    replica = wired.bundle._online.replica
    wired.bundle._learner.step()
    held = torch.cat(
        [
            p.detach().permute(0, 2, 3, 1).flatten() if p.dim() == 4 else p.detach().flatten()
            for p in replica.parameters.values()
        ]
    )
    np.testing.assert_array_equal(held.numpy(), before)
    assert not np.array_equal(wired.server().params, before)


def test_the_target_network_is_the_server_s_copy_of_the_last_multiple_of_the_period() -> None:
    wired = Wired(bundle_spec())
    wired.run(400)
    server = wired.server()
    assert server.version > 40
    assert server.target_versions[0] == server.version // 20 * 20
    wired.bundle._learner.step()
    assert wired.bundle._learner._target.version == server.target_versions[0]


@pytest.mark.parametrize(
    "optimizer",
    [pytest.param(o, id=o.kind, marks=[pytest.mark.slow] if o.kind != "adam" else []) for o in OPTIMIZERS],
)
def test_three_odd_shards_learn_what_one_shard_learns_bit_for_bit(optimizer: OptimizerConfig) -> None:
    servers = []
    for num_shards in (1, 3):
        server = server_config(num_shards=num_shards)
        servers.append(Wired(bundle_spec(param_server=server), optimizer).run(300))
    np.testing.assert_array_equal(servers[0].params, servers[1].params)
    assert servers[0].version == servers[1].version > 20


@pytest.mark.slow
def test_a_run_with_the_same_seed_is_the_same_and_with_another_is_another() -> None:
    first, again, other = (Wired(bundle_spec(seed=seed)).run(150).params for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_an_outlying_loss_is_counted_and_not_sent() -> None:
    algorithm = replace(bundle_spec().algorithm, outlier_deviations=0.5, outlier_decay=0.9)
    wired = Wired(bundle_spec(algorithm=algorithm))
    server = wired.run(900)
    dropped = sum(row.num_dropped_outlier for row in wired.rows.updates)
    computed = sum(row.num_updates for row in wired.rows.updates)
    assert dropped > 0
    assert server.version < wired.bundle.progress().num_updates
    assert computed == dropped + sum(row.num_admitted for row in wired.rows.updates)


@pytest.mark.parametrize(("num_quantiles", "num_atoms"), [(1, 1), (20, 1), (1, 51)])
def test_errors_that_rewards_explain_are_sent_whatever_their_loss(num_quantiles: int, num_atoms: int) -> None:
    plain = bundle_spec().network
    assert isinstance(plain, QNetworkConfig)
    spec = bundle_spec(network=replace(plain, num_quantiles=num_quantiles, num_atoms=num_atoms))
    rule = replace(spec.algorithm, outlier_deviations=0.5, outlier_decay=0.9)
    dropped = []
    for min_error in (0.0, 3.0):
        wired = Wired(replace(spec, algorithm=replace(rule, outlier_min_error=min_error)))
        wired.run(900)
        dropped.append(sum(row.num_dropped_outlier for row in wired.rows.updates))
    assert dropped[0] > 0 == dropped[1], "no reward is above 1, and values begin near 0"


def test_a_long_gradient_is_scaled_down_before_it_is_sent() -> None:
    limit = 1e-4
    wired = Wired(bundle_spec(algorithm=replace(bundle_spec().algorithm, max_gradient_norm=limit)))
    sent: list[float] = []
    push = wired.shards[0].push

    def watch(pushed):  # type: ignore[no-untyped-def]
        sent.append(float(np.linalg.norm(pushed.gradient)))
        return push(pushed)

    wired.shards[0].push = watch  # type: ignore[method-assign]
    wired.run(200)
    assert sent and max(sent) == pytest.approx(limit, rel=1e-4)


def test_a_run_whose_loss_is_no_number_ends_with_a_reason() -> None:
    wired = Wired(bundle_spec())
    wired.run(200)
    wired.shards[0]._params[:] = np.nan
    wired.shards[0]._published = None
    with pytest.raises(DivergedError, match=r"lower optimizer\.learning_rate"):
        for _ in range(200):
            wired.bundle._learner._online.versions = ()
            wired.bundle._learner.step()


def test_a_gradient_that_is_no_number_is_not_sent_though_its_loss_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    wired = Wired(bundle_spec())
    wired.run(200)
    learner, version = wired.bundle._learner, wired.server().version
    gradient = learner._online.replica.gradient
    monkeypatch.setattr(learner._online.replica, "gradient", lambda loss: gradient(loss).fill_(np.inf))
    learner.step()
    assert wired.server().version == version
    with pytest.raises(DivergedError, match="loss or gradient was inf 100 times in a row"):
        for _ in range(100):
            learner.step()
    assert np.isfinite(wired.server().params).all()


def test_rows_hold_what_the_learner_did() -> None:
    wired = Wired(bundle_spec())
    wired.run(600)
    wired.bundle.close()
    rows = wired.rows.updates
    assert rows[0].num_updates == 100
    assert sum(row.num_updates for row in rows) == wired.bundle.progress().num_updates
    assert all(
        np.isfinite([row.mean_loss, row.mean_q, row.heldout_max_q, row.mean_gradient_norm]).all() for row in rows
    )
    assert all(row.mean_staleness == 0 for row in rows)
    assert rows[-1].version == wired.bundle.progress().version


def test_gathered_gradients_are_sent_as_their_mean_and_count_as_many() -> None:
    wired = Wired(bundle_spec(param_server=server_config(push_every_updates=4, learner_pull_every_updates=4)))
    sent: list[np.ndarray] = []
    computed: list[np.ndarray] = []
    learner = wired.bundle._learner
    gradient = learner._online.replica.gradient
    push = wired.shards[0].push

    def watch_push(pushed):  # type: ignore[no-untyped-def]
        sent.append(pushed.gradient.copy())
        return push(pushed)

    def watch_gradient(loss):  # type: ignore[no-untyped-def]
        computed.append(gradient(loss).numpy().copy())
        return torch.from_numpy(computed[-1])

    wired.shards[0].push = watch_push  # type: ignore[method-assign]
    learner._online.replica.gradient = watch_gradient  # type: ignore[method-assign]
    server = wired.run(300)
    assert len(computed) // 4 == len(sent) == server.version > 5
    for index, mean in enumerate(sent):
        np.testing.assert_allclose(mean, np.mean(computed[4 * index : 4 * index + 4], axis=0), rtol=1e-5, atol=1e-9)
    admitted = sum(row.num_admitted for row in wired.rows.updates)
    assert admitted == 4 * sum(row.num_updates // 4 for row in wired.rows.updates)


@pytest.mark.slow
def test_factors_to_one_shard_are_learned_from_bit_for_bit_with_the_guards_as_they_are() -> None:
    algorithm = replace(bundle_spec().algorithm, outlier_deviations=0.5, outlier_decay=0.9)
    dense, factored = (
        Wired(bundle_spec(algorithm=algorithm, param_server=server_config(wire=wire))) for wire in ("dense", "factors")
    )
    dense.run(600)
    factored.run(600)
    np.testing.assert_array_equal(factored.server().params, dense.server().params)
    assert factored.server().version > 20
    dropped = [[row.num_dropped_outlier for row in wired.rows.updates] for wired in (dense, factored)]
    assert dropped[0] == dropped[1] and sum(dropped[0]) > 0


CASES = list(itertools.product((1, 2, 3), (None, 1e-4), ("float32", "bfloat16")))
QUICK = ((1, None, "float32"), (2, None, "bfloat16"), (3, 1e-4, "float32"))


@pytest.mark.parametrize(
    ("num_shards", "limit", "wire_dtype"),
    [pytest.param(*case, marks=[] if case in QUICK else pytest.mark.slow) for case in CASES],
)
def test_factors_are_the_dense_gradient_of_the_same_step_but_for_rounding(
    num_shards: int, limit: float | None, wire_dtype: str
) -> None:
    algorithm = replace(bundle_spec().algorithm, max_gradient_norm=limit)
    sent = []
    for wire in ("dense", "factors"):
        server = server_config(num_shards=num_shards, wire=wire, wire_dtype=wire_dtype)
        wired = Wired(bundle_spec(algorithm=algorithm, param_server=server))
        watched = [watch(shard) for shard in wired.shards]
        while not watched[-1]:
            wired.bundle.step()
        sent.append(torch.from_numpy(np.concatenate([pushes[0] for pushes in watched])))
    dense, factored = sent
    dtype = torch.float32 if wire_dtype == "float32" else torch.bfloat16
    assert_equal_but_for_rounding(factored.to(dtype), dense.to(dtype), num_terms=8 + 2_592)
    if limit is not None:
        assert factored.norm().item() == pytest.approx(limit, rel=1e-2)


def watch(shard: ParameterShard) -> list[Float32Array]:
    """What is pushed to this shard from now on, as numbers."""
    push, seen = shard.push, list[Float32Array]()

    def look(pushed: Push) -> Receipt:
        seen.append(Multiplier().whole(pushed.gradient).copy())
        return push(pushed)

    shard.push = look  # type: ignore[assignment, method-assign]
    return seen


def test_factors_that_are_no_numbers_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    wired = Wired(bundle_spec(param_server=server_config(wire="factors")))
    wired.run(200)
    learner, version = wired.bundle._learner, wired.server().version
    monkeypatch.setattr(divergence, "_MAX_NOT_FINITE", 3)
    monkeypatch.setattr(computed_gradient, "product_norm", lambda *factors: torch.tensor(np.nan))
    with pytest.raises(DivergedError, match="loss or gradient was nan 3 times in a row"):
        for _ in range(3):
            learner.step()
    assert wired.server().version == version and np.isfinite(wired.server().params).all()


@pytest.mark.parametrize("every", [1, 3])
def test_a_learner_asks_for_newer_parameters_at_its_interval(every: int) -> None:
    # The actor, which shares the replica, keeps out of the way.
    wired = Wired(
        bundle_spec(param_server=server_config(learner_pull_every_updates=every, actor_pull_every_steps=10**6))
    )
    wired.run(100)
    ages = []
    learner = wired.bundle._learner
    for _ in range(2 * every):
        learner.step()
        ages.append(wired.shards[0].snapshot().version - learner._online.version)
    assert set(ages) == set(range(1, every + 1))


def test_the_target_is_renewed_when_the_last_shard_has_passed_the_period() -> None:
    wired = Wired(bundle_spec(param_server=server_config(num_shards=2, target_period_updates=40)))
    wired.run(100)
    learner = wired.bundle._learner
    ahead, behind = wired.shards
    while ahead.snapshot().version < 41:
        # Another learner's gradients that only the first shard admits: from here on the versions differ.
        push_to(ahead)
    assert (ahead.snapshot().target_version, behind.snapshot().target_version) == (40, 0)
    ages = {}
    while behind.snapshot().version < 41:
        learner.step()
        ages[learner._online.version] = learner._target.versions
    # Until the shard that is behind has made its copy, the learner's target is the old one, whole.
    assert {ages[version] for version in ages if version < 40} == {(0, 0)}
    assert ages[40] == (40, 40)


def test_staleness_is_each_shard_s_own_where_versions_differ() -> None:
    wired = Wired(bundle_spec(param_server=server_config(num_shards=2)))
    wired.run(100)
    learner = wired.bundle._learner
    ahead = wired.shards[0]
    learner.step()
    versions = learner._online.versions
    for _ in range(3):
        push_to(ahead)
    receipts = learner._sink.push(learner._online.replica._gradient.numpy(), versions)
    assert [receipt.staleness for receipt in receipts] == [4, 1]
    assert receipts[0].version == receipts[1].version + 3


def push_to(shard: ParameterShard) -> None:
    """One more update of this shard alone."""
    snapshot = shard.snapshot()
    gradient = np.zeros_like(snapshot.params)
    receipt = shard.push(Push(gradient, f"other/{snapshot.version}", 1, 1, snapshot.version))
    assert receipt.admitted
