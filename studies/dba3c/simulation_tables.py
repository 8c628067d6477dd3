"""Tables of what was simulated, and of how far the simulation is off; from SimulationRows.

Not here: figures (`studies.dba3c.simulation_figures`).
"""

import pandas as pd

from measuring.markdown import commits_cell, counted, markdown, median_cell
from pipeline.results.formats import cell
from studies.dba3c.simulation_grid import CHECK, SERVERS, STRAGGLERS, WORKERS

_RATE = "data_points_per_second"
_COMPARED_WORKERS = (8, 64, 128)
_AUTHORS_WORKERS = 64


def prediction_table(rows: pd.DataFrame) -> str:
    """Measured and simulated data points per second of the same workers on this machine."""
    lines = []
    for (network, workers), alike in rows[rows["study"] == CHECK].groupby(["network", "num_workers"], sort=False):
        measured, simulated = (alike[alike["source"] == source][_RATE] for source in ("measured", "simulated"))
        error = simulated.median() / measured.median() - 1
        lines.append(
            _network(network, alike)
            | {
                "workers": str(workers),
                "rounds": str(len(measured)),
                "measured": median_cell(measured, 0),
                "simulated": cell(simulated.median(), 0),
                "error": f"{100 * error:+.1f} %",
                "commit": commits_cell(alike["commit"]),
            }
        )
    return markdown(lines)


def workers_table(rows: pd.DataFrame) -> str:
    """Times the speed of one worker, a line a network."""
    lines = []
    for network, alike in rows[rows["study"] == WORKERS].groupby("network", sort=False):
        rates = alike.set_index("num_workers")[_RATE]
        lines.append(
            _network(network, alike)
            | {"1 worker, data points per second": cell(rates[1], 0)}
            | {f"{count} workers, times that": cell(rates[count] / rates[1], 1) for count in _COMPARED_WORKERS}
            | {"commit": commits_cell(alike[alike["num_workers"].isin([1, *_COMPARED_WORKERS])]["commit"])}
        )
    return markdown(lines)


def servers_table(rows: pd.DataFrame) -> str:
    """Data points per second of as many workers as the authors had over the servers, a line a network."""
    chosen = rows[(rows["study"] == SERVERS) & (rows["num_workers"] == _AUTHORS_WORKERS)]
    lines = []
    for network, alike in chosen.groupby("network", sort=False):
        rates = alike.set_index("num_servers")[_RATE]
        of_counts = {counted(count, "server"): cell(rates[count], 0) for count in sorted(set(alike["num_servers"]))}
        lines.append(_network(network, alike) | of_counts)
    return markdown(lines)


def stragglers_table(rows: pd.DataFrame, network: str = "dba3c_authors") -> str:
    """Data points per second of one network over the backup workers, a line for each kind of straggler."""
    chosen = rows[(rows["study"] == STRAGGLERS) & (rows["network"] == network)]
    return markdown(
        {"stragglers": f"{count}, {distribution}" if count else "none"}
        | {
            f"b = {backup}": cell(rate, 0)
            for backup, rate in alike.set_index("num_backup_workers")[_RATE].sort_index().items()
        }
        for (count, distribution), alike in chosen.groupby(["num_stragglers", "distribution"], sort=False)
    )


def _network(name: object, rows: pd.DataFrame) -> dict[str, str]:
    return {
        "network": f"`{name}`",
        "parameters": cell(rows["num_parameters"].iloc[0], 0),
        "steps a gradient": str(rows["batch_size"].iloc[0]),
    }
