"""The cut: balanced, in order, complete."""

import itertools

import numpy as np
import pytest

from pipeline.errors import ConfigError
from pipeline.param_server.layout import ParamLayout


def test_seven_parameters_in_three_slices_are_three_two_and_two() -> None:
    assert ParamLayout(7, 3).slices == (slice(0, 3), slice(3, 5), slice(5, 7))


@pytest.mark.parametrize("num_params", [31, 32, 33, 61, 1_693_362])
@pytest.mark.parametrize("num_shards", [1, 2, 3, 7, 31])
def test_slices_follow_each_other_cover_all_and_differ_by_at_most_one(num_params: int, num_shards: int) -> None:
    slices = ParamLayout(num_params, num_shards).slices
    assert slices[0].start == 0
    assert slices[-1].stop == num_params
    assert all(left.stop == right.start for left, right in itertools.pairwise(slices))
    sizes = [part.stop - part.start for part in slices]
    assert max(sizes) - min(sizes) <= 1
    assert len(slices) == num_shards


def test_more_shards_than_parameters_are_refused_with_both_numbers() -> None:
    with pytest.raises(ConfigError, match=r"num_shards=4 .* 1 to 3"):
        ParamLayout(3, 4)


def test_a_cut_hands_out_views() -> None:
    flat = np.arange(5, dtype=np.float32)
    first, second = ParamLayout(5, 2).cut(flat)
    flat += 1
    np.testing.assert_array_equal(first, [1, 2, 3])
    np.testing.assert_array_equal(second, [4, 5])


def test_a_vector_of_another_length_is_refused_with_both_shapes() -> None:
    with pytest.raises(ValueError, match=r"\(4,\).*\(5,\)"):
        ParamLayout(5, 2).cut(np.zeros(4, np.float32))
