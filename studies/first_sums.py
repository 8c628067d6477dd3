"""What AdaGrad comes to score from other first sums of squares: `python -m studies.first_sums`.

`studies.first_steps` shows what its first updates leave of a network; this trains on. `experiment=gorila_quick` with
`optimizer=adagrad`, 480,000 frames whatever the minutes, for each of `optimizer.initial_accumulator`; then 30 games
under no-op starts by the last parameters. A row a run goes to `results/first_steps/scores.csv`; what is there is not
run again. Some ten minutes a run on two ordinary cores.
Not here: step sizes, other optimizers (`studies.optimizer_sweep`).
"""

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pandas as pd

from measuring.markdown import commits_cell, markdown
from pipeline import api
from pipeline.config.run_config import RunConfig
from pipeline.results.formats import cell
from studies.arguments import parsed
from studies.first_steps import OUTPUT
from studies.row_file import RowFile
from studies.trained_runs import TrainedRow, diverged_row, train_until_it_diverges, trained_row

ACCUMULATORS = (0.0, 1e-5, 1e-3)
SEEDS = (0, 1, 2)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what is missing; all first sums of a seed before the next seed."""
    chosen = parsed(__doc__, arguments, games=("Breakout",), output=OUTPUT, runs_dir="outputs/first_sums")
    for game, seed, sums in product(chosen.games, SEEDS, ACCUMULATORS):
        config = _config(game, seed, sums, chosen.runs_dir, chosen.words)
        file = row_file(chosen.output).made_with(chosen.words, config.precision)
        if not file.has(game, f"{sums:g}", seed):
            loaded, has_diverged = train_until_it_diverges(config)
            file.append((diverged_row if has_diverged else trained_row)(loaded, f"{sums:g}", config))


def row_file(folder: Path) -> RowFile[TrainedRow]:
    """What is in `folder`; the case of a row is its first sums."""
    return RowFile(folder / "scores.csv", TrainedRow, ("game", "case", "seed"), one_processor_within=())


def tables(folder: Path) -> dict[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    rows = row_file(folder).frame()
    return {"first_sums": first_sums_table(rows) if len(rows) else "Not measured yet."}


def first_sums_table(rows: pd.DataFrame) -> str:
    """A line for each game and first sums, with the scores of all seeds; TrainedRows."""
    by_sums = sorted(rows.sort_values("seed").groupby(["game", "case"]), key=lambda group: float(str(group[0][1])))
    return markdown(
        {
            "game": str(game),
            "first sums of squares": str(sums),
            "seeds": ", ".join(str(seed) for seed in group["seed"]),
            "score of each": _cells(group["evaluation_mean"]),
            "mean": cell(group["evaluation_mean"].mean(skipna=False), 1),
            "last 100 training games of each": _cells(group["training_mean"]),
            "commit": commits_cell(group["run_commit"]),
        }
        for (game, sums), group in by_sums
    )


def _cells(scores: pd.Series) -> str:
    return ", ".join("diverged" if math.isnan(score) else cell(score, 1) for score in scores)


def _config(game: str, seed: int, sums: float, runs_dir: str, words: Sequence[str]) -> RunConfig:
    return api.compose(
        [
            *("experiment=gorila_quick", "algorithm.outlier_min_error=0"),
            *("optimizer=adagrad", f"optimizer.initial_accumulator={sums}"),
            # The step size and epsilon of the quick experiment are Adam's.
            *("optimizer.learning_rate=0.01", "optimizer.epsilon=1e-6"),
            *(f"game={game}", f"seed={seed}", "budget.minutes=null", "training_evaluation.every_frames=null"),
            *(f"results_dir={runs_dir}/{sums:g}", "resume=true", *words),
        ]
    )


if __name__ == "__main__":
    main()
