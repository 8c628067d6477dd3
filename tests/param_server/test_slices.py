"""Gradients in slices: whatever the cut, a shard has the numbers that the sender's whole gradient has there."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.slices import Multiplier, check_length, copied, sliced
from pipeline.types import FactoredGradient, FactoredSlice, Float32Array, SliceGradient
from tests.param_server.conftest import MakeServer, push_of
from tests.param_server.synchronous_server import SynchronousServer, mean_in_order
from tests.rounding import assert_equal_but_for_rounding

BATCH_SIZE, NUM_UNITS, NUM_INPUTS, START, NUM_BEHIND = 4, 6, 11, 9, 8
LENGTH = START + NUM_UNITS * NUM_INPUTS + NUM_BEHIND


def factored(seed: int = 0, *, whole_numbers: bool = False, batch_size: int = BATCH_SIZE) -> FactoredGradient:
    """Whole numbers are so small that no sum of their products is ever rounded, not even in bfloat16."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> Float32Array:
        drawn = rng.integers(-4, 5, shape) if whole_numbers else rng.standard_normal(shape)
        return drawn.astype(np.float32)

    return FactoredGradient(
        drawn(START + NUM_BEHIND), START, drawn(batch_size, NUM_UNITS), drawn(batch_size, NUM_INPUTS)
    )


def multiplied_out(gradient: FactoredGradient) -> Float32Array:
    """(P,), by the product that a learner would have made."""
    rest, start, delta, inputs = (torch.from_numpy(part) if isinstance(part, np.ndarray) else part for part in gradient)
    product = torch.mm(delta.t(), inputs)  # type: ignore[union-attr, arg-type]
    found: Float32Array = torch.cat([rest[:start], product.flatten(), rest[start:]]).numpy()  # type: ignore[index]
    return found


def whole(slices: Sequence[SliceGradient]) -> Float32Array:
    return np.concatenate([Multiplier().whole(one).copy() for one in slices])


def assert_alike(found: Float32Array, expected: Float32Array, num_terms: int) -> None:
    assert_equal_but_for_rounding(torch.from_numpy(found), torch.from_numpy(expected), num_terms)


@pytest.mark.parametrize("wire_dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("num_shards", [*range(1, 20), LENGTH])
def test_every_cut_gives_each_shard_its_numbers(num_shards: int, wire_dtype: str) -> None:
    gradient, layout = factored(whole_numbers=True), ParamLayout(LENGTH, num_shards)
    slices = sliced(gradient, layout, wire_dtype)
    for one, part in zip(slices, layout.slices, strict=True):
        check_length(one, part.stop - part.start)
    np.testing.assert_array_equal(whole(slices), multiplied_out(gradient))


def test_one_shard_makes_the_product_of_the_sender_bit_for_bit() -> None:
    gradient = factored()
    np.testing.assert_array_equal(whole(sliced(gradient, ParamLayout(LENGTH, 1), "float32")), multiplied_out(gradient))


@pytest.mark.parametrize("num_shards", [2, 3])
def test_several_shards_make_it_but_for_rounding(num_shards: int) -> None:
    gradient = factored(batch_size=32)
    found = whole(sliced(gradient, ParamLayout(LENGTH, num_shards), "float32"))
    assert_alike(found, multiplied_out(gradient), num_terms=32)


def test_what_travels_in_bfloat16_are_the_rounded_factors() -> None:
    gradient = factored()
    rounded = [torch.from_numpy(part).bfloat16().float().numpy() for part in (gradient.rest, *gradient[2:])]
    found = whole(sliced(gradient, ParamLayout(LENGTH, 1), "bfloat16"))
    np.testing.assert_array_equal(found, multiplied_out(FactoredGradient(rounded[0], START, rounded[1], rounded[2])))


def test_a_shard_beside_the_product_gets_its_slice_as_numbers() -> None:
    slices = sliced(factored(), ParamLayout(LENGTH, LENGTH), "float32")
    assert [isinstance(one, FactoredSlice) for one in slices] == [
        START <= number < LENGTH - NUM_BEHIND for number in range(LENGTH)
    ]


def test_the_push_of_a_minibatch_of_the_nature_network_is_an_eighth_of_its_gradient() -> None:
    num_inputs, num_units, length = 3_136, 512, 1_693_362
    rest = np.zeros(length - num_inputs * num_units, np.float32)
    gradient = FactoredGradient(
        rest, 77_984, np.zeros((32, num_units), np.float32), np.zeros((32, num_inputs), np.float32)
    )
    (one,) = sliced(gradient, ParamLayout(length, 1), "float32")
    assert isinstance(one, FactoredSlice)
    num_bytes = one.rest.nbytes + one.delta.nbytes + one.inputs.nbytes
    assert num_bytes == 817_864 < length * 4 / 8


@pytest.mark.parametrize("num_shards", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_an_update_of_factors_is_the_update_of_the_mean_of_what_they_stand_for(
    make_server: MakeServer, optimizer: OptimizerConfig, num_shards: int, count: int
) -> None:
    gradients = [factored(seed, whole_numbers=True) for seed in range(count)]
    start = np.linspace(-1, 1, LENGTH, dtype=np.float32)
    server = SynchronousServer(start, quorum=count, optimizer=optimizer, num_shards=num_shards)
    for worker, gradient in enumerate(gradients):
        server.client(f"worker-{worker}").push(gradient, (0,) * num_shards)
    reference = make_server(start, optimizer)
    reference.client().push(mean_in_order([multiplied_out(gradient) for gradient in gradients]), (0,))
    np.testing.assert_array_equal(server.snapshot().params, reference.shards[0].snapshot().params)


def test_a_mean_of_three_is_that_of_the_products_but_for_rounding() -> None:
    gradients = [factored(seed) for seed in range(3)]
    slices = [sliced(gradient, ParamLayout(LENGTH, 1), "float32")[0] for gradient in gradients]
    expected = mean_in_order([multiplied_out(gradient) for gradient in gradients])
    assert_alike(Multiplier().mean(slices), expected, num_terms=3 * BATCH_SIZE)


def test_dense_and_factored_gradients_of_one_update_are_refused() -> None:
    (one,) = sliced(factored(), ParamLayout(LENGTH, 1), "float32")
    with pytest.raises(ValueError, match=r"dense and factored .* one param_server\.wire"):
        Multiplier().mean([one, np.zeros(LENGTH, np.float32)])
    other = one._replace(before=START - 1)  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="different places"):
        Multiplier().mean([one, other])


def test_a_copy_has_memory_of_its_own() -> None:
    for gradient in (factored(), multiplied_out(factored())):
        copy = copied(gradient)
        for array in gradient if isinstance(gradient, FactoredGradient) else [gradient]:
            if isinstance(array, np.ndarray):
                array[:] = np.nan
        numbers = multiplied_out(copy) if isinstance(copy, FactoredGradient) else copy
        np.testing.assert_array_equal(numbers, multiplied_out(factored()))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rest": np.zeros(3, np.float32)}, r"got factors of a vector of length 69, this layout cuts \(83,\)"),
        ({"inputs": np.zeros((3, NUM_INPUTS), np.float32)}, r"\(4, 6\) and \(3, 11\).* not of one batch"),
        ({"start": START + NUM_BEHIND + 1}, "from number 18 on, around a rest of"),
    ],
    ids=["another length", "another batch", "another place"],
)
def test_factors_that_do_not_fit_the_vector_are_refused_with_their_shapes(changes: dict[str, Any], words: str) -> None:
    changed = factored()._replace(**changes)
    if "rest" in changes:
        changed = changed._replace(start=0)
    with pytest.raises(ValueError, match=words):
        sliced(changed, ParamLayout(LENGTH, 2), "float32")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": 65}, r"got a factored gradient slice of \(17,\) and 65 numbers, this shard holds \(83,\)"),
        ({"delta": np.zeros((3, NUM_UNITS), np.float32)}, r"\(3, 6\) and \(4, 11\): they are not of one batch"),
        (
            {"delta": np.zeros((4, 5), np.float32)},
            "66 numbers behind 0 skipped and 9 others of a product of 5 rows of 11",
        ),
        ({"before": 18}, "and 18 others"),
        ({"skipped": 2}, "2 skipped and 9 others"),
    ],
    ids=["length", "batch", "rows", "before", "skipped"],
)
def test_a_shard_refuses_factors_that_are_not_its_slice(
    make_server: MakeServer, changes: dict[str, Any], words: str
) -> None:
    (one,) = sliced(factored(), ParamLayout(LENGTH, 1), "float32")
    (shard,) = make_server(np.zeros(LENGTH)).shards
    assert isinstance(one, FactoredSlice)
    with pytest.raises(ValueError, match=words):
        shard.push(push_of([0.0])._replace(gradient=one._replace(**changes)))
    assert shard.push(push_of([0.0])._replace(gradient=one)).admitted, "its number is still free"
