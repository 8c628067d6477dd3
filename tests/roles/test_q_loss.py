"""The loss of a whole minibatch against slow NumPy, and its gradient against finite differences."""

import itertools
import math
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest
import torch

from pipeline.algorithms.config import QLearningConfig
from pipeline.algorithms.quantile import quantile_loss
from pipeline.networks.network import QNetwork
from pipeline.networks.replica import QReplica
from pipeline.roles.q_loss import QLoss
from pipeline.types import Distribution, Float32Array, TransitionBatch
from tests.networks.configs import network_config
from tests.roles.wiring import bundle_spec

BATCH_SIZE, NUM_ACTIONS = 6, 3
WEIGHT = np.linspace(0.2, 1.0, BATCH_SIZE, dtype=np.float32)
OPTIONS = [
    options
    for options in itertools.product(
        ("plain", "double", "munchausen"),
        (False, True),
        (False, True),
        (None, "atoms", "quantiles", "fractions"),
        (False, True),
    )
    if (options[0], options[3]) != ("munchausen", "atoms") and (options[1], options[3]) != (True, "fractions")
]
"""(target, dueling, noisy, outcomes, layer_norm)"""
NUM_OUTCOMES = 5

FloatArray = npt.NDArray[np.float64]
Outcomes = Distribution | Literal["fractions"] | None
"""What a network says of returns; fractions: quantiles of fractions that are drawn."""


def make_batch() -> TransitionBatch:
    """Noise for frames; the third transition is the last of its episode."""
    rng = np.random.default_rng(0)
    return TransitionBatch(
        s_tm1=rng.integers(0, 256, (BATCH_SIZE, 1, 36, 36), dtype=np.uint8),
        a_tm1=rng.integers(NUM_ACTIONS, size=BATCH_SIZE),
        r_t=rng.normal(size=BATCH_SIZE).astype(np.float32),
        discount_t=np.array([0.99, 0.97, 0.0, 0.99, 0.97, 0.99], np.float32),
        s_t=rng.integers(0, 256, (BATCH_SIZE, 1, 36, 36), dtype=np.uint8),
        relative_chance=np.ones(BATCH_SIZE, np.float32),
        key=np.arange(BATCH_SIZE),
    )


class Setting:
    """Two replicas of a tiny network with different parameters, and the loss between them."""

    def __init__(self, target: str, dueling: bool, noisy: bool, outcomes: Outcomes, layer_norm: bool = False) -> None:
        config = network_config(
            hidden_units=4,
            dueling=dueling,
            noisy=noisy,
            layer_norm=layer_norm,
            num_atoms=NUM_OUTCOMES if outcomes == "atoms" else 1,
            num_quantiles=NUM_OUTCOMES if outcomes in ("quantiles", "fractions") else 1,
            drawn_fractions=outcomes == "fractions",
            min_return=-2.0,
            max_return=2.0,
        )
        self.algorithm: QLearningConfig = replace(
            bundle_spec().algorithm,
            double=target == "double",
            munchausen=target == "munchausen",
            # Warm enough that no action is all of the policy, and a floor that some actions meet.
            munchausen_temperature=0.3,
            munchausen_floor=-0.4,
            max_abs_td_error=0.5,
        )
        assert config.mistakes() == self.algorithm.unfit_for_distribution(config.distribution) == []
        self.network: QNetwork = config.make(stack=1, frame_shape=(36, 36), num_actions=NUM_ACTIONS)
        self.online, self.target = (QReplica(self.network, torch.float32, torch.device("cpu")) for _ in range(2))
        # Large ones, so that values differ between states and the maximum is clear.
        self.flat = 2 * self.network.initial_parameters(np.random.default_rng(1))
        self.online.load(self.flat)
        self.target.load(2 * self.network.initial_parameters(np.random.default_rng(2)))
        self.noise = torch.Generator()

    def loss(self, batch: TransitionBatch, seed: int = 0) -> tuple[float, Float32Array, Float32Array]:
        """Objective, its gradient and absolute errors, with the noise of one seed."""
        self.noise.manual_seed(seed)
        found = QLoss(self.algorithm, self.online, self.target, self.noise)(batch, torch.from_numpy(WEIGHT))
        return found.objective.item(), self.online.gradient(found.objective).numpy().copy(), found.abs_error.numpy()

    def slow_values(self, outputs: FloatArray) -> FloatArray:
        """Q (A,) of one state's outputs."""
        if outputs.ndim == 1:
            return outputs
        atoms = self.online.support
        return outputs.mean(axis=1) if atoms is None else np.asarray(softmax(outputs) @ atoms.double().numpy())

    def slow_loss_of_one(
        self,
        taken: FloatArray,
        outputs_t: FloatArray,
        chances: FloatArray,
        bonus: FloatArray,
        r_t: float,
        discount_t: float,
        fractions: FloatArray,
    ) -> tuple[float, float]:
        """Loss and absolute error of one transition, whose next action has such chances and bonuses.

        `fractions`: of quantiles, those of `taken`.
        """
        if outputs_t.ndim == 1:
            error = r_t + discount_t * float(chances @ (outputs_t + bonus)) - float(taken)
            return huber(error), abs(error)
        if self.online.support is None:
            aims = [r_t + discount_t * float(chances @ (outputs_t[:, j] + bonus)) for j in range(NUM_OUTCOMES)]
            loss = 0.0
            for i, aim in itertools.product(range(NUM_OUTCOMES), aims):
                share = fractions[i] if aim >= taken[i] else 1 - fractions[i]
                loss += float(share) * huber(aim - float(taken[i])) / NUM_OUTCOMES
            return loss, float(np.abs(np.sort(taken) - np.sort(aims)).mean())
        atoms, target = self.online.support.double().numpy(), np.zeros(NUM_OUTCOMES)
        for probability, atom in zip(softmax(outputs_t[chances.argmax()]), atoms, strict=True):
            z = min(max(r_t + discount_t * atom, -2.0), 2.0)
            for i in range(NUM_OUTCOMES):
                target[i] += probability * max(0.0, 1.0 - abs(z - atoms[i]))
        log_prediction = np.log(softmax(taken))
        divergence = sum(p * (np.log(p) - q) for p, q in zip(target, log_prediction, strict=True) if p > 0)
        return float(-(target * log_prediction).sum()), divergence


def slow_loss(setting: Setting, batch: TransitionBatch, seed: int = 0) -> tuple[float, FloatArray]:
    """Objective and absolute errors (B,), transition by transition, from the outputs of the networks."""
    algorithm, stream = setting.algorithm, torch.Generator().manual_seed(seed)
    midpoints = (np.arange(NUM_OUTCOMES) + 0.5) / NUM_OUTCOMES
    with torch.no_grad():
        prediction_t, drawn_t = setting.target.predict(batch.s_t, stream)
        outputs_t = chooser = before = prediction_t.double().numpy()
        # Who chooses asks at midpoints, and anew where the fractions of the targets were drawn.
        if algorithm.double:
            chooser = setting.online._settled_outputs(batch.s_t, stream).double().numpy()
        elif drawn_t is not None:
            chooser = setting.target._settled_outputs(batch.s_t, stream).double().numpy()
        if algorithm.munchausen:
            before = setting.target._settled_outputs(batch.s_tm1, stream).double().numpy()
        prediction_tm1, drawn_tm1 = setting.online.predict(batch.s_tm1, stream)
        outputs_tm1 = prediction_tm1.double().numpy()
        fractions = np.tile(midpoints, (BATCH_SIZE, 1)) if drawn_tm1 is None else drawn_tm1.double().numpy()
    losses, errors = [], []
    for b in range(BATCH_SIZE):
        r_t, discount_t = float(batch.r_t[b]), float(batch.discount_t[b])
        values = setting.slow_values(chooser[b])
        chances = np.eye(NUM_ACTIONS)[values.argmax()]
        bonus = np.zeros(NUM_ACTIONS)
        if algorithm.munchausen:
            temperature = algorithm.munchausen_temperature
            chances = softmax(values / temperature)
            bonus = -temperature * np.log(chances)
            log_pi = temperature * math.log(softmax(setting.slow_values(before[b]) / temperature)[batch.a_tm1[b]])
            r_t += algorithm.munchausen_weight * max(log_pi, algorithm.munchausen_floor)
        taken = outputs_tm1[b, batch.a_tm1[b]]
        loss, error = setting.slow_loss_of_one(taken, outputs_t[b], chances, bonus, r_t, discount_t, fractions[b])
        losses.append(loss)
        errors.append(error)
    return float(np.mean(WEIGHT * losses)), np.array(errors)


def huber(error: float) -> float:
    """Linear from 0.5 on."""
    return 0.5 * error**2 if abs(error) <= 0.5 else 0.5 * (abs(error) - 0.25)


def softmax(logits: FloatArray) -> FloatArray:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize(("target", "dueling", "noisy", "outcomes", "layer_norm"), OPTIONS)
def test_the_loss_equals_a_slow_one(
    target: str, dueling: bool, noisy: bool, outcomes: Outcomes, layer_norm: bool
) -> None:
    setting, batch = Setting(target, dueling, noisy, outcomes, layer_norm), make_batch()
    objective, _, abs_error = setting.loss(batch)
    expected, expected_error = slow_loss(setting, batch)
    assert objective == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(abs_error, expected_error, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("target", "dueling", "noisy", "outcomes", "layer_norm"), OPTIONS)
def test_the_gradient_equals_finite_differences(
    target: str, dueling: bool, noisy: bool, outcomes: Outcomes, layer_norm: bool
) -> None:
    # The same noise at both ends. A double target is held fixed: its choice does not change over so short a way.
    setting, batch = Setting(target, dueling, noisy, outcomes, layer_norm), make_batch()
    _, gradient, _ = setting.loss(batch)
    rng = np.random.default_rng(3)
    for _ in range(3):
        direction = gradient / np.linalg.norm(gradient) + rng.normal(size=gradient.size) / np.sqrt(gradient.size)
        ends = []
        for sign in (1, -1):
            setting.online.load((setting.flat + sign * 1e-4 * direction).astype(np.float32))
            ends.append(slow_loss(setting, batch)[0])
        assert (ends[0] - ends[1]) / 2e-4 == pytest.approx(float(gradient @ direction), rel=0.005)


def test_each_pass_has_noise_of_its_own_and_the_stream_decides_which() -> None:
    setting, batch = Setting("double", True, True, "atoms"), make_batch()
    first, again, other = (setting.loss(batch, seed)[0] for seed in (0, 0, 1))
    assert first == again != other


def test_what_comes_after_an_end_does_not_matter() -> None:
    setting, batch = Setting("double", True, False, "atoms"), make_batch()
    objective, _, _ = setting.loss(batch)
    s_t = batch.s_t.copy()
    s_t[2] = 0
    assert setting.loss(batch._replace(s_t=s_t))[0] == objective
    s_t[1] = 0
    assert setting.loss(batch._replace(s_t=s_t))[0] != objective


@pytest.mark.parametrize("double", [False, True])
def test_fractions_that_make_a_target_do_not_choose_its_action(double: bool) -> None:
    config = network_config(hidden_units=16, num_quantiles=2, drawn_fractions=True)
    network = config.make(stack=1, frame_shape=(36, 36), num_actions=NUM_ACTIONS)
    online, target = (QReplica(network, torch.float32, torch.device("cpu")) for _ in range(2))
    for replica, seed in ((online, 1), (target, 2)):
        replica.load(8 * network.initial_parameters(np.random.default_rng(seed)))
    algorithm = replace(bundle_spec().algorithm, double=double, munchausen=False, max_abs_td_error=0.5)
    batch, num_chosen_otherwise = make_batch(), 0
    for seed in range(20):
        stream = torch.Generator().manual_seed(seed)
        outputs_t, _ = target.predict(batch.s_t, stream)
        a_t = (online if double else target).values(batch.s_t).argmax(dim=1)
        num_chosen_otherwise += int((a_t != outputs_t.mean(dim=2).argmax(dim=1)).sum())
        chosen = outputs_t.detach()[torch.arange(BATCH_SIZE), a_t]
        r_t, discount_t = torch.from_numpy(batch.r_t), torch.from_numpy(batch.discount_t)
        outputs_tm1, fractions = online.predict(batch.s_tm1, stream)
        targets = r_t[:, None] + discount_t[:, None] * chosen
        expected = quantile_loss(outputs_tm1, torch.from_numpy(batch.a_tm1), targets, 0.5, fractions=fractions)
        found = QLoss(algorithm, online, target, torch.Generator().manual_seed(seed))(batch, None)
        assert found.objective.item() == pytest.approx(expected.objective.item(), rel=1e-6)
    assert num_chosen_otherwise > 0


@pytest.mark.parametrize(("outcomes", "is_known_to_be_right"), [("quantiles", True), ("fractions", False)])
def test_of_a_right_prediction_the_priority_is_least_unless_both_sides_are_samples(
    outcomes: Outcomes, is_known_to_be_right: bool
) -> None:
    setting, batch = Setting("plain", False, False, outcomes), make_batch()
    setting.target.load(setting.flat)
    best = setting.online.values(batch.s_t).argmax(dim=1).numpy()
    no_time = batch._replace(
        s_tm1=batch.s_t, a_tm1=best, r_t=np.zeros_like(batch.r_t), discount_t=np.ones_like(batch.discount_t)
    )
    _, _, abs_error = setting.loss(no_time)
    assert (abs_error.max() < 1e-5) == is_known_to_be_right
