"""Losses that are no numbers, and networks that see nothing: too many in a row are an error."""

import math

import numpy as np
import pytest
import torch

from pipeline import seeding
from pipeline.config.overrides import compose
from pipeline.errors import DivergedError
from pipeline.experiments.plan import network_of
from pipeline.networks.network import QNetwork
from pipeline.networks.policy_head import PolicyAndValue
from pipeline.networks.replica import QReplica
from pipeline.roles.divergence import BlindnessGuard, DivergenceGuard
from pipeline.roles.heldout import HeldoutStates
from pipeline.types import Float32Array
from tests.roles.worker_wiring import WiredAlone, worker_spec

CPU = torch.device("cpu")


def only_a_bias(network: QNetwork) -> Float32Array:
    """(P,) of a network whose rectifiers are off: it answers its last bias, which rewards have moved."""
    params = np.zeros(network.num_parameters, np.float32)
    params[-network.shapes[-1].size :] = 0.25
    return params


def test_a_finite_loss_is_admitted_and_one_that_is_no_number_is_not() -> None:
    guard = DivergenceGuard()
    assert [guard.admits(loss, version=1) for loss in (0.5, math.nan, 1e30, math.inf, -math.inf, 0.0)] == [
        True,
        False,
        True,
        False,
        False,
        True,
    ]


def test_a_hundred_in_a_row_are_an_error_that_says_when_and_what_to_do() -> None:
    guard = DivergenceGuard()
    assert not any(guard.admits(math.nan, version=7) for _ in range(99))
    with pytest.raises(DivergedError, match=r"nan 100 times in a row at update 7: lower optimizer\.learning_rate"):
        guard.admits(math.nan, version=7)


def test_a_number_between_begins_the_count_again() -> None:
    guard = DivergenceGuard()
    for _ in range(3):
        assert not any(guard.admits(math.inf, version=7) for _ in range(99))
        assert guard.admits(1.0, version=7)


def test_a_network_that_tells_states_apart_by_little_sees() -> None:
    guard = BlindnessGuard(max_blind=1)
    guard.see(torch.tensor([-2.0, -2.00001, -2.0]), version=7)


def test_a_network_that_has_seen_no_reward_and_answers_next_to_nothing_everywhere_sees() -> None:
    guard = BlindnessGuard(max_blind=1)
    guard.see(torch.tensor([-3.2e-7, -2.7e-7]), version=7)


def test_an_output_layer_that_begins_at_zero_sees_and_one_that_is_left_with_its_bias_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = compose(["experiment=smoke_dqn", "game=MontezumaRevenge", "network.initial_weights=he"])
    network = network_of(config)
    assert isinstance(network, QNetwork)
    environment = config.environment
    shape = (3, environment.stack, *environment.frame_shape)
    states = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)
    monkeypatch.setattr("pipeline.roles.heldout.heldout_states", lambda *_: states)
    replica = QReplica(network, torch.float32, CPU)
    heldout = HeldoutStates("MontezumaRevenge", environment, seed=0, replica=replica)
    params = network.initial_parameters(seeding.stream(0, "parameters"))
    num_of_head = sum(shape.size for shape in network.shapes if shape.in_head)
    params[-num_of_head:] = 0.0
    replica.load(params)
    for k in range(30):
        assert heldout.max_q(k * 500) == 0.0
    replica.load(only_a_bias(network))
    with pytest.raises(DivergedError, match=r"same answer, 0\.25"):
        for k in range(30, 40):
            heldout.max_q(k * 500)


def test_the_same_answer_to_all_states_too_often_in_a_row_is_an_error_that_says_what_to_do() -> None:
    guard = BlindnessGuard(max_blind=3)
    same, different = torch.full((5,), -2.25), torch.tensor([-2.25, -2.0])
    for answers in (same, same, different, same, same):
        guard.see(answers, version=7)
    with pytest.raises(DivergedError, match=r"same answer, -2\.25, to every state at update 7.*optimizer\.epsilon"):
        guard.see(same, version=7)


def test_a_network_without_a_last_bias_that_has_answered_and_answers_nothing_any_more_is_blind() -> None:
    guard, nothing = BlindnessGuard(max_blind=3), torch.zeros(5)
    for answers in (nothing, nothing, nothing, torch.tensor([0.0, 0.25]), nothing, nothing):
        guard.see(answers, version=0)
    again = BlindnessGuard(max_blind=3)  # of a run that was resumed
    again.num_in_a_row = guard.num_in_a_row
    with pytest.raises(DivergedError, match="same answer, 0, to every state"):
        again.see(nothing, version=8)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_real_network_whose_first_convolution_is_off_is_found_out_and_a_fresh_one_is_not(dtype: torch.dtype) -> None:
    config = compose(["experiment=dqn", "game=Pong"])
    network = network_of(config)
    assert isinstance(network, QNetwork)
    params = network.initial_parameters(seeding.stream(0, "parameters"))
    replica = QReplica(network, dtype, torch.device("cpu"))
    heldout = HeldoutStates("Pong", config.environment, seed=0, replica=replica)
    replica.load(params)
    for k in range(20):
        heldout.max_q(k * 500)
    first = network.shapes[0].size
    blind = params.copy()
    blind[:first] = -np.abs(params[:first])
    blind[first : first + network.shapes[1].size] = -1.0
    replica.load(blind)
    with pytest.raises(DivergedError, match="same answer"):
        for k in range(20, 30):
            heldout.max_q(k * 500)


@pytest.mark.parametrize("num_different", [0, 1])
def test_a_worker_is_blind_only_where_the_states_of_its_batch_differ(
    num_different: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (worker,) = WiredAlone(worker_spec()).workers
    batch = worker._rollouts.collect(worker._policy, 0)
    s_tm1 = np.zeros_like(batch.s_tm1)
    s_tm1[-1, -1, -1, -1] = num_different
    same = PolicyAndValue(torch.zeros(len(s_tm1), 6), torch.full((len(s_tm1),), 0.5))
    monkeypatch.setattr(worker._recollection, "outputs", lambda batch: same)
    for _ in range(3):
        worker._loss(batch._replace(s_tm1=s_tm1))
    assert worker._blindness.num_in_a_row == 3 * num_different
    worker.close()


def test_held_out_states_that_are_all_the_same_need_not_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    config = compose(["experiment=dqn", "game=Pong"])
    network = network_of(config)
    assert isinstance(network, QNetwork)
    states = np.zeros((3, config.environment.stack, *config.environment.frame_shape), np.uint8)
    monkeypatch.setattr("pipeline.roles.heldout.heldout_states", lambda *_: states)
    replica = QReplica(network, torch.float32, CPU)
    replica.load(only_a_bias(network))
    heldout = HeldoutStates("Pong", config.environment, seed=0, replica=replica)
    for k, last in enumerate((0, 1)):
        states[-1] = last
        heldout.max_q(k * 500)
        assert heldout.state().num_blind == k
