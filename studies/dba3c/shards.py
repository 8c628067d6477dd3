"""Data points per second of DBA3C over 1, 2 and 4 parameter shards: `python -m studies dba3c.shards`.

Each host is a process; as many workers as the machine has cores. Shards stand beside the workers, whose calls to the
nearest one then cross no border, or apart, each in a process of its own, as the servers of Adamski et al. 2018 did: on
this one machine they then want a share of the workers' cores. A data point is an agent step that became part of an
update. A row a run goes into results/dba3c/shards.csv, and runs that are there are not made again; at the end
docs/figures/dba3c_shards.png is drawn.
The Nature torso makes gradients of 20 steps here, so that parameters travel often; the authors' network, of 160 steps
of coloured pictures, computes for so long that it hardly minds. 2 networks x 2 places x 3 numbers of shards x 3 rounds,
36 runs of a minute: 40 minutes.
Not here: more servers than this machine can carry (`studies.dba3c.simulation`).
"""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pandas as pd

from measuring.markdown import commits_cell, counted, markdown, median_cell
from measuring.rounds import shuffled
from measuring.worker_speed import budget, num_parameters, run, speed
from pipeline.config.overrides import compose
from pipeline.results.formats import cell
from pipeline.results.style import save_figure
from pipeline.topologies.config import PLACES
from studies.arguments import FIGURES, on_top, refuse_published_figures
from studies.dba3c.figures import shards_figure
from studies.dba3c.settings import CLUSTER, GAME, NETWORKS, OUTPUT, QUICK, RENAMED, precision_of
from studies.row_file import RowFile


@dataclass(frozen=True)
class ShardsRow:
    """One run."""

    network: str
    shards: str
    """"beside" or "apart"."""
    num_shards: int
    round: int
    game: str
    num_parameters: int
    num_workers: int
    data_points_per_second: float
    seconds_per_update: float
    waited_share: float


def main(
    game: str = GAME,
    num_rounds: int = 3,
    num_workers: int = os.cpu_count() or 1,
    worker_steps: int = 16_000,
    networks: Sequence[str] = ("dba3c_quick", "dba3c_authors"),
    places: Sequence[str] = PLACES,
    shard_counts: Sequence[int] = (1, 2, 4),
    cluster: str = CLUSTER,
    overrides: Sequence[str] = (),
    output: Path = OUTPUT,
    figures: Path = FIGURES,
) -> None:
    """Measure what has no row yet, then draw. Networks, places and numbers of shards take turns within a round."""
    usual = {"cluster": (cluster, CLUSTER), "topology.num_workers": (num_workers, os.cpu_count() or 1)}
    more = on_top(overrides, game=(game, GAME), **usual)
    refuse_published_figures("figures", figures, output, OUTPUT, settings=bool(more))
    rows = shards_rows(output).made_with(more, precision_of(overrides))
    in_turn = [
        (round_, *case)
        for round_ in range(num_rounds)
        for case in shuffled(product(networks, places, shard_counts), round_)
    ]
    with tempfile.TemporaryDirectory() as results_dir:
        settings = [*QUICK, f"cluster={cluster}", f"game={game}", f"results_dir={results_dir}"]
        for round_, network, place, num_shards in in_turn:
            if rows.has(network, place, num_shards, round_):
                continue
            own = [f"topology.num_workers={num_workers}", f"topology.shards={place}"]
            own += [f"param_server.num_shards={num_shards}", *NETWORKS[network], *overrides]
            skip = compose([*settings, *own]).environment.mean_frame_skip
            config = compose([*settings, *own, budget(num_workers, worker_steps, skip)])
            measured = speed(config, run(config))
            rows.append(
                ShardsRow(
                    network,
                    place,
                    num_shards,
                    round_,
                    game,
                    num_parameters(config),
                    num_workers,
                    measured.data_points_per_second,
                    measured.seconds_per_update,
                    measured.waited_share,
                )
            )
    save_figure(shards_figure(rows.frame()), figures / "dba3c_shards.png")


def shards_rows(folder: Path) -> RowFile[ShardsRow]:
    """The runs that are in `folder`."""
    settings = ("network", "shards", "num_shards", "round")
    return RowFile(folder / "shards.csv", ShardsRow, settings, RENAMED, one_processor_within=())


def shards_table(runs: pd.DataFrame) -> str:
    """Data points per second, a line for each network and place, a column for each number of shards; ShardsRows."""
    rows = []
    for (network, place), alike in runs.groupby(["network", "shards"], sort=False):
        # A data point is a step: what an update of all workers has of them.
        steps = alike["data_points_per_second"] * alike["seconds_per_update"] / alike["num_workers"]
        rows.append(
            {
                "network": f"`{network}`",
                "parameters": cell(alike["num_parameters"].iloc[0], 0),
                "steps a gradient": cell(steps.median(), 0),
                "shards": str(place),
                **{
                    counted(count, "shard"): median_cell(
                        alike[alike["num_shards"] == count]["data_points_per_second"], 0
                    )
                    for count in sorted(set(alike["num_shards"]))
                },
                "commit": commits_cell(alike["commit"]),
            }
        )
    return markdown(rows)


if __name__ == "__main__":
    main()
