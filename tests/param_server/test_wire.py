"""bfloat16 on the wire, against the definition written out with NumPy's integers."""

import numpy as np
import numpy.typing as npt
import pytest

from pipeline.param_server.wire import decode, encode
from pipeline.types import Float32Array

ONE = 0x3F80  # 1.0 as bfloat16; the next larger one is 1.0078125


def test_ties_go_to_the_even_neighbour() -> None:
    values = np.array([1 + 1 / 256, 1 + 3 / 256, -(1 + 1 / 256), 1 + 1 / 256 + 2**-20], np.float32)
    np.testing.assert_array_equal(encode(values, "bfloat16"), [ONE, ONE + 2, ONE | 0x8000, ONE + 1])


def test_infinities_zeros_and_nan_stay_what_they_are_and_the_largest_float_overflows() -> None:
    values = np.array([np.inf, -np.inf, 0.0, -0.0, np.finfo(np.float32).max, np.nan], np.float32)
    wire = encode(values, "bfloat16")
    np.testing.assert_array_equal(wire[:5], [0x7F80, 0xFF80, 0, 0x8000, 0x7F80])
    np.testing.assert_array_equal(decode(wire), [np.inf, -np.inf, 0.0, -0.0, np.inf, np.nan])


def test_a_nan_whose_payload_is_only_in_the_lost_bits_stays_a_nan() -> None:
    values = np.array([0x7F800001, 0xFF80FFFF], np.uint32).view(np.float32)
    assert np.isnan(decode(encode(values, "bfloat16"))).all()


def test_random_bits_are_rounded_as_the_definition_says() -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 200_000, dtype=np.uint32)
    values = bits.view(np.float32)
    values = values[~np.isnan(values)]
    np.testing.assert_array_equal(encode(values, "bfloat16"), _rounded(values))


def test_every_bfloat16_comes_back_as_the_float32_with_the_same_upper_half() -> None:
    wire = np.arange(2**16, dtype=np.uint16)
    values = decode(wire)
    np.testing.assert_array_equal(values.view(np.uint32), wire.astype(np.uint32) << 16)
    numbers = wire[~np.isnan(values)]
    np.testing.assert_array_equal(encode(decode(numbers), "bfloat16"), numbers)


def test_float32_passes_without_a_copy_both_ways() -> None:
    values = np.ones(3, np.float32)
    assert encode(values, "float32") is values
    assert decode(values) is values


def test_read_only_arrays_can_be_sent_and_received() -> None:
    values = np.ones(3, np.float32)
    values.setflags(write=False)
    wire = encode(values, "bfloat16")
    wire.setflags(write=False)
    np.testing.assert_array_equal(decode(wire), [1, 1, 1])


def test_a_wire_of_another_dtype_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="float16"):
        encode(np.ones(3, np.float32), "float16")
    with pytest.raises(ValueError, match="float64"):
        decode(np.ones(3))  # type: ignore[arg-type]


def _rounded(values: Float32Array) -> npt.NDArray[np.uint16]:
    bits = values.view(np.uint32).astype(np.uint64)
    lost, kept = bits & 0xFFFF, bits >> 16
    up = (lost > 0x8000) | ((lost == 0x8000) & (kept % 2 == 1))
    rounded: npt.NDArray[np.uint16] = (kept + up).astype(np.uint16)
    return rounded
