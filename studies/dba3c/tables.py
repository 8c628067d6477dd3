"""All tables of `results/dba3c/README.md`, from the rows beside it.

Not here: what stands in one (each study's module, `studies.dba3c.learning_tables`, `.simulation_tables`).
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from measuring.markdown import markdown
from pipeline.results.formats import cell
from studies.dba3c import (
    dynamic_quorum,
    learning,
    learning_cases,
    learning_tables,
    lost_worker,
    scaling,
    shards,
    simulation,
    simulation_tables,
    stops,
    stragglers,
)
from studies.row_file import RowFile, kinds_of


def tables(folder: Path) -> Mapping[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    runs = learning_cases.alike(learning.learning_rows(folder).frame())
    curves = learning_cases.alike(learning.learning_curves(folder).frame())
    simulated = simulation.simulation_rows(folder).frame()
    return {
        "processors": processors_table(folder),
        "scaling": scaling.scaling_table(scaling.scaling_rows(folder).frame()),
        "cases": learning_tables.cases_table(runs),
        "sync": learning_tables.sync_table(runs),
        "hidden_layer": learning_tables.hidden_layer_table(runs),
        "workers": learning_tables.workers_table(runs, curves, simulated),
        "adam": learning_tables.adam_table(runs),
        "lost_worker": lost_worker.lost_worker_table(lost_worker.lost_worker_rows(folder).frame()),
        "stops": stops.stops_table(stops.read_stops(folder)),
        "shards": shards.shards_table(shards.shards_rows(folder).frame()),
        "prediction": simulation_tables.prediction_table(simulated),
        "simulated_workers": simulation_tables.workers_table(simulated),
        "simulated_servers": simulation_tables.servers_table(simulated),
        "simulated_stragglers": simulation_tables.stragglers_table(simulated),
        **dynamic_quorum.dynamic_quorum_tables(dynamic_quorum.dynamic_quorum_rows(folder).frame()),
        "stragglers": stragglers.stragglers_table(stragglers.stragglers_rows(folder).frame()),
    }


def processors_table(folder: Path) -> str:
    """What each file of speeds was measured with, a line a kind of processor."""
    files: Mapping[str, Callable[[Path], RowFile[Any]]] = {
        "scaling": scaling.scaling_rows,
        "lost_worker": lost_worker.lost_worker_rows,
        "shards": shards.shards_rows,
        "simulation": simulation.simulation_rows,
        "stragglers": stragglers.stragglers_rows,
        "dynamic_quorum": dynamic_quorum.dynamic_quorum_rows,
    }
    counts = {name: kinds_of(rows_of(folder).frame()).value_counts(sort=False) for name, rows_of in files.items()}
    return markdown(
        {"study": f"`{name}`", "processor": str(kind), "rows": cell(count, 0)}
        for name, of_file in counts.items()
        for kind, count in of_file.items()
    )
