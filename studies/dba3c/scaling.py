"""Agent steps per second of DBA3C in threads: two workers beside one, and beside two loops without any server.

    one        one worker, as a run of its own: 2 shards, a quorum of one
    two        the same with two workers, whose gradients make one update
    no_server  two threads, each with the same Worker and a shard of its own, called directly: no Dask, no quorum,
               nothing shared; the optimizer and its parameters are float32 and local

For `experiment=dba3c` as it is, with gradients of 40 steps of Nature DQN's games; and for the Nature torso on grey
pictures and the authors' two networks on colours, with the authors' games and gradients of 160 steps. Only steps that
became part of an update count, from a worker's first row to its last. Networks and variants take turns within a round,
each started anew every time. A row a round and network goes into results/dba3c/scaling.csv, and rounds that are there
are not measured again; at the end one JSON line a network, with the quartiles of its ratios over the rounds.
60 runs, of 15 to 20 s with the Nature torso and of a minute with the others: 45 minutes.
Not here: several processes and shards (`studies.dba3c.shards`).
"""

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from measuring.markdown import commits_cell, markdown
from measuring.provenance import report
from measuring.rounds import alternate, median_ratio, ratio_quartiles, shuffled
from measuring.serverless import rows_without_server
from measuring.worker_speed import budget, loop_speed, num_parameters, run, speed
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import make_plan
from pipeline.experiments.specs import fleet_spec
from pipeline.interfaces import RowSink, Servers
from pipeline.param_server.shard import DirectShard
from pipeline.results.formats import cell
from pipeline.roles.spec import WorkerSpec
from pipeline.roles.worker import Worker
from pipeline.topologies.kinds.workers import worker_name
from studies.arguments import on_top
from studies.dba3c.settings import GAME, NETWORKS, OUTPUT, QUICK, RENAMED, precision_of
from studies.row_file import RowFile

_NUM_LOOPS = 2


@dataclass(frozen=True)
class ScalingRow:
    """One round of one network, in agent steps per second."""

    network: str
    round: int
    game: str
    num_parameters: int
    one: float
    two: float
    no_server: float


def main(
    game: str = GAME,
    num_rounds: int = 5,
    worker_steps: int = 16_000,
    networks: Sequence[str] = ("experiment_dba3c", "nature_grey", "dba3c_authors", "ba3c_authors"),
    overrides: Sequence[str] = (),
    output: Path = OUTPUT,
) -> None:
    """Measure what has no row yet, then print one JSON line a network. Each worker makes `worker_steps` steps a run."""
    rows = scaling_rows(output).made_with(on_top(overrides, game=(game, GAME)), precision_of(overrides))
    with tempfile.TemporaryDirectory() as results_dir:
        settings = [*QUICK, "cluster=threads", f"game={game}", f"results_dir={results_dir}"]
        # Round after round, so that a machine that gets slower slows all networks, whose speeds then compare.
        for round_ in range(num_rounds):
            for network in shuffled(networks, round_):
                if not rows.has(network, round_):
                    rows.append(_measure([*settings, *NETWORKS[network], *overrides], network, round_, worker_steps))
    frame = rows.frame()
    for network in networks:
        _report(frame[frame["network"] == network])


def scaling_rows(folder: Path) -> RowFile[ScalingRow]:
    """The rounds that are in `folder`."""
    return RowFile(folder / "scaling.csv", ScalingRow, ("network", "round"), RENAMED, one_processor_within=())


def scaling_table(rounds: pd.DataFrame) -> str:
    """Agent steps per second, a line a network; ScalingRows."""
    rows = []
    for network, alike in rounds.groupby("network", sort=False):
        rates = {name: alike[name].tolist() for name in ("one", "two", "no_server")}
        rows.append(
            {
                "network": f"`{network}`",
                "parameters": cell(alike["num_parameters"].iloc[0], 0),
                "rounds": str(len(alike)),
                "1 worker": cell(statistics.median(rates["one"]), 0),
                "2 workers": cell(statistics.median(rates["two"]), 0),
                "2 loops without a server": cell(statistics.median(rates["no_server"]), 0),
                "2 workers over 1": _ratio_cell(rates["two"], rates["one"]),
                "2 workers over 2 loops": _ratio_cell(rates["two"], rates["no_server"]),
                "commit": commits_cell(alike["commit"]),
            }
        )
    return markdown(rows)


def _ratio_cell(numerators: list[float], denominators: list[float]) -> str:
    low, high = ratio_quartiles(numerators, denominators)
    return f"{cell(median_ratio(numerators, denominators), 2)} ({cell(low, 2)} to {cell(high, 2)})"


def _measure(settings: list[str], network: str, round_: int, worker_steps: int) -> ScalingRow:
    skip = compose(settings).environment.mean_frame_skip
    one, two = (
        compose([*settings, f"topology.num_workers={count}", budget(count, worker_steps, skip)]) for count in (1, 2)
    )
    measured = alternate(
        {
            "one": lambda: speed(one, run(one)).data_points_per_second,
            "two": lambda: speed(two, run(two)).data_points_per_second,
            "no_server": partial(_run_without_server, two, worker_steps),
        },
        num_rounds=1,
        num_warmup_rounds=0,
        first_round=round_,
    )
    return ScalingRow(
        network,
        round_,
        two.game,
        num_parameters(two),
        **{name: rates[0] for name, rates in measured.items()},
    )


def _report(rounds: pd.DataFrame) -> None:
    first = rounds.iloc[0]
    rates = {name: rounds[name].tolist() for name in ("one", "two", "no_server")}
    low, high = ratio_quartiles(rates["two"], rates["one"])
    local_low, local_high = ratio_quartiles(rates["two"], rates["no_server"])
    report(
        "dba3c_scaling",
        game=str(first["game"]),
        network=str(first["network"]),
        num_parameters=int(first["num_parameters"]),
        num_rounds=len(rounds),
        **{f"{name}_steps_per_second": statistics.median(values) for name, values in rates.items()},
        two_over_one=median_ratio(rates["two"], rates["one"]),
        two_over_one_low=low,
        two_over_one_high=high,
        two_over_no_server=median_ratio(rates["two"], rates["no_server"]),
        two_over_no_server_low=local_low,
        two_over_no_server_high=local_high,
        measured_at=", ".join(sorted(set(rounds["commit"]))),
    )


def _run_without_server(config: RunConfig, worker_steps: int) -> float:
    spec = fleet_spec(config, make_plan(config).demands, generation=1).role
    assert isinstance(spec, WorkerSpec)
    names = [worker_name(index) for index in range(_NUM_LOOPS)]
    found = rows_without_server(config, spec, names, worker_steps, _worker)
    return sum(
        loop_speed(config, pd.DataFrame(map(asdict, rows)), name).data_points_per_second
        for name, rows in zip(names, found, strict=True)
    )


def _worker(spec: WorkerSpec, shard: DirectShard, rows: RowSink) -> Worker:
    return Worker(spec, Servers([shard], []), rows)


if __name__ == "__main__":
    main()
