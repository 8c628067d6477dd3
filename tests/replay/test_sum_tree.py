"""SumTree against hand-sized literals and NumPy's own cumulative sums."""

from collections.abc import Callable

import numpy as np
import pytest

from pipeline.replay.sum_tree import SumTree, tree_bytes

FAN_OUTS = [2, 4, 16, 64]


def tree_of(weights: list[float], fan_out: int = 4) -> SumTree:
    tree = SumTree(len(weights), fan_out, max_top=2)
    tree.set(np.arange(len(weights)), np.array(weights))
    tree.check_valid()
    return tree


@pytest.mark.parametrize("fan_out", FAN_OUTS)
def test_a_mass_belongs_to_the_leaf_in_whose_stretch_it_falls(fan_out: int) -> None:
    tree = tree_of([1.0, 0.0, 4.0, 5.0, 0.0, 0.0], fan_out)
    assert tree.total == 10.0
    assert tree.find(np.array([0.0, 0.5, 1.0, 4.9, 5.0, 9.9])).tolist() == [0, 0, 2, 2, 3, 3]


@pytest.mark.parametrize("fan_out", FAN_OUTS)
def test_a_mass_at_or_above_the_total_gets_the_last_leaf_that_has_weight(fan_out: int) -> None:
    tree = tree_of([1.0, 0.0, 4.0, 5.0, 0.0, 0.0], fan_out)
    assert tree.find(np.array([10.0, np.nextafter(10.0, 11.0)])).tolist() == [3, 3]


@pytest.mark.parametrize("fan_out", FAN_OUTS)
@pytest.mark.parametrize("size", [1, 2, 3, 16, 17, 300])
def test_it_finds_what_cumulative_sums_find(size: int, fan_out: int) -> None:
    # Whole numbers: sums are exact in any order, so that borders are borders to both.
    rng = np.random.default_rng(size)
    weights = rng.integers(4, size=size).astype(np.float64)
    weights[rng.integers(size)] = 3.0
    tree = tree_of(weights.tolist(), fan_out)
    masses = np.concatenate([np.arange(weights.sum()), rng.random(500) * weights.sum()])
    np.testing.assert_array_equal(tree.find(masses), np.searchsorted(np.cumsum(weights), masses, side="right"))
    assert tree.total == weights.sum()


@pytest.mark.parametrize("fan_out", FAN_OUTS)
@pytest.mark.parametrize("seed", range(5))
def test_rounding_never_finds_a_leaf_without_weight(fan_out: int, seed: int) -> None:
    # Weights of all magnitudes, most of them zero, and masses at every border and right beside it.
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random(1000) < 0.8, 0.0, 10.0 ** rng.uniform(-18, 3, size=1000))
    tree = tree_of(weights.tolist(), fan_out)
    borders = np.concatenate([[0.0], np.cumsum(weights), [tree.total]])
    for masses in (borders, np.nextafter(borders, 0.0), np.nextafter(borders, np.inf)):
        assert (weights[tree.find(masses)] > 0).all()


def test_an_index_that_comes_twice_gets_its_last_weight() -> None:
    tree = tree_of([0.0] * 6)
    tree.set(np.array([2, 5, 2, 2, 5]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert tree.get(np.arange(6)).tolist() == [0, 0, 4, 0, 0, 5]
    assert tree.total == 9.0
    tree.check_valid()


def test_one_weight_can_be_given_to_many() -> None:
    tree = tree_of([1.0] * 6)
    tree.set(np.array([0, 5]), 0.5)
    assert tree.get(np.arange(6)).tolist() == [0.5, 1, 1, 1, 1, 0.5]


def test_setting_nothing_changes_nothing() -> None:
    tree = tree_of([1.0, 2.0])
    tree.set(np.array([], np.int64), np.array([]))
    assert tree.total == 3.0


def test_however_often_weights_are_set_no_error_builds_up() -> None:
    rng = np.random.default_rng(0)
    tree = SumTree(500, max_top=2)
    for _ in range(2000):
        tree.set(rng.integers(500, size=20), 10.0 ** rng.uniform(-6, 6, size=20))
    fresh = SumTree(500, max_top=2)
    fresh.set(np.arange(500), tree.get(np.arange(500)))
    assert tree.total == fresh.total
    tree.check_valid()


def test_finding_in_a_tree_without_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="whose 3 weights are all zero"):
        SumTree(3).find(np.array([0.0]))


@pytest.mark.parametrize(("size", "fan_out", "max_top"), [(0, 4, 2), (3, 1, 2), (3, 4, 0)])
def test_an_impossible_shape_is_refused(size: int, fan_out: int, max_top: int) -> None:
    with pytest.raises(ValueError, match=f"size={size} and max_top={max_top} .* fan_out={fan_out} must be at least 2"):
        SumTree(size, fan_out, max_top)


@pytest.mark.parametrize("size", [1, 5, 4096, 4097, 100_000])
def test_its_memory_is_foretold_to_the_byte(size: int) -> None:
    assert tree_bytes(size) == SumTree(size).nbytes


def make_negative(tree: SumTree) -> None:
    tree.set(np.array([1]), -1.0)


def make_infinite(tree: SumTree) -> None:
    tree.set(np.array([1]), np.inf)


def give_weight_to_the_padding(tree: SumTree) -> None:
    tree.set(np.array([7]), 1.0)


def change_a_leaf_alone(tree: SumTree) -> None:
    tree._levels[0][5] = 9.0


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (make_negative, "negative or not finite"),
        (make_infinite, "negative or not finite"),
        (give_weight_to_the_padding, "there for padding"),
        (change_a_leaf_alone, r"nodes \[1\] of level 1 are not the sums of their children"),
    ],
)
def test_check_valid_names_the_damage(damage: Callable[[SumTree], None], message: str) -> None:
    tree = tree_of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    damage(tree)
    with pytest.raises(AssertionError, match=message):
        tree.check_valid()
