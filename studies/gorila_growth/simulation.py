"""Gorila with more bundles than this machine carries: `python -m studies gorila_growth.simulation`.

    parts     what a play, a gradient, a push and a pull cost here: results/gorila_growth/costs.json
    check     1, 2 and 4 real bundles around two shards, in threads and in processes, beside what the simulation says of
              the same plan; parts are measured before each run, since a shared machine is a tenth faster or slower from
              minute to minute; the real runs' rows go into growth.csv
    grid      simulated bundles and shards, each on a machine with one core: 1 to 1,000 bundles, 1 to 64 shards, numbers
              in float32 and bfloat16 and factors, networks of 0.1 to 100 Gbit/s, limits of staleness

Where roles stand is what the project's own placement says of the same settings (`pipeline.experiments.plan`), and what
a shard does with a push is what its own rule says (`pipeline.param_server.shard`). Simulated rows go into
results/gorila_growth/simulation.csv: all of them are made anew, as they follow from costs.json. Real runs that have a
row are not made again: delete growth.csv together with costs.json. Figures are drawn into docs/figures/. With nothing
to measure ten minutes on one core; three rounds of parts and runs take eighty on top. Parts and runs are of one kind of
processor: on another one nothing is measured. `--beside other` says that the machine has something else to do.
Not here: the simulation itself (`studies.gorila_growth.experiment`).
"""

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import pandas as pd

from measuring.processor import KIND, named_here, processor_here
from pipeline.cluster.placement import Offer
from pipeline.cluster.session import open_session
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import make_plan
from pipeline.results.style import save_figure
from studies.arguments import FIGURES, on_top, refuse_published, refuse_published_figures
from studies.gorila_growth import costs as cost_file
from studies.gorila_growth.bundles import Pace
from studies.gorila_growth.costs import Measured, at_one_speed, merged
from studies.gorila_growth.experiment import Cluster, Outcome, simulate
from studies.gorila_growth.figures import FIGURE_NAMES, figures_of
from studies.gorila_growth.grid import CHECK, CHECKED, GRID, MACHINES, MEMORY, PROCESSES, THREADS, WIRES, Case
from studies.gorila_growth.growth import case_words, growth_rows, run_case
from studies.gorila_growth.part_costs import measure
from studies.gorila_growth.settings import GAME, GORILA, NOTHING, OUTPUT, beside_of
from studies.row_file import RowFile, kinds_of

_WARMUP_SHARE = 3


@dataclass(frozen=True)
class SimulationRow:
    """One simulated cluster: its case, and what came of it."""

    study: str
    cluster: str
    num_bundles: int
    num_shards: int
    wire: str
    gigabits_per_second: float
    staleness_per_bundle: int
    num_gradients: int
    num_parameters: int
    steps_per_second: float
    gradients_per_second: float
    updates_per_second: float
    stale_share: float
    mean_staleness: float
    max_staleness: int
    waited_share: float
    shard_share: float
    busiest_shard_share: float
    processor: str
    """That the costs are of, as its model and cores are."""
    cpu: str
    num_cores: int


def main(
    beside: str = NOTHING,
    game: str = GAME,
    num_rounds: int = 3,
    bundle_steps: int = 3_000,
    part_seconds: float = 4.0,
    num_cores: int = os.cpu_count() or 1,
    wires: Sequence[str] = (*WIRES, MEMORY),
    checked: Sequence[Case] = CHECKED,
    grid: Sequence[Case] = GRID,
    overrides: Sequence[str] = (),
    output: Path = OUTPUT,
    figures: Path = FIGURES,
) -> None:
    """Measure what has no row yet, simulate all, and draw."""
    has_other_cases = (*checked, *grid) != (*CHECKED, *GRID)
    more = on_top(overrides, game=(game, GAME))
    differs = {"settings": bool(more), "cases": has_other_cases}
    refuse_published("output", output, OUTPUT, **differs)
    refuse_published_figures("figures", figures, output, OUTPUT, **differs)
    path, real = output / "costs.json", growth_rows(output).made_with(more)
    processor = processor_here(compose([*GORILA, f"game={game}", *overrides]).precision)
    kind = named_here(processor)
    if others := [of for of in cost_file.processors(path) if of != kind]:
        print(f"{path} is of {', '.join(others)}: on this {kind} nothing is measured", file=sys.stderr)
    due = dict.fromkeys(wires, 0)
    for round_ in range(0 if others else num_rounds):
        for number, case in enumerate(checked):
            for wire in wires_before(number, checked, wires):
                due[wire] += 1
                if len(cost_file.load(path, wire)) < due[wire]:
                    real.check_addable()
                    measured_now = _measure(game, wire, num_cores, part_seconds, overrides)
                    cost_file.append(path, wire, beside, processor, measured_now)
            run_case(real, case, place_of(case), round_, game, beside, bundle_steps, overrides)
    rounds = {wire: cost_file.load(path, wire) for wire in wires}
    if missing := [wire for wire in wires if not rounds[wire]]:
        raise SystemExit(f"{path} has no parts of {', '.join(missing)}: measure them on the processor of the others")
    measured = {wire: merged(of_wire) for wire, of_wire in rounds.items()}
    # Runs are predicted from what was measured beside them; only wires that are compared need a machine in common.
    rows = []
    for cases, of_wires in ((checked, measured), (grid, at_one_speed(measured))):
        for case in cases:
            costs = of_wires[case.wire]
            outcome = simulated(case, costs, game, overrides)._asdict()
            on = {name: cost_file.measured_on(path, case.wire)[0][name] for name in KIND}
            rows.append(SimulationRow(**asdict(case), num_parameters=costs.costs.num_params, **outcome, **on))
    # At once: those of before stay until all are there.
    (output / "simulation.csv").unlink(missing_ok=True)
    simulation_rows(output).append(*rows)
    drawn = figures_of(simulation_rows(output).frame(), runs_beside(real.frame(), path))
    for name in FIGURE_NAMES:
        if name in drawn:
            save_figure(drawn[name], figures / f"gorila_growth_{name}.png")


def simulation_rows(folder: Path) -> RowFile[SimulationRow]:
    """What is in `folder`."""
    return RowFile(folder / "simulation.csv", SimulationRow, settings=("study",))


def runs_beside(real: pd.DataFrame, costs: Path) -> pd.DataFrame:
    """Of the GrowthRows those of the processor that the parts were measured on."""
    return real[kinds_of(real).isin(cost_file.processors(costs))]


def wires_before(number: int, checked: Sequence[Case], wires: Sequence[str]) -> list[str]:
    """Wires whose parts are measured before a checked case: its own, and in turn one that no case has."""
    others = [wire for wire in wires if wire not in {case.wire for case in checked}]
    return [checked[number].wire, *([others[number % len(others)]] if others else [])]


def place_of(case: Case) -> str:
    """Where its shards stand: within one process it makes no difference."""
    return "beside" if case.cluster == THREADS else "apart"


def simulated(case: Case, measured: Measured, game: str, overrides: Sequence[str] = ()) -> Outcome:
    """What would come of a case, with the placement that the run itself would have."""
    on_this_machine = case.cluster in (THREADS, PROCESSES)
    config = _config(case, game, tuple(overrides))
    plan = make_plan(config, None if on_this_machine else _machines(case.num_bundles + case.num_shards))
    placement = plan.placement
    if on_this_machine:
        # The costs are those of the machine that they were measured on, and so are its cores.
        placement = {role: replace(offer, num_cores=measured.num_cores) for role, offer in placement.items()}
    # On loopback the way of a byte costs nothing beyond the copying, which is charged to the cores.
    bytes_per_second = math.inf if on_this_machine else case.gigabits_per_second * 1e9 / 8
    cluster = Cluster(placement, case.cluster == THREADS, measured.full_speed, bytes_per_second)
    return simulate(
        cluster,
        measured.costs,
        config.param_server,
        Pace(config.topology.num_lanes, config.algorithm.steps_per_update),  # type: ignore[attr-defined]
        num_bundles=case.num_bundles,
        num_gradients=case.num_gradients,
        num_warmup_gradients=case.num_gradients // _WARMUP_SHARE,
    )


@cache
def _config(case: Case, game: str, overrides: tuple[str, ...]) -> RunConfig:
    here = replace(case, cluster=PROCESSES if case.cluster == MACHINES else case.cluster)
    no_limit = ["param_server.max_staleness=null"] if case.staleness_per_bundle == 0 else []
    limit = case.staleness_per_bundle * case.num_bundles
    own = no_limit or [f"param_server.max_staleness={limit}"]
    return compose([*case_words(here, place_of(case), game), *own, *overrides])


def _machines(count: int) -> list[Offer]:
    """So many machines with one core each, and memory enough."""
    return [Offer(f"host-{i}", f"machine-{i}", 1, 2**60, num_cores=1) for i in range(count)]


def _measure(game: str, wire: str, num_cores: int, seconds: float, overrides: Sequence[str]) -> Measured:
    """On host processes that have nothing else to do."""
    config = compose([*case_words(Case(CHECK, PROCESSES, 1, 1, wire), "beside", game), *overrides])
    with open_session(config.cluster, num_hosts=max(2, num_cores), threads_per_host=1) as session:
        return measure(session, config, num_cores, seconds, shares_memory=wire == MEMORY)


if __name__ == "__main__":
    main(beside_of(__doc__))
