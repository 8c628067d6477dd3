"""DBA3C with more workers than this machine carries: `python -m studies dba3c.simulation`.

    measure   what a step, a call and an update of each network cost here, beside one server: results/dba3c/costs.json
    check     1, 2 and 4 real workers and 2 servers, all of them processes, beside what the simulation says of the same,
              in turn with the measuring of its costs: a machine that others use as well is not always as fast. All
              share this machine's cores, evenly, and a core is slower while others are busy: how much is measured.
              With the authors' network a step is nearly all, with the Nature torso's short ones messages count
    grid      simulated workers and servers with a core each: 1 to 1,000 workers, 1 to 8 servers, backup workers with
              stragglers, six networks. A worker's steps are drawn from those that were measured, and the slowest of
              many makes an update last: of more workers than steps it would be the slowest step every time, so a
              network goes to as many workers as steps of it were measured

What a worker computes between two messages decides how far it goes: gradients are of 20, 32 or 160 steps on one core,
the authors' were of 32 on twelve, and rows and figures say so. Games of the cases of `studies.dba3c.learning`.

Networks take turns. Rows go into results/dba3c/simulation.csv, each with its source, "measured" or "simulated"; what is
there is not made again, so delete simulation.csv with costs.json. For each check a JSON line with the error of the
prediction is printed, and docs/figures/dba3c_simulated_*.png are drawn. An hour and a quarter on two cores.
Once `studies.dba3c.learning` has counted the updates to a score with 1, 2, 4 and 8 workers, these times the
simulated seconds of an update are the time to that score, in a figure of its own.
Not here: the simulation (`studies.simulation`), how costs are measured (`studies.simulation.measured_costs`,
`.call_costs`).
"""

import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import pandas as pd

from measuring.processor import kind_of, processor_here
from measuring.provenance import report
from measuring.rounds import shuffled
from measuring.worker_speed import batch_size, budget, num_parameters, run, speed
from pipeline.cluster.session import open_session
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.results.style import save_figure
from studies.arguments import FIGURES, on_top, refuse_published_figures
from studies.dba3c.figures import times_to_goal
from studies.dba3c.learning_cases import GAME, alike
from studies.dba3c.settings import CLUSTER, NETWORKS, OUTPUT, QUICK, RENAMED, precision_of
from studies.dba3c.simulation_figures import (
    prediction_figure,
    simulated_servers_figure,
    simulated_stragglers_figure,
    simulated_workers_figure,
    time_to_score_figure,
)
from studies.dba3c.simulation_grid import CHECK, GRID, SERVERS, STRAGGLERS, WORKERS, Case
from studies.row_file import RowFile, check_one_processor
from studies.simulation import cost_file
from studies.simulation.costs import Costs
from studies.simulation.experiment import Cluster, Machine, simulate
from studies.simulation.measured_costs import Measured, costs_of, measure, merged

MEASURED, SIMULATED = "measured", "simulated"
SIMULATED_NETWORKS = tuple(name for name in NETWORKS if name != "experiment_dba3c")
"""One for each colour of a figure. The gradients of what is left out, 40 steps, lie between those of two of them."""
BYTES_PER_SECOND = 1.25e9
"""Of the grid's network. Ours: Ethernet of 10 Gbit/s."""


@dataclass(frozen=True)
class SimulationRow:
    """One run, real or simulated."""

    source: str
    """"measured" or "simulated"."""
    study: str
    network: str
    num_workers: int
    """N"""
    num_backup_workers: int
    num_servers: int
    num_stragglers: int
    distribution: str
    """Of the stragglers' delay; "none" without any."""
    delay_steps: float
    """Mean of the delay, in mean steps."""
    round: int
    shared_cores: int
    """All workers and servers share so many; 0: each has its own."""
    num_parameters: int
    batch_size: int
    """Steps of one gradient."""
    data_points_per_second: float
    seconds_per_update: float
    late_share: float
    waited_share: float
    server_share: float
    """Of the servers' time: busy; not known of real ones."""
    busiest_server_share: float


SETTINGS = (
    "source",
    "study",
    "network",
    "num_workers",
    "num_backup_workers",
    "num_servers",
    "num_stragglers",
    "distribution",
    "round",
)


def main(
    game: str = GAME,
    networks: Sequence[str] = SIMULATED_NETWORKS,
    check_networks: Sequence[str] = ("dba3c_authors", "dba3c_quick"),
    check_workers: Sequence[int] = (1, 2, 4),
    check_servers: int = 2,
    num_rounds: int = 5,
    worker_steps: int = 12_000,
    num_cores: int = os.cpu_count() or 1,
    num_cost_updates: int = 30,
    step_seconds: float = 20.0,
    grid: Sequence[Case] = GRID,
    cluster: str = CLUSTER,
    overrides: Sequence[str] = (),
    output: Path = OUTPUT,
    figures: Path = FIGURES,
) -> None:
    """Measure and simulate what has no row yet, then draw."""
    more = on_top(overrides, game=(game, GAME), cluster=(cluster, CLUSTER))
    refuse_published_figures("figures", figures, output, OUTPUT, settings=bool(more))
    precision = precision_of(overrides)
    rows = simulation_rows(output).made_with(more, precision)
    costs_path = output / "costs.json"
    if rows.frame().empty:
        # Where there are rows, they have the processor of the costs, and no other can add to them.
        check_one_processor(costs_path, map(kind_of, cost_file.measured_on(costs_path)), precision)
    with tempfile.TemporaryDirectory() as results_dir:
        settings = [*QUICK, f"game={game}", f"results_dir={results_dir}", "topology.shards=apart", *overrides]
        configs = {name: compose([*settings, *NETWORKS[name]]) for name in networks}
        checks = {
            network: [
                (case, _check_config([*settings, f"cluster={cluster}", *NETWORKS[network]], case, worker_steps))
                for case in (Case(CHECK, count, 0, check_servers) for count in check_workers)
            ]
            for network in networks
            if network in check_networks
        }
        # Round after round, so that networks compare and a check stands beside the costs that it is checked with.
        for round_, network in [(one, name) for one in range(num_rounds) for name in shuffled(networks, one)]:
            if len(cost_file.load(costs_path, network)) <= round_:
                rows.check_addable()
                check_one_processor(costs_path, map(kind_of, cost_file.measured_on(costs_path)), precision)
                measured = _measure(configs[network], num_cores, num_cost_updates, step_seconds)
                cost_file.append(costs_path, network, processor_here(precision), measured)
            for case, config in checks.get(network, []):
                _run(rows, case, config, network, num_cores, round_)
        for network, of_network in checks.items():
            for case, config in of_network:
                _check(rows, case, config, network, merged(cost_file.load(costs_path, network)))
    for name, config in configs.items():
        measured = merged(cost_file.load(costs_path, name))
        costs = costs_of(config, measured, BYTES_PER_SECOND)
        num_steps = len(measured.steps.alone)
        for case in grid:
            if case.num_workers + case.num_backup_workers > num_steps:
                continue
            _simulate(rows, case, name, config, costs, machine=None)
    draw(rows.frame(), figures)
    draw_time_to_score(rows.frame(), output, figures)


def simulation_rows(folder: Path) -> RowFile[SimulationRow]:
    """What is in `folder`."""
    return RowFile(folder / "simulation.csv", SimulationRow, SETTINGS, RENAMED, one_processor_within=())


def _measure(config: RunConfig, num_cores: int, num_updates: int, step_seconds: float) -> Measured:
    """On host processes that have nothing else to do."""
    cluster = compose(["game=Pong", "cluster=processes"]).cluster
    with open_session(cluster, num_hosts=2 * num_cores, threads_per_host=1) as session:
        return measure(session, config, num_cores, num_updates, step_seconds)


def draw(rows: pd.DataFrame, folder: Path) -> None:
    """The figures of all studies that have rows."""
    for study, name, figure in (
        (CHECK, "prediction", prediction_figure),
        (WORKERS, "workers", simulated_workers_figure),
        (SERVERS, "servers", simulated_servers_figure),
        (STRAGGLERS, "stragglers", simulated_stragglers_figure),
    ):
        of_study = rows[rows["study"] == study]
        if len(of_study):
            save_figure(figure(of_study), folder / f"dba3c_simulated_{name}.png")


def draw_time_to_score(rows: pd.DataFrame, learned: Path, folder: Path) -> None:
    """The figure of measured updates and simulated seconds, if there are rows of `studies.dba3c.learning`."""
    simulated = rows[(rows["study"] == WORKERS) & (rows["network"] == "dba3c_quick")]
    paths = learned / "learning.csv", learned / "learning_curves.csv"
    if not len(simulated) or not all(path.exists() for path in paths):
        return
    runs, curves = (alike(pd.read_csv(path)) for path in paths)
    times = times_to_goal(curves, runs)
    if times["num_workers"].nunique() > 1:
        save_figure(time_to_score_figure(times, simulated), folder / "dba3c_simulated_time_to_score.png")


def _check_config(settings: list[str], case: Case, worker_steps: int) -> RunConfig:
    own = [f"topology.num_workers={case.num_workers}", f"param_server.num_shards={case.num_servers}"]
    skip = compose([*settings, *own]).environment.mean_frame_skip
    return compose([*settings, *own, budget(case.num_workers, worker_steps, skip)])


def _run(
    rows: RowFile[SimulationRow], case: Case, config: RunConfig, network: str, num_cores: int, round_: int
) -> None:
    if rows.has(MEASURED, *_settings(case, network, round_)):
        return
    real = speed(config, run(config))
    figures = (real.data_points_per_second, real.seconds_per_update, real.late_share, real.waited_share)
    shares = (math.nan, math.nan)
    rows.append(_row(MEASURED, case, network, round_, num_cores, config, (*figures, *shares)))


def _check(rows: RowFile[SimulationRow], case: Case, config: RunConfig, network: str, measured: Measured) -> None:
    machine = Machine(measured.num_cores, measured.steps.full_speed)
    _simulate(rows, case, network, config, costs_of(config, measured), machine)
    done = rows.frame()
    done = done[(done["study"] == CHECK) & (done["network"] == network) & (done["num_workers"] == case.num_workers)]
    rates = done.groupby("source")["data_points_per_second"].median()
    real_rates = done[done["source"] == MEASURED]["data_points_per_second"]
    report(
        "dba3c_simulation",
        network=network,
        num_workers=case.num_workers,
        num_servers=case.num_servers,
        num_rounds=len(real_rates),
        measured_data_points_per_second=float(rates[MEASURED]),
        measured_lowest=float(real_rates.min()),
        measured_highest=float(real_rates.max()),
        simulated_data_points_per_second=float(rates[SIMULATED]),
        error=float(rates[SIMULATED] / rates[MEASURED] - 1),
    )


def _simulate(
    rows: RowFile[SimulationRow], case: Case, network: str, config: RunConfig, costs: Costs, machine: Machine | None
) -> None:
    if rows.has(SIMULATED, *_settings(case, network, round_=0)):
        return
    stragglers = case.stragglers(sum(costs.step_seconds) / len(costs.step_seconds))
    cluster = Cluster(case.num_workers, case.num_backup_workers, case.num_servers, stragglers, machine)
    outcome = simulate(cluster, costs, num_updates=case.num_updates, num_warmup_updates=case.num_updates // 5)
    figures = (
        outcome.data_points_per_second,
        outcome.seconds_per_update,
        outcome.late_share,
        outcome.waited_share,
        outcome.server_share,
        outcome.busiest_server_share,
    )
    rows.append(_row(SIMULATED, case, network, 0, machine.num_cores if machine else 0, config, figures))


def _settings(case: Case, network: str, round_: int) -> tuple[object, ...]:
    study, *others = astuple(case)[:6]
    return study, network, *others, round_


def _row(
    source: str,
    case: Case,
    network: str,
    round_: int,
    shared_cores: int,
    config: RunConfig,
    figures: tuple[float, float, float, float, float, float],
) -> SimulationRow:
    study, workers, backup, servers, num_stragglers, distribution, delay_steps, _ = astuple(case)
    setting = (study, network, workers, backup, servers, num_stragglers, distribution, delay_steps)
    return SimulationRow(source, *setting, round_, shared_cores, num_parameters(config), batch_size(config), *figures)


if __name__ == "__main__":
    main()
