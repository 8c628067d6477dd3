"""What it is worth to choose the number of backup workers for each update: `python -m studies dba3c.dynamic_quorum`.

    simulated   16 workers around 4 servers, a core each, with the costs of `dba3c_quick` in results/dba3c/costs.json:
                updates of the first 16, 15, 14, 12 or 8 gradients, and of whatever number from 8 to 16 makes the most
                gradients a second. None of the workers straggles, or the last one, or the last four: constantly, by
                four mean steps, or exponentially around as much
    measured    eight real workers in threads of one process, as in `studies.dba3c.stragglers`: 8, 7 or 6 gradients, and
                any number from 4 to 8; the last one straggles by four healthy updates

A row a run goes into results/dba3c/dynamic_quorum.csv; what is there is not made again. Simulated: a minute. Measured:
3 delays x 4 numbers x 2 rounds of a minute and ten seconds, longer for who waits for a straggler: 40 minutes.
Not here: how the number is chosen (`pipeline.param_server.quorum_size`).
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from measuring.markdown import markdown, median_cell
from measuring.processor import KIND, kind_here, processor_here
from measuring.rounds import shuffled
from measuring.worker_speed import budget_seconds, run, speed
from pipeline.config.overrides import compose
from pipeline.results.formats import cell
from pipeline.roles.straggler import CONSTANT, DISTRIBUTIONS, EXPONENTIAL
from studies.arguments import on_top
from studies.dba3c.settings import GAME, NETWORKS, OUTPUT, QUICK, precision_of
from studies.dba3c.simulation import BYTES_PER_SECOND
from studies.dba3c.stragglers import NO_DELAY, NONE, TINY, delay_of
from studies.row_file import RowFile, kinds_of
from studies.simulation import cost_file
from studies.simulation.experiment import Cluster, simulate
from studies.simulation.measured_costs import costs_of, merged

SIMULATED, MEASURED = "simulated", "measured"
NOT_YET = "Not measured yet."
CHOSEN = "chosen"
"""In place of a number of gradients."""
_NETWORK = "dba3c_quick"
_NUM_SIMULATED, _NUM_SERVERS, _DELAY = 16, 4, 4.0
_NUM_REAL = 8
_SIMULATED_SIZES = ("16", "15", "14", "12", "8", CHOSEN)
_REAL_SIZES = ("8", "7", "6", CHOSEN)
_SIMULATED_DELAYS = ((0, NONE), *product((1, 4), (CONSTANT, EXPONENTIAL)))


class Processor(NamedTuple):
    """What a row was measured on: the last two columns of it."""

    instructions: str
    model: str
    num_cores: int


@dataclass(frozen=True)
class DynamicQuorumRow:
    """One run, simulated or real."""

    source: str
    """"simulated" or "measured"."""
    num_started: int
    """Workers."""
    num_stragglers: int
    distribution: str
    """Of their delay: "none", "constant" or "exponential"."""
    quorum: str
    """Gradients of an update, or "chosen"."""
    round: int
    mean_delay_seconds: float
    seconds_per_update: float
    gradients_per_update: float
    """The mean."""
    data_points_per_second: float
    late_share: float
    """Of all gradients."""
    processor: str
    """Instructions and precision, as "avx2, float32"; of a simulation those that its costs were measured with."""
    cpu: str
    """Its model."""
    num_cores: int


def main(
    num_rounds: int = 2,
    run_seconds: float = 70.0,
    num_updates: int = 400,
    game: str = GAME,
    overrides: Sequence[str] = (),
    costs: Path = OUTPUT / "costs.json",
    output: Path = OUTPUT,
) -> None:
    """Simulate and measure what has no row yet."""
    rows = dynamic_quorum_rows(output).made_with(on_top(overrides, game=(game, GAME)))
    of_costs, here = _of_costs(costs), Processor(*kind_here(processor_here(precision_of(overrides))))
    for (num_stragglers, distribution), quorum in product(_SIMULATED_DELAYS, _SIMULATED_SIZES):
        if not rows.has(SIMULATED, _NUM_SIMULATED, num_stragglers, distribution, quorum, 0, *of_costs):
            rows.append(_simulated(costs, of_costs, num_stragglers, distribution, quorum, num_updates))
    with tempfile.TemporaryDirectory() as results_dir:
        settings = [*QUICK, *TINY, "cluster=threads", f"game={game}", f"results_dir={results_dir}"]
        settings += overrides
        # What says how long a delay is comes first, then all in turn.
        healthy_first = [(round_, NONE, _REAL_SIZES[0]) for round_ in range(num_rounds)]
        in_turn = [
            (round_, *case)
            for round_ in range(num_rounds)
            for case in shuffled(product((NONE, *DISTRIBUTIONS), _REAL_SIZES), round_)
        ]
        for round_, distribution, quorum in (*healthy_first, *in_turn):
            num_stragglers = 0 if distribution == NONE else 1
            if not rows.has(MEASURED, _NUM_REAL, num_stragglers, distribution, quorum, round_, *here):
                rows.append(_measured(rows, here, settings, run_seconds, distribution, quorum, round_))


def _of_costs(path: Path) -> Processor:
    kinds = {Processor(*(facts[name] for name in KIND)) for facts in cost_file.measured_on(path)}
    if len(kinds) != 1:
        raise SystemExit(f"{path} has costs of {len(kinds)} kinds of processor: measure them with dba3c.simulation")
    return kinds.pop()


def _simulated(
    costs_path: Path, processor: Processor, num_stragglers: int, distribution: str, quorum: str, num_updates: int
) -> DynamicQuorumRow:
    config = compose([*QUICK, "game=Breakout", *NETWORKS[_NETWORK]])
    costs = costs_of(config, merged(cost_file.load(costs_path, _NETWORK)), BYTES_PER_SECOND)
    delay = _DELAY * sum(costs.step_seconds) / len(costs.step_seconds) if num_stragglers else 0.0
    slow = range(_NUM_SIMULATED - num_stragglers, _NUM_SIMULATED)
    least = _least(_NUM_SIMULATED, quorum)
    cluster = Cluster(
        least,
        _NUM_SIMULATED - least,
        _NUM_SERVERS,
        tuple((index, distribution, delay) for index in slow),
        dynamic_quorum=quorum == CHOSEN,
    )
    outcome = simulate(cluster, costs, num_updates=num_updates, num_warmup_updates=num_updates // 5)
    points = outcome.data_points_per_second
    return DynamicQuorumRow(
        SIMULATED,
        _NUM_SIMULATED,
        num_stragglers,
        distribution,
        quorum,
        0,
        delay,
        outcome.seconds_per_update,
        points * outcome.seconds_per_update / costs.batch_size,
        points,
        outcome.late_share,
        *processor,
    )


def _measured(
    rows: RowFile[DynamicQuorumRow],
    processor: Processor,
    settings: Sequence[str],
    run_seconds: float,
    distribution: str,
    quorum: str,
    round_: int,
) -> DynamicQuorumRow:
    least, delay = _least(_NUM_REAL, quorum), NO_DELAY
    own = [f"topology.num_workers={least}", f"topology.num_backup_workers={_NUM_REAL - least}"]
    own += [f"topology.dynamic_quorum={str(quorum == CHOSEN).lower()}"]
    if distribution != NONE:
        done = rows.frame()
        done = done[(done[list(KIND)] == list(processor)).all(axis="columns")]
        healthy = done[
            (done["source"] == MEASURED) & (done["distribution"] == NONE) & (done["quorum"] == str(_NUM_REAL))
        ]
        alike = done[(done["source"] == MEASURED) & (done["distribution"] == distribution)]
        seconds = healthy["seconds_per_update"]
        delay = delay_of(seconds, _DELAY, alike["mean_delay_seconds"], is_waited_for=least == _NUM_REAL)
        own += [f"topology.stragglers=[[{_NUM_REAL - 1},{distribution},{delay.seconds:.6f}]]"]
    config = compose([budget_seconds(run_seconds, delay.update_seconds), *settings, *own])
    updates = run(config)
    measured = speed(config, updates)
    gradients = float(updates["num_admitted"].sum() / updates["version"].max())
    return DynamicQuorumRow(
        MEASURED,
        _NUM_REAL,
        int(distribution != NONE),
        distribution,
        quorum,
        round_,
        delay.seconds,
        measured.seconds_per_update,
        gradients,
        measured.data_points_per_second,
        measured.late_share,
        *processor,
    )


def _least(num_started: int, quorum: str) -> int:
    return num_started // 2 if quorum == CHOSEN else int(quorum)


def dynamic_quorum_rows(folder: Path) -> RowFile[DynamicQuorumRow]:
    """The runs that are in `folder`."""
    settings = ("source", "num_started", "num_stragglers", "distribution", "quorum", "round", *KIND)
    return RowFile(folder / "dynamic_quorum.csv", DynamicQuorumRow, settings=settings)


def dynamic_quorum_tables(runs: pd.DataFrame) -> Mapping[str, str]:
    """Of simulated and of real workers: a line for each processor and kind of straggler, a column for each quorum."""
    return {f"dynamic_quorum_{source}": _table(runs[runs["source"] == source]) for source in (SIMULATED, MEASURED)}


def _table(runs: pd.DataFrame) -> str:
    if runs.empty:
        return NOT_YET
    rows = []
    settings = [kinds_of(runs), "num_stragglers", "distribution"]
    for (kind, count, distribution), alike in runs.groupby(settings, sort=False):
        name = "none" if count == 0 else f"{count}, {distribution}"
        cells = {
            CHOSEN if quorum == CHOSEN else f"first {quorum}": _cell(same, is_chosen=quorum == CHOSEN)
            for quorum, same in ((str(name), same) for name, same in alike.groupby("quorum", sort=False))
        }
        rows.append({"processor": str(kind), "stragglers": name, **cells})
    return markdown(rows)


def _cell(same: pd.DataFrame, *, is_chosen: bool) -> str:
    """Data points a second; of a chosen number of gradients its mean as well."""
    rates = same["data_points_per_second"]
    rate = median_cell(rates, 0) if len(rates) > 1 else cell(rates.iloc[0], 0)
    return f"{rate} (of {same['gradients_per_update'].median():.1f})" if is_chosen else rate


if __name__ == "__main__":
    main()
