"""Which figures there are rows for."""

import pandas as pd

from studies.gorila_growth.figures import figures_of
from studies.gorila_growth.grid import BUNDLES

NOTHING_REAL = pd.DataFrame({"study": pd.Series(dtype=str)})


def simulated(num_shards: int) -> pd.DataFrame:
    """One, five and nine bundles around so many shards."""
    rows = [
        {"study": BUNDLES, "num_bundles": count, "num_shards": num_shards, "steps_per_second": 100.0 * count}
        | {"mean_staleness": 1.0, "staleness_per_bundle": 4}
        for count in (1, 5, 9)
    ]
    return pd.DataFrame(rows)


def test_growth_beside_published_systems_is_drawn_where_the_compared_number_of_shards_was_simulated() -> None:
    assert figures_of(simulated(16), NOTHING_REAL).keys() == {"bundles", "published"}
    assert figures_of(simulated(2), NOTHING_REAL).keys() == {"bundles"}
    assert figures_of(simulated(2)[:0], NOTHING_REAL).keys() == set()


def test_a_place_on_the_axis_is_one_where_a_line_has_a_point() -> None:
    alone = simulated(31)[:1].assign(num_bundles=8)
    figure = figures_of(pd.concat([simulated(1), simulated(2), alone]), NOTHING_REAL)["bundles"]
    rates, _ = figure.axes
    assert [tick.get_text() for tick in rates.get_xticklabels()] == ["1", "5", "9"]
    assert [line.get_label() for line in rates.get_lines()] == ["1 shard", "ideal", "2 shards"]
