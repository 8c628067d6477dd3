"""Which clusters are simulated."""

from studies.gorila_growth.grid import BUNDLES, CHECKED, GRID, SHARDS


def test_the_grid_has_the_sizes_that_the_figures_need() -> None:
    bundles = [case.num_bundles for case in GRID if case.study == BUNDLES]
    assert (min(bundles), max(bundles)) == (1, 1000)
    assert {case.num_shards for case in GRID if case.study == SHARDS} == {1, 2, 4, 8, 16, 32, 64}
    assert {case.num_bundles for case in CHECKED} == {1, 2, 4}
    assert len(set(GRID)) == len(GRID)
