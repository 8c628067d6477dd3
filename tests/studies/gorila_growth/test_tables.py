"""Cells of tables from made-up rows."""

from pathlib import Path
from typing import Any

import pandas as pd

from studies.gorila_growth import tables
from studies.gorila_growth.grid import BUNDLES, CHECK, LIMIT, NETWORK, PAYS


def simulated(study: str, rate: float, **changes: Any) -> dict[str, Any]:
    """One SimulationRow."""
    own: dict[str, Any] = {"cluster": "threads", "num_bundles": 2, "num_shards": 2, "wire": "float32"}
    own |= {"gigabits_per_second": 10.0, "staleness_per_bundle": 4, "mean_staleness": 1.25}
    own |= {"updates_per_second": 9.0, "stale_share": 0.125, "max_staleness": 3}
    return own | {"study": study, "steps_per_second": rate} | changes


def real(rate: float, **changes: Any) -> dict[str, Any]:
    """One GrowthRow."""
    own: dict[str, Any] = {"study": BUNDLES, "cluster": "threads", "shards": "beside", "num_roles": 2, "num_shards": 2}
    own |= {"mean_staleness": 1.0, "beside": "nothing", "planned_bytes": 2**30, "peak_bytes": 2**29}
    own |= {"updates_per_second": 20.0, "stale_share": 0.0, "waited_share": 0.0, "commit": "0123456789ab"}
    own |= {"processor": "avx2, float32", "cpu": "AMD EPYC", "num_cores": 2}
    return own | {"steps_per_second": rate} | changes


def test_the_error_is_that_of_the_simulation_over_the_median_of_the_rounds() -> None:
    rows = pd.DataFrame([real(rate) for rate in (100.0, 80.0, 200.0)])
    _, _, line = tables.prediction_table(pd.DataFrame([simulated(CHECK, 90.0)]), rows).splitlines()
    assert line == "| threads | 2 | 3 | 100 (80 to 200) | 90 | -10.0 % | 1.00 (1.00 to 1.00) | 1.25 | nothing |"


def test_a_prediction_without_a_run_stands_alone() -> None:
    _, _, line = tables.prediction_table(
        pd.DataFrame([simulated(CHECK, 90.0)]), pd.DataFrame([real(1.0)])[:0]
    ).splitlines()
    assert line == "| threads | 2 | 0 | not yet | 90 |  | not yet | 1.25 |  |"


def test_many_bundles_are_compared_with_one_around_as_many_shards() -> None:
    rows = [simulated(BUNDLES, 100.0 * n, num_bundles=n, num_shards=s) for n, s in ((1, 1), (8, 1), (1, 4), (16, 4))]
    lines = tables.bundles_table(pd.DataFrame(rows)).splitlines()
    assert lines[3] == "| 8 | 8.0 (1.2) |  |"
    assert lines[4] == "| 16 |  | 16.0 (1.2) |"


def test_memory_stands_beside_what_the_plan_says() -> None:
    _, _, line = tables.memory_table(pd.DataFrame([real(1.0)])).splitlines()
    assert (
        line
        == "| avx2, float32, AMD EPYC, 2 cores | bundles | threads | beside | 2 | 2 | 1,024 | 512 (512 to 512) | 0.50 |"
    )


def test_networks_are_columns_and_limits_are_lines() -> None:
    rows = [simulated(NETWORK, 10.0 * speed, gigabits_per_second=speed) for speed in (10.0, 1.0)]
    assert tables.network_table(pd.DataFrame(rows)).splitlines()[-1] == "| float32 | 10 (1) | 100 (1) |"
    limit = tables.limit_table(pd.DataFrame([simulated(LIMIT, 50.0, staleness_per_bundle=0)])).splitlines()[-1]
    assert limit == "| none | 50 | 9 | 12.5 % | 1.2 | 3 |"


def test_factors_stand_beside_numbers_of_the_same_cluster() -> None:
    rates = (("float32", 1.0, 20.0), ("float32", 10.0, 50.0), ("factors", 1.0, 40.0), ("factors", 10.0, 45.0))
    rows = [simulated(PAYS, rate, wire=wire, gigabits_per_second=speed) for wire, speed, rate in rates]
    assert tables.pays_table(pd.DataFrame(rows)).splitlines()[-1] == "| 2 | 2.00 | 0.90 |"


def test_each_published_system_stands_against_its_own_smallest() -> None:
    rows = pd.DataFrame([simulated(BUNDLES, rate, num_bundles=n, num_shards=16) for n, rate in ((1, 10.0), (2, 18.0))])
    dba3c = [
        {"study": "workers", "network": "ba3c_authors_32", "num_workers": n, "data_points_per_second": 5.0}
        for n in (1, 2)
    ]
    lines = tables.published_table(rows, pd.DataFrame(dba3c)).splitlines()
    assert lines[3] == "| 2 | 0.90 | 0.50 | 0.93 |  |"
    assert lines[-1] == "| 64 |  |  |  | 0.70 |"


def test_a_folder_without_rows_says_so(tmp_path: Path) -> None:
    (tmp_path / "gorila_growth").mkdir()
    assert set(tables.tables(tmp_path / "gorila_growth").values()) == {tables.NOT_YET}
