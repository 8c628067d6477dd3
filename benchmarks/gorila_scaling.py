"""Agent steps per second of `gorila` in threads: two bundles beside one, and beside two loops without any server.

    one        the experiment `gorila` with one bundle, as a run of its own
    two        the same with two bundles
    no_server  two threads, each with the same Bundle and a shard of its own, called directly: no Dask, nothing shared

Steady state: learning has begun, and time counts from a bundle's first row of 100 updates to its last. The variants
take turns, each started anew every time. Epsilon stays where training spends most of its time: all do equal work.
`two_admitted` is the share of gradients that were applied: a dropped one would be cheap.
Not here: several processes (`benchmarks.server_wire` has what a process border costs).
"""

import io
import logging
import statistics
import tempfile
from collections.abc import Sequence
from functools import partial

import pandas as pd
from rich.console import Console

from measuring.provenance import report
from measuring.rounds import alternate, median_ratio, ratio_quartiles
from measuring.serverless import rows_without_server
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.experiments.run import train
from pipeline.experiments.specs import q_role_spec
from pipeline.interfaces import RowSink
from pipeline.param_server.shard import DirectShard
from pipeline.results.load import load_run
from pipeline.roles.bundle import Bundle
from pipeline.roles.parts import UPDATES_PER_ROW
from pipeline.roles.spec import QRoleSpec
from pipeline.rows import UpdateRow
from pipeline.topologies.kinds.bundled import bundle_name

STEADY = [
    "experiment=gorila",
    "cluster=threads",
    "replay.capacity=20_000",
    "replay.min_transitions=500",
    "algorithm.exploration.initial_epsilon=0.1",
    "evaluation=smoke",
    "evaluation.num_episodes=1",
    "progress=none",
    "overwrite=true",
]


def main(game: str = "Pong", num_rounds: int = 15, bundle_steps: int = 3_000, overrides: Sequence[str] = ()) -> None:
    """Print one JSON line. In each round each variant makes `bundle_steps` agent steps per bundle."""
    logging.getLogger("distributed").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as results_dir:
        settings = [*STEADY, f"game={game}", f"results_dir={results_dir}", *overrides]
        one, two = (compose([*settings, *_size(num_bundles, bundle_steps)]) for num_bundles in (1, 2))
        admitted: list[float] = []
        measured = alternate(
            {
                "one": partial(_run, one, []),
                "two": partial(_run, two, admitted),
                "no_server": partial(_run_without_server, two, bundle_steps),
            },
            num_rounds,
            num_warmup_rounds=0,
        )
    low, high = ratio_quartiles(measured["two"], measured["one"])
    report(
        "gorila_scaling",
        game=game,
        num_lanes=two.topology.num_lanes,
        num_rounds=num_rounds,
        bundle_steps=bundle_steps,
        **{f"{name}_steps_per_second": statistics.median(rates) for name, rates in measured.items()},
        two_admitted=statistics.median(admitted),
        two_over_one=median_ratio(measured["two"], measured["one"]),
        two_over_one_quartile_1=low,
        two_over_one_quartile_3=high,
        two_over_no_server=median_ratio(measured["two"], measured["no_server"]),
    )


def _size(num_bundles: int, bundle_steps: int) -> list[str]:
    # Frames of all bundles, at Nature's four per step.
    return [f"topology.num_bundles={num_bundles}", f"budget.frames={4 * num_bundles * bundle_steps}"]


def steady_run(config: RunConfig) -> tuple[float, float]:
    """Steps per second of a whole run and the admitted share of its gradients, read from the rows that it left."""
    result = train(config, Console(file=io.StringIO()))
    assert result.folder is not None
    updates = load_run(result.folder).updates
    return _steps_per_second(updates, config), updates["num_admitted"].sum() / updates["num_updates"].sum()


def _run(config: RunConfig, admitted: list[float]) -> float:
    rate, share = steady_run(config)
    admitted.append(share)
    return rate


def _run_without_server(config: RunConfig, bundle_steps: int) -> float:
    names = [bundle_name(index) for index in range(config.topology.num_playing)]
    found = rows_without_server(config, q_role_spec(config, generation=1), names, bundle_steps, _bundle)
    return _steps_per_second(
        pd.DataFrame([row for rows in found for row in rows if isinstance(row, UpdateRow)]), config
    )


def _bundle(spec: QRoleSpec, shard: DirectShard, rows: RowSink) -> Bundle:
    return Bundle(spec, [shard], rows)


def _steps_per_second(updates: pd.DataFrame, config: RunConfig) -> float:
    """Sum over the bundles of the steps between their first and last row, by the time between these."""
    rows = updates.groupby("role")[["total_frames", "wall_seconds"]]
    spans = rows.max() - rows.min()
    if len(spans) < config.topology.num_playing or spans["wall_seconds"].min() <= 0:
        raise ValueError(f"a bundle made less than two rows of {UPDATES_PER_ROW} updates: raise bundle_steps")
    frames_per_step = config.environment.frame_skip * config.topology.num_playing  # rows count frames of all bundles
    return float((spans["total_frames"] / frames_per_step / spans["wall_seconds"]).sum())


if __name__ == "__main__":
    main()
