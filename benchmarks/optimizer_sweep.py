"""Which optimizer and step size learn fastest in minutes: `python -m benchmarks.optimizer_sweep`.

Neither paper gives AdaGrad's step size, so the defaults in `conf/optimizer/` come from this: each setting trains one
experiment on a game that moves early, for the same frames and seed, and plays the final evaluation. One row a setting
goes into `results/optimizer_sweep/<game>.csv` as soon as it is there; settings that have a row are not run again.
Not here: a sweep over games and seeds (Hydra's -m does that).
"""

import argparse
import csv
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from pipeline import api
from pipeline.results.scores import mean_interval

OUTPUT = Path("results/optimizer_sweep")
SETTINGS = (
    ("adagrad", 3e-3),
    ("adagrad", 1e-2),
    ("adagrad", 2e-2),
    ("rmsprop", 2.5e-4),
    ("adam", 1e-4),
    ("adam", 2.5e-4),
)
_LAST_EPISODES = 50


@dataclasses.dataclass(frozen=True)
class SweepRow:
    """What one setting came to."""

    optimizer: str
    learning_rate: float
    experiment: str
    game: str
    seed: int
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
    commit: str
    """Its first 8 digits; "+" if files differed from it."""


def main() -> None:
    """Run what is missing of the sweep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiment", default="gorila_quick")
    parser.add_argument("--game", default="Breakout")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs-dir", default="results/optimizer_sweep_runs", help="where the run folders go")
    arguments = parser.parse_args()
    path = OUTPUT / f"{arguments.game}.csv"
    done = set(_done(path))
    for optimizer, learning_rate in SETTINGS:
        if (optimizer, learning_rate, arguments.seed) not in done:
            row = _run(arguments, optimizer, learning_rate)
            _append(path, row)
            print(row)


def _run(arguments: argparse.Namespace, optimizer: str, learning_rate: float) -> SweepRow:
    config = api.compose(
        [
            f"experiment={arguments.experiment}",
            f"game={arguments.game}",
            f"seed={arguments.seed}",
            f"optimizer={optimizer}",
            f"optimizer.learning_rate={learning_rate}",
            f"results_dir={arguments.runs_dir}/{optimizer}-{learning_rate:g}",
            "overwrite=true",
        ]
    )
    result = api.train(config)
    assert result.folder is not None
    loaded = api.load_run(result.folder)
    played = loaded.evaluations[loaded.evaluations["agent"] == "checkpoint"]
    score = mean_interval(played["score"])
    return SweepRow(
        optimizer=optimizer,
        learning_rate=learning_rate,
        experiment=arguments.experiment,
        game=arguments.game,
        seed=arguments.seed,
        frames=int(played["total_frames"].iloc[0]),
        updates=int(played["version"].iloc[0]),
        evaluation_mean=score.mean,
        evaluation_low=score.low,
        evaluation_high=score.high,
        evaluation_episodes=score.num_episodes,
        training_mean=float(loaded.episodes["score"].tail(_LAST_EPISODES).mean()),
        heldout_max_q=float(loaded.updates["heldout_max_q"].iloc[-1]),
        wall_seconds=float(loaded.runs["wall_seconds"].iloc[0]),
        commit=_short(str(loaded.runs["commit"].iloc[0])),
    )


def _short(commit: str) -> str:
    return commit[:8] + ("+" if commit.endswith("+") else "")


def _done(path: Path) -> Iterator[tuple[str, float, int]]:
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                yield row["optimizer"], float(row["learning_rate"]), int(row["seed"])


def _append(path: Path, row: SweepRow) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(field.name for field in dataclasses.fields(row))
        writer.writerow(dataclasses.astuple(row))


if __name__ == "__main__":
    main()
