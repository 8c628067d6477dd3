"""The loss of a whole minibatch against slow NumPy, and its gradient against finite differences."""

import itertools
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch

from pipeline.algorithms.config import QLearningConfig
from pipeline.networks.network import QNetwork
from pipeline.networks.replica import QReplica
from pipeline.roles.q_loss import QLoss
from pipeline.types import Float32Array, TransitionBatch
from tests.networks.configs import network_config
from tests.roles.wiring import bundle_spec

BATCH_SIZE, NUM_ACTIONS = 6, 3
WEIGHT = np.linspace(0.2, 1.0, BATCH_SIZE, dtype=np.float32)
OPTIONS = list(itertools.product((False, True), repeat=4))
"""(double, dueling, noisy, distributional)"""

FloatArray = npt.NDArray[np.float64]


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

    def __init__(self, double: bool, dueling: bool, noisy: bool, distributional: bool) -> None:
        config = network_config(
            hidden_units=4,
            dueling=dueling,
            noisy=noisy,
            num_atoms=5 if distributional else 1,
            min_return=-2.0,
            max_return=2.0,
        )
        self.algorithm: QLearningConfig = replace(bundle_spec().algorithm, double=double, max_abs_td_error=0.5)
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


def slow_loss(setting: Setting, batch: TransitionBatch, seed: int = 0) -> tuple[float, FloatArray]:
    """Objective and absolute errors (B,), transition by transition, from the outputs of the networks."""
    stream = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        outputs_t = setting.target.outputs(batch.s_t, stream).double().numpy()
        chooser = setting.online.outputs(batch.s_t, stream).double().numpy() if setting.algorithm.double else outputs_t
        outputs_tm1 = setting.online.outputs(batch.s_tm1, stream).double().numpy()
    atoms = None if setting.online.support is None else setting.online.support.double().numpy()
    losses, errors = [], []
    for b in range(BATCH_SIZE):
        values = chooser[b] if atoms is None else softmax(chooser[b]) @ atoms
        best = max(range(NUM_ACTIONS), key=lambda action: float(values[action]))
        taken, r_t, discount_t = outputs_tm1[b, batch.a_tm1[b]], float(batch.r_t[b]), float(batch.discount_t[b])
        if atoms is None:
            error = abs(r_t + discount_t * float(outputs_t[b, best]) - float(taken))
            losses.append(0.5 * error**2 if error <= 0.5 else 0.5 * (error - 0.25))
        else:
            target = np.zeros(5)
            for probability, atom in zip(softmax(outputs_t[b, best]), atoms, strict=True):
                z = min(max(r_t + discount_t * atom, -2.0), 2.0)
                for i in range(5):
                    target[i] += probability * max(0.0, 1.0 - abs(z - atoms[i]))
            log_prediction = np.log(softmax(taken))
            losses.append(float(-(target * log_prediction).sum()))
            error = sum(p * (np.log(p) - q) for p, q in zip(target, log_prediction, strict=True) if p > 0)
        errors.append(error)
    return float(np.mean(WEIGHT * losses)), np.array(errors)


def softmax(logits: FloatArray) -> FloatArray:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize(("double", "dueling", "noisy", "distributional"), OPTIONS)
def test_the_loss_equals_a_slow_one(double: bool, dueling: bool, noisy: bool, distributional: bool) -> None:
    setting, batch = Setting(double, dueling, noisy, distributional), make_batch()
    objective, _, abs_error = setting.loss(batch)
    expected, expected_error = slow_loss(setting, batch)
    assert objective == pytest.approx(expected, rel=1e-4)
    np.testing.assert_allclose(abs_error, expected_error, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("double", "dueling", "noisy", "distributional"), OPTIONS)
def test_the_gradient_equals_finite_differences(double: bool, dueling: bool, noisy: bool, distributional: bool) -> None:
    # The same noise at both ends. A double target is held fixed: its choice does not change over so short a way.
    setting, batch = Setting(double, dueling, noisy, distributional), make_batch()
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
    setting, batch = Setting(True, True, True, True), make_batch()
    first, again, other = (setting.loss(batch, seed)[0] for seed in (0, 0, 1))
    assert first == again != other


def test_what_comes_after_an_end_does_not_matter() -> None:
    setting, batch = Setting(True, True, False, True), make_batch()
    objective, _, _ = setting.loss(batch)
    s_t = batch.s_t.copy()
    s_t[2] = 0
    assert setting.loss(batch._replace(s_t=s_t))[0] == objective
    s_t[1] = 0
    assert setting.loss(batch._replace(s_t=s_t))[0] != objective
