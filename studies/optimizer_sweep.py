"""Which optimizer and step size learn fastest in minutes: `python -m studies.optimizer_sweep`.

Neither paper gives AdaGrad's step size, so the defaults in `conf/optimizer/` come from this: each setting trains one
experiment on a game that moves early, for the same frames and seed, and plays the final evaluation. One row a setting
goes into `results/optimizer_sweep/<game>.csv` as soon as it is there; settings that have a row are not run again.
A run that diverges has a row that says so.
Not here: a sweep over games and seeds (Hydra's -m does that).
"""

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from measuring.markdown import commits_cell, markdown
from pipeline import api
from pipeline.config.run_config import RunConfig
from pipeline.results.formats import cell, interval_cell
from pipeline.results.scores import MeanInterval, mean_interval
from studies.row_file import RowFile
from studies.trained_runs import FIRST_GORILA_QUICK, train_until_it_diverges, training_mean

SETTINGS = (
    ("adam", 1e-4, 1.5e-4),
    ("adam", 2.5e-4, 1.5e-4),
    ("adam", 2.5e-4, 1e-8),
    ("rmsprop", 2.5e-4, 0.01 / 32**2),
    ("adagrad", 1e-2, 1e-6),
    ("adagrad", 3e-3, 1e-6),
    ("adagrad", 2e-2, 1e-6),
)
"""Optimizer, step size, and what is added to the root (RMSProp: inside it)."""
_LAST_EPISODES = 50


@dataclass(frozen=True)
class SweepRow:
    """What one setting came to."""

    optimizer: str
    learning_rate: float
    epsilon: float
    experiment: str
    game: str
    seed: int
    end: str
    """Why the run ended: "budget", or "diverged"; then nothing was played."""
    frames: int
    """Emulator frames of training."""
    updates: int
    """Of the server."""
    evaluation_mean: float
    """Score under the experiment's final protocol."""
    evaluation_low: float
    """95 % interval over its episodes."""
    evaluation_high: float
    evaluation_episodes: int
    training_mean: float
    """Score of the last 50 training episodes, at the exploration rate of training."""
    heldout_max_q: float
    """At the end, in clipped reward."""
    wall_seconds: float
    run_commit: str
    """Of the code that trained; "+" if files differed from it."""


def main(arguments: list[str] | None = None) -> None:
    """Run what is missing of the sweep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiment", default="gorila_quick")
    parser.add_argument("--game", default="Breakout")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs-dir", default="outputs/optimizer_sweep", help="where the run folders go")
    parser.add_argument("--output", type=Path, default=Path("results/optimizer_sweep"), help="where the rows go")
    parser.add_argument("--overrides", nargs="*", default=[], help="more settings of each run")
    chosen = parser.parse_args(arguments)
    for setting in SETTINGS:
        config = _config(chosen, *setting)
        file = _row_file(chosen.output, chosen.game).made_with(chosen.overrides, config.precision)
        if not file.has(*setting, chosen.experiment, chosen.seed):
            file.append(_train(chosen, config, *setting))


def tables(folder: Path) -> dict[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    return {"breakout": sweep_table(_row_file(folder, "Breakout").frame())}


def sweep_table(rows: pd.DataFrame) -> str:
    """A line a setting, the best first; SweepRows."""
    return markdown(
        {
            "experiment": f"`{row['experiment']}`",
            "seed": str(row["seed"]),
            "optimizer": f"`{row['optimizer']}`",
            "step size": f"{row['learning_rate']:g}",
            "epsilon": f"{row['epsilon']:.2g}",
            "score, 95 % interval": interval_cell(
                row["evaluation_mean"], row["evaluation_low"], row["evaluation_high"], 1
            ),
            "games": str(row["evaluation_episodes"]),
            "last 50 training games": cell(row["training_mean"], 1),
            "end": row["end"],
            "updates": cell(row["updates"], 0),
            "commit": commits_cell([row["run_commit"]]),
        }
        for row in rows.sort_values("evaluation_mean", ascending=False, kind="stable").to_dict("records")
    )


def _row_file(folder: Path, game: str) -> RowFile[SweepRow]:
    settings = ("optimizer", "learning_rate", "epsilon", "experiment", "seed")
    return RowFile(folder / f"{game}.csv", SweepRow, settings, one_processor_within=())


def _config(chosen: argparse.Namespace, optimizer: str, learning_rate: float, epsilon: float) -> RunConfig:
    return api.compose(
        [
            f"experiment={chosen.experiment}",
            f"game={chosen.game}",
            f"seed={chosen.seed}",
            f"optimizer={optimizer}",
            f"optimizer.learning_rate={learning_rate}",
            f"optimizer.epsilon={epsilon}",
            # All settings get the same frames, however slow the machine is.
            "budget.minutes=null",
            *FIRST_GORILA_QUICK,
            f"results_dir={chosen.runs_dir}/{optimizer}-{learning_rate:g}-{epsilon:g}",
            "overwrite=true",
            *chosen.overrides,
        ]
    )


def _train(
    chosen: argparse.Namespace, config: RunConfig, optimizer: str, learning_rate: float, epsilon: float
) -> SweepRow:
    loaded, has_diverged = train_until_it_diverges(config)
    played = loaded.evaluations[loaded.evaluations["agent"] == "checkpoint"]
    score = MeanInterval(math.nan, math.nan, math.nan, 0) if played.empty else mean_interval(played["score"])
    return SweepRow(
        optimizer=optimizer,
        learning_rate=learning_rate,
        epsilon=epsilon,
        experiment=chosen.experiment,
        game=chosen.game,
        seed=chosen.seed,
        end="diverged" if has_diverged else "budget",
        frames=int(loaded.updates["total_frames"].max()),
        updates=int(loaded.updates["version"].max()),
        evaluation_mean=score.mean,
        evaluation_low=score.low,
        evaluation_high=score.high,
        evaluation_episodes=score.num_episodes,
        training_mean=training_mean(loaded, _LAST_EPISODES),
        heldout_max_q=float(loaded.updates["heldout_max_q"].iloc[-1]),
        wall_seconds=float(loaded.runs["wall_seconds"].iloc[0]),
        run_commit=str(loaded.runs["commit"].iloc[0]),
    )


if __name__ == "__main__":
    main()
