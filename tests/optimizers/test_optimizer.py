"""Optimizers on flat slices: the formulas, and that a cut vector rounds as a whole one does."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch

from pipeline.errors import CheckpointError
from pipeline.optimizers.config import AdaGradConfig, AdamConfig, RMSPropConfig
from pipeline.optimizers.optimizer import OptimizerConfig, OptimizerState
from pipeline.types import Float32Array

Float64Array = npt.NDArray[np.float64]

ADAGRAD = AdaGradConfig(
    kind="adagrad", learning_rate=0.5, learning_rate_changes=(), epsilon=1e-6, initial_accumulator=0.0
)
RMSPROP = RMSPropConfig(kind="rmsprop", learning_rate=0.5, learning_rate_changes=(), decay=0.75, epsilon=0.01)
ADAM = AdamConfig(kind="adam", learning_rate=0.5, learning_rate_changes=(), beta1=0.75, beta2=0.5, epsilon=1e-8)
CONFIGS = [ADAGRAD, RMSPROP, ADAM]

# Sizes around the 16 floats of a vector register and the 32768 of a block, and some that are nothing in particular.
CUTS = {
    "single elements": [1] * 64,
    "around vectors": [15, 17, 1, 31, 33, 16],
    "one and the rest": [1, 100_002],
    "around blocks": [32_767, 32_769, 34_467],
    "odd": [7, 50_001, 13, 49_982],
}


@pytest.fixture(params=[1, 2, 3])
def num_threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """Torch threads that a test may compute with; afterwards torch has as many as before."""
    before = torch.get_num_threads()
    yield request.param
    torch.set_num_threads(before)


def test_adagrad_divides_by_the_root_of_the_sum_of_squares() -> None:
    config = AdaGradConfig(
        kind="adagrad", learning_rate=0.5, learning_rate_changes=(), epsilon=1.0, initial_accumulator=7.0
    )
    # Sums of squares: 7 + 9 = 16 and 7 + 0 = 7, then 16 + 9 = 25 and 7 + 9 = 16.
    after = _trajectory(config, [1.0, 1.0], [[3.0, 0.0], [3.0, -3.0]])
    np.testing.assert_allclose(after, [[1 - 1.5 / 5, 1.0], [1 - 1.5 / 5 - 1.5 / 6, 1 + 1.5 / 5]], rtol=1e-6)


def test_rmsprop_takes_the_variance_and_has_its_epsilon_inside_the_root() -> None:
    # Means of the gradient 0.5 then 0.375, of its square 1 then 0.75: variances 0.75 then 0.609375.
    after = _trajectory(RMSPROP, [1.0], [[2.0], [0.0]])
    np.testing.assert_allclose(after, [[1 - 0.5 * 2 / np.sqrt(0.76)]] * 2, rtol=1e-6)
    after = _trajectory(RMSPROP, [1.0], [[2.0], [2.0]])
    first = 1 - 0.5 * 2 / np.sqrt(0.76)
    # Now 0.875 and 1.75: variance 1.75 - 0.765625.
    np.testing.assert_allclose(after, [[first], [first - 0.5 * 2 / np.sqrt(0.994375)]], rtol=1e-6)


def test_adam_steps_by_the_learning_rate_at_first_and_corrects_both_means() -> None:
    after = _trajectory(ADAM, [1.0, 1.0], [[4.0, -0.01], [0.0, -0.01]])
    # Second step of the first element: mean 0.75 / (1 - 0.5625), mean square 4 / (1 - 0.25).
    second = 0.5 - 0.5 * (0.75 / 0.4375) / np.sqrt(4 / 0.75)
    np.testing.assert_allclose(after, [[0.5, 1.5], [second, 2.0]], rtol=1e-6)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
def test_ten_updates_follow_the_papers_formula_in_float64(config: OptimizerConfig) -> None:
    rng = np.random.default_rng(1)
    start = rng.standard_normal(37).astype(np.float32)
    gradients = rng.standard_normal((10, 37)).astype(np.float32)
    slow = SLOW[type(config)](config, start.astype(np.float64), gradients.astype(np.float64))
    np.testing.assert_allclose(_trajectory(config, start, gradients)[-1], slow, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("sizes", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
def test_a_vector_in_pieces_with_any_number_of_threads_is_updated_bit_for_bit_like_the_whole_with_one(
    config: OptimizerConfig, sizes: list[int], num_threads: int
) -> None:
    config = replace(config, learning_rate_changes=((1, 0.3),))
    rng = np.random.default_rng(2)
    whole = rng.standard_normal(sum(sizes)).astype(np.float32)
    gradients = rng.standard_normal((3, whole.size)).astype(np.float32)
    ends = np.cumsum(sizes)[:-1]
    pieces = [piece.copy() for piece in np.split(whole, ends)]

    torch.set_num_threads(1)
    whole_optimizer = config.make(whole.size)
    for gradient in gradients:
        whole_optimizer.apply(whole, gradient)
    torch.set_num_threads(num_threads)
    optimizers = [config.make(piece.size) for piece in pieces]
    for gradient in gradients:
        for optimizer, piece, part in zip(optimizers, pieces, np.split(gradient, ends), strict=True):
            optimizer.apply(piece, part)

    np.testing.assert_array_equal(np.concatenate(pieces), whole)
    for name, slot in whole_optimizer.state().slots.items():
        np.testing.assert_array_equal(np.concatenate([one.state().slots[name] for one in optimizers]), slot)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
def test_from_each_change_on_the_learning_rate_is_the_new_one(config: OptimizerConfig) -> None:
    changing = replace(config, learning_rate_changes=((1, 0.25), (3, 0.0)))
    gradients = [[0.5, -2.0]] * 5
    plain, changed = (np.array(_trajectory(one, [0.0, 0.0], gradients)) for one in (config, changing))
    steps, plain_steps = (np.diff(after, axis=0, prepend=0.0) for after in (changed, plain))
    # What is remembered of gradients does not depend on the rate, so each step is the plain one, scaled.
    np.testing.assert_allclose(steps, plain_steps * [[1.0], [0.5], [0.5], [0.0], [0.0]], rtol=1e-4)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
def test_a_loaded_state_goes_on_at_the_rate_of_its_updates(config: OptimizerConfig) -> None:
    changing = replace(config, learning_rate_changes=((2, 0.0),))
    first = changing.make(2)
    params = np.zeros(2, np.float32)
    for _ in range(2):
        first.apply(params, np.ones(2, np.float32))
    second = changing.make(2)
    assert second.learning_rate == 0.5
    second.load_state(first.state())
    assert second.learning_rate == 0.0
    stopped = params.copy()
    second.apply(params, np.ones(2, np.float32))
    np.testing.assert_array_equal(params, stopped)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
def test_a_read_only_gradient_is_taken_and_never_kept(config: OptimizerConfig) -> None:
    memory = np.ones(40, np.float32)
    gradient = memory[1:36]
    gradient.setflags(write=False)
    params, expected = np.zeros(35, np.float32), np.zeros(35, np.float32)
    optimizer, other = config.make(35), config.make(35)
    optimizer.apply(params, gradient)
    memory[:] = 1e6
    other.apply(expected, np.ones(35, np.float32))
    for one, values in ((optimizer, params), (other, expected)):
        one.apply(values, np.full(35, 2.0, np.float32))
    np.testing.assert_array_equal(params, expected)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
def test_a_loaded_state_continues_bit_for_bit(config: OptimizerConfig) -> None:
    rng = np.random.default_rng(4)
    start = rng.standard_normal(50).astype(np.float32)
    gradients = rng.standard_normal((6, 50)).astype(np.float32)
    params = start.copy()
    first = config.make(50)
    for gradient in gradients[:3]:
        first.apply(params, gradient)
    state = first.state()
    first.apply(params.copy(), gradients[3])  # the state is a copy: this must not reach it
    second = config.make(50)
    second.load_state(state)
    for gradient in gradients[3:]:
        second.apply(params, gradient)
    np.testing.assert_array_equal(params, _trajectory(config, start, gradients)[-1])
    assert second.num_updates == 6


def test_every_optimizer_is_tested_here() -> None:
    # Other tests of the same process may have brought one of somebody's own.
    ours = {kind for kind in OptimizerConfig.__subclasses__() if kind.__module__.startswith("pipeline.")}
    assert {type(config) for config in CONFIGS} == ours


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
def test_the_settings_foretell_how_many_floats_per_parameter_the_state_takes(config: OptimizerConfig) -> None:
    slots = config.make(7).state().slots.values()
    assert sum(slot.nbytes for slot in slots) == config.num_slots * 7 * 4


def test_a_state_of_another_optimizer_or_length_is_refused_with_both_shapes() -> None:
    adagrad = ADAGRAD.make(3)
    with pytest.raises(CheckpointError, match=r"mean.*sum_of_squares"):
        adagrad.load_state(ADAM.make(3).state())
    with pytest.raises(CheckpointError, match=r"\(4,\).*\(3,\)"):
        adagrad.load_state(OptimizerState(1, {"sum_of_squares": np.zeros(4, np.float32)}))


def test_rmsprop_stays_finite_where_rounding_makes_the_variance_negative() -> None:
    config = RMSPropConfig(kind="rmsprop", learning_rate=1e-3, learning_rate_changes=(), decay=0.95, epsilon=1e-6)
    gradient = np.linspace(100, 1000, 1000, dtype=np.float32)
    after = _trajectory(config, np.zeros(1000), [gradient] * 300)
    assert np.isfinite(after).all()


def test_adam_still_steps_after_more_updates_than_a_float32_can_count() -> None:
    optimizer = ADAM.make(2)
    zeros = np.zeros(2, np.float32)
    optimizer.load_state(OptimizerState(2**24 + 1, {"mean": zeros, "mean_square": zeros}))
    params = np.zeros(2, np.float32)
    optimizer.apply(params, np.array([2.0, 0.0], np.float32))
    np.testing.assert_allclose(params, [-0.5 * 0.5 / np.sqrt(2.0), 0.0], rtol=1e-6)
    assert optimizer.num_updates == 2**24 + 2


def test_settings_out_of_range_are_all_named() -> None:
    wrong = [
        AdaGradConfig(
            kind="adagrad", learning_rate=0.0, learning_rate_changes=(), epsilon=0.0, initial_accumulator=-1.0
        ),
        RMSPropConfig(kind="rmsprop", learning_rate=0.1, learning_rate_changes=(), decay=1.0, epsilon=-0.5),
        AdamConfig(kind="adam", learning_rate=0.1, learning_rate_changes=(), beta1=-0.1, beta2=1.5, epsilon=1e-8),
    ]
    assert [line for config in wrong for line in config.mistakes()] == [
        "learning_rate=0.0 must be positive",
        "epsilon=0.0 must be positive",
        "initial_accumulator=-1.0 must be at least 0",
        "epsilon=-0.5 must be positive",
        "decay=1.0 must lie in [0, 1)",
        "beta1=-0.1 must lie in [0, 1)",
        "beta2=1.5 must lie in [0, 1)",
    ]
    assert replace(ADAM, learning_rate_changes=((5, 0.1), (5, -0.1))).mistakes() == [
        "learning_rate_changes: updates [5, 5] must be positive and rising",
        "learning_rate_changes: -0.1 at update 5 must be at least 0.0",
    ]
    assert [config.mistakes() for config in CONFIGS] == [[], [], []]


def test_settings_of_no_known_optimizer_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="OptimizerConfig"):
        OptimizerConfig(kind="sgd", learning_rate=0.1, learning_rate_changes=()).make(3)  # type: ignore[abstract]


def _trajectory(
    config: OptimizerConfig, start: npt.ArrayLike, gradients: Iterable[npt.ArrayLike]
) -> list[Float32Array]:
    params = np.array(start, np.float32)
    optimizer = config.make(params.size)
    after = []
    for gradient in gradients:
        optimizer.apply(params, np.array(gradient, np.float32))
        after.append(params.copy())
    return after


def _slow_adagrad(config: AdaGradConfig, x: Float64Array, gradients: Float64Array) -> Float64Array:
    for i in range(x.size):
        total = config.initial_accumulator
        for g in gradients[:, i]:
            total += g**2
            x[i] -= config.learning_rate * g / (total**0.5 + config.epsilon)
    return x


def _slow_rmsprop(config: RMSPropConfig, x: Float64Array, gradients: Float64Array) -> Float64Array:
    for i in range(x.size):
        m = v = 0.0
        for g in gradients[:, i]:
            m = config.decay * m + (1 - config.decay) * g
            v = config.decay * v + (1 - config.decay) * g**2
            x[i] -= config.learning_rate * g / (v - m**2 + config.epsilon) ** 0.5
    return x


def _slow_adam(config: AdamConfig, x: Float64Array, gradients: Float64Array) -> Float64Array:
    for i in range(x.size):
        m = v = 0.0
        for t, g in enumerate(gradients[:, i], 1):
            m = config.beta1 * m + (1 - config.beta1) * g
            v = config.beta2 * v + (1 - config.beta2) * g**2
            corrected_m, corrected_v = m / (1 - config.beta1**t), v / (1 - config.beta2**t)
            x[i] -= config.learning_rate * corrected_m / (corrected_v**0.5 + config.epsilon)
    return x


SLOW: dict[type[OptimizerConfig], Callable[..., Float64Array]] = {
    AdaGradConfig: _slow_adagrad,
    RMSPropConfig: _slow_rmsprop,
    AdamConfig: _slow_adam,
}
