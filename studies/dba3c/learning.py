"""What `dba3c_quick` learns with other networks, workers and optimizers: `python -m studies.dba3c.learning`.

Real runs of the cases of `studies.dba3c.learning_cases`, on a game that moves early; with 320 steps an update it had
hardly moved after 400,000 steps, so most updates are small here. Scores are means of the last 100 training games, in
which actions are drawn from the policy, and of the final evaluation. A row a run goes into results/dba3c/learning.csv,
its curve into learning_curves.csv; runs that are there are not made again, one that diverged neither: its row says so
and has no score. Figures of what is there are drawn into docs/figures/dba3c_*.png, those of another game or budget
beside them under names of their own; those of another --output, or of runs with --overrides, need a --figures of their
own. The speeds of the authors' networks in them are those of `studies.dba3c.scaling` and, with as many workers as the
authors had, of `.simulation`.

18 cases x 3 seeds take eleven hours on two cores. Less with --frames, --seeds or --cases.
Not here: how fast a system is without what it learns (`studies.dba3c.scaling`), the tables of these rows
(`studies.dba3c.learning_tables`).
"""

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from measuring.worker_speed import batch_size, num_parameters
from pipeline import api
from pipeline.config.run_config import RunConfig
from pipeline.errors import PipelineError
from pipeline.networks.config import LayeredConfig
from pipeline.optimizers.config import AdamConfig
from pipeline.results.style import save_figure
from pipeline.topologies.kinds.workers import WorkersConfig
from studies.arguments import FIGURES, refuse_published_figures
from studies.dba3c.figures import (
    MANY_WORKERS_SUFFIX,
    adam_figure,
    hidden_layer_figure,
    models_figure,
    settings_figure,
    sync_figure,
    workers_figure,
)
from studies.dba3c.learning_cases import (
    ADAM_CASES,
    CASES,
    FRAMES,
    GAME,
    LARGE_MODEL_CASES,
    MODEL_CASES,
    SETTINGS_CASES,
    SYNC_CASES,
    WORKER_CASES,
    alike,
    hidden_layer_cases,
    num_frames,
)
from studies.dba3c.scaling import scaling_rows
from studies.dba3c.settings import OUTPUT, RENAMED
from studies.dba3c.simulation import simulation_rows
from studies.dba3c.simulation_grid import WORKERS
from studies.row_file import RowFile, RowsRefused, WordsRefused
from studies.trained_runs import (
    CurveRow,
    CurvesFile,
    TrainedRow,
    curve_rows,
    diverged_row,
    train_until_it_diverges,
    trained_row,
)

_AUTHORS_WORKERS = 64


@dataclass(frozen=True)
class LearningRow(TrainedRow):
    """One run, and what it was made of."""

    network: str
    """Its torso and the units of its hidden layer."""
    num_parameters: int
    num_workers: int
    sync: bool
    beta1: float
    beta2: float
    largest_learning_rate: float
    batch_size: int
    """Steps of one gradient."""
    data_points_per_second: float
    """Agent steps that became part of an update, over the whole run."""
    active_filters: float
    """Share of the first convolution's that still learned at the end, 0 to 1."""
    end_reason: str
    """"budget" or "diverged"."""


def main(arguments: list[str] | None = None) -> None:
    """Make the runs that are missing, then draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default=GAME)
    parser.add_argument("--frames", type=int, default=FRAMES, help="emulator frames of each run; four are a step")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--runs-dir", default="outputs/dba3c_learning", help="where the run folders go")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where the rows go")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="where the figures go")
    parser.add_argument("--overrides", nargs="*", default=[], help="more settings of each run")
    chosen = parser.parse_args(arguments)
    other = bool(chosen.overrides)
    refuse_published_figures("--figures", chosen.figures, chosen.output, OUTPUT, overrides=other)
    failed = []
    # Seed after seed, so that all cases have one before one of them has three.
    for seed, case in product(chosen.seeds, chosen.cases):
        config = _config(chosen, case, seed)
        runs = learning_rows(chosen.output).made_with(chosen.overrides, config.precision)
        curves = learning_curves(chosen.output).made_with(chosen.overrides, config.precision)
        try:
            if runs.has(case, seed, chosen.game, num_frames(case, chosen.frames)):
                continue
            curves.check_addable()
            row, points = _train(config, case)
        except RowsRefused as refused:
            failed.append(f"{case}, seed {seed}, and all others that are missing: {refused}")
            if isinstance(refused, WordsRefused):  # what is there is not drawn as what was asked for
                raise _without(failed) from refused
            break
        except PipelineError as error:
            # The other cases are not to wait for it, and the same command tries it again.
            failed.append(f"{case}, seed {seed}: {error}")
            continue
        curves.put(*points)
        runs.append(row)
    speeds = Speeds(scaling_rows(chosen.output).frame(), simulation_rows(chosen.output).frame())
    place = chosen.game, chosen.frames
    made, drawn = (alike(there(chosen.output).frame(), *place) for there in (learning_rows, learning_curves))
    # Figures of another game or budget do not take the place of those that the tables stand beside.
    own = "" if place == (GAME, FRAMES) else f"_{chosen.game.lower()}_{chosen.frames}"
    draw(made, drawn, speeds, chosen.figures, own)
    if failed:
        raise _without(failed)


def _without(failed: Sequence[str]) -> SystemExit:
    return SystemExit("\n".join(["without a row:", *failed]))


def learning_rows(folder: Path) -> RowFile[LearningRow]:
    """The runs that are in `folder`."""
    settings = ("case", "seed", "game", "frames")
    return RowFile(folder / "learning.csv", LearningRow, settings, RENAMED, one_processor_within=())


def learning_curves(folder: Path) -> CurvesFile:
    """Their curves."""
    return CurvesFile(folder / "learning_curves.csv", RENAMED)


class Speeds(NamedTuple):
    """Of the authors' networks, from other benchmarks."""

    rounds: pd.DataFrame
    """ScalingRows."""
    simulated: pd.DataFrame
    """SimulationRows."""

    @property
    def many_workers(self) -> pd.DataFrame:
        """As many workers and servers as the authors had, each worker with gradients as long as theirs."""
        rows = self.simulated
        networks = [case + MANY_WORKERS_SUFFIX for case in MODEL_CASES]
        chosen = (rows["study"] == WORKERS) & (rows["num_workers"] == _AUTHORS_WORKERS) & rows["network"].isin(networks)
        many: pd.DataFrame = rows[chosen]
        return many

    @property
    def complete(self) -> bool:
        """Whether both networks have been measured and simulated."""
        num_simulated = self.many_workers["network"].nunique()
        return set(MODEL_CASES) <= set(self.rounds["network"]) and num_simulated == len(MODEL_CASES)


def draw(runs: pd.DataFrame, curves: pd.DataFrame, speeds: Speeds, folder: Path, own: str = "") -> None:
    """The figures whose cases are all there; that of the models when its speeds are, too. `own` ends their names."""
    figures: dict[str, tuple[tuple[str, ...], Callable[[], Figure]]] = {
        "dba3c_settings": (SETTINGS_CASES, lambda: settings_figure(runs)),
        "dba3c_workers": (WORKER_CASES, lambda: workers_figure(curves, runs)),
        "dba3c_sync": (SYNC_CASES, lambda: sync_figure(curves, runs)),
        "dba3c_adam": (ADAM_CASES, lambda: adam_figure(curves, runs)),
        "dba3c_hidden_layer": (hidden_layer_cases(), lambda: hidden_layer_figure(runs)),
    }
    if speeds.complete:
        models = partial(models_figure, speeds.rounds, speeds.many_workers, runs)
        figures["dba3c_models"] = ((*MODEL_CASES, *LARGE_MODEL_CASES), models)
    for name, (cases, figure) in figures.items():
        if set(cases) <= set(runs["case"]):
            save_figure(figure(), folder / f"{name}{own}.png")


def _config(chosen: argparse.Namespace, case: str, seed: int) -> RunConfig:
    frames = num_frames(case, chosen.frames)
    return api.compose(
        [
            "experiment=dba3c_quick",
            f"game={chosen.game}",
            f"seed={seed}",
            f"budget.frames={frames}",
            f"results_dir={chosen.runs_dir}/{case}_{frames}",
            "resume=true",
            *CASES[case].settings,
            *chosen.overrides,
        ]
    )


def _train(config: RunConfig, case: str) -> tuple[LearningRow, list[CurveRow]]:
    loaded, has_diverged = train_until_it_diverges(config)
    trained = (diverged_row if has_diverged else trained_row)(loaded, case, config)
    topology, optimizer, network = config.topology, config.optimizer, config.network
    assert isinstance(topology, WorkersConfig) and isinstance(optimizer, AdamConfig)
    assert isinstance(network, LayeredConfig)
    updates = loaded.actor_critic_updates
    num_admitted = int(updates["num_admitted"].sum())
    row = LearningRow(
        **dataclasses.asdict(trained),
        network=f"{network.torso} {network.hidden_units}",
        num_parameters=num_parameters(config),
        num_workers=topology.num_workers,
        sync=topology.sync,
        beta1=optimizer.beta1,
        beta2=optimizer.beta2,
        largest_learning_rate=max(optimizer.learning_rate, *(rate for _, rate in optimizer.learning_rate_changes)),
        batch_size=batch_size(config),
        data_points_per_second=num_admitted * batch_size(config) / trained.wall_seconds,
        active_filters=float(updates.sort_values("version")["active_filters"].iloc[-1]),
        end_reason="diverged" if has_diverged else "budget",
    )
    return row, curve_rows(loaded, trained, config)


if __name__ == "__main__":
    main()
