"""Cells of the tables of the simulation, from made-up rows."""

from typing import Any

import pandas as pd

from studies.dba3c.simulation_grid import CHECK, SERVERS, STRAGGLERS, WORKERS
from studies.dba3c.simulation_tables import prediction_table, servers_table, stragglers_table, workers_table


def row(study: str, rate: float, **changes: Any) -> dict[str, Any]:
    """One SimulationRow."""
    own: dict[str, Any] = {
        "source": "simulated",
        "network": "dba3c_authors",
        "num_workers": 64,
        "num_backup_workers": 0,
    }
    own |= {"num_servers": 4, "num_stragglers": 0, "distribution": "none", "num_parameters": 1000, "batch_size": 20}
    return own | {"study": study, "data_points_per_second": rate, "commit": "0123456789ab"} | changes


def test_the_error_is_that_of_the_simulation_over_the_median_of_the_rounds() -> None:
    measured = [row(CHECK, rate, source="measured", num_workers=2) for rate in (100.0, 80.0, 200.0)]
    _, _, line = prediction_table(pd.DataFrame([*measured, row(CHECK, 90.0, num_workers=2)])).splitlines()
    assert line == "| `dba3c_authors` | 1,000 | 20 | 2 | 3 | 100 (80 to 200) | 90 | -10.0 % | 0123456 |"


def test_many_workers_are_compared_with_one() -> None:
    rows = [row(WORKERS, 100.0 * count, num_workers=count) for count in (1, 8, 64)]
    _, _, line = workers_table(pd.DataFrame([*rows, row(WORKERS, 9_600.0, num_workers=128)])).splitlines()
    assert line == "| `dba3c_authors` | 1,000 | 20 | 100 | 8.0 | 64.0 | 96.0 | 0123456 |"


def test_servers_and_backup_workers_are_columns() -> None:
    servers = [row(SERVERS, 10.0 * count, num_servers=count) for count in (2, 1)]
    others = [row(SERVERS, 1.0, num_workers=16)]
    assert servers_table(pd.DataFrame([*servers, *others])).splitlines()[::2] == [
        "| network | parameters | steps a gradient | 1 server | 2 servers |",
        "| `dba3c_authors` | 1,000 | 20 | 10 | 20 |",
    ]
    late = {"num_stragglers": 4, "distribution": "constant"}
    stragglers = [row(STRAGGLERS, 5.0), *(row(STRAGGLERS, 2.0 + b, num_backup_workers=b, **late) for b in (0, 4))]
    assert stragglers_table(pd.DataFrame(stragglers)).splitlines() == [
        "| stragglers | b = 0 | b = 4 |",
        "|---|---|---|",
        "| none | 5 |  |",
        "| 4, constant | 2 | 6 |",
    ]
