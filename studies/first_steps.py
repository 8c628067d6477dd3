"""What the first updates of AdaGrad leave of a network: `python -m studies.first_steps`.

AdaGrad's first step moves each parameter by nearly the whole step size, whatever its gradient, unless the sums of
squares begin above zero. Runs of `experiment=gorila` that end after some 300 updates, two bundles in one process, from
a replay of 500 transitions; each with other first sums (`optimizer.initial_accumulator`). Then the network sees the
run's 128 held-out states: a filter or unit that answers the same to all of them, at every place, is off. A row a run,
and one of the network before its first update, go to `results/first_steps/rows.csv`; what is there is not run again.
Some 20 s a run on two cores.
Not here: what such runs come to score (`studies.first_sums`).
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch

from measuring.markdown import commits_cell, markdown
from pipeline import api
from pipeline.roles.heldout import heldout_states
from studies.arguments import parsed
from studies.row_file import RowFile
from studies.trained_runs import train_or_load

GAMES = ("Pong", "Breakout", "Seaquest", "BeamRider", "Enduro")
SEEDS = (0, 1)
ACCUMULATORS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3)
OUTPUT = Path("results/first_steps")
WORDS = (
    "experiment=gorila",
    "algorithm.outlier_min_error=0",
    "replay.capacity=20_000",
    "replay.min_transitions=500",
    "training_evaluation.every_frames=null",
    "evaluation=smoke",
    "budget.frames=8_000",
    "progress=none",
)
_SAME = 1e-6
"""Answers of a unit that differ by less are one."""
LAYERS = ("first_convolution", "second_convolution", "third_convolution", "hidden_layer")


@dataclass(frozen=True)
class FirstStepsRow:
    """One network."""

    game: str
    seed: int
    initial_accumulator: float
    updates: int
    """0: before the first one."""
    first_convolution: float
    """Share of its filters that are on."""
    second_convolution: float
    third_convolution: float
    hidden_layer: float
    """Share of its units that are on."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing."""
    chosen = parsed(__doc__, arguments, games=GAMES, output=OUTPUT)
    file = row_file(chosen.output).made_with(chosen.words)
    for game in chosen.games:
        for seed in SEEDS:
            for accumulator in ACCUMULATORS:
                if not file.has(game, seed, accumulator):
                    file.append(*_rows(game, seed, accumulator, chosen.words))


def row_file(folder: Path) -> RowFile[FirstStepsRow]:
    """What is in `folder`."""
    return RowFile(folder / "rows.csv", FirstStepsRow, ("game", "seed", "initial_accumulator"))


def shares_on(module: torch.nn.Module, frames: torch.Tensor) -> list[float]:
    """Of each layer that is rectified the share of its filters or units that are on; frames (B, C, H, W), uint8."""
    found: list[float] = []

    def look(_: torch.nn.Module, __: object, answers: torch.Tensor) -> None:
        # A filter answers at each place of each state; a unit once a state.
        of_each = answers.transpose(0, 1).flatten(1)
        lowest, highest = of_each.aminmax(dim=1)
        found.append(float((highest - lowest > _SAME).float().mean()))

    rectifiers = [layer for layer in module.modules() if isinstance(layer, torch.nn.ReLU)]
    hooks = [layer.register_forward_hook(look) for layer in rectifiers]
    with torch.no_grad():
        module(frames)
    for hook in hooks:
        hook.remove()
    return found


def tables(folder: Path) -> dict[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    rows = row_file(folder).frame()
    return {"first_steps": first_steps_table(rows) if len(rows) else "Not measured yet."}


def first_steps_table(rows: pd.DataFrame) -> str:
    """A line for networks before their first update, one for each accumulator: mean (lowest); FirstStepsRows."""
    begun = rows[rows["updates"] == 0].drop_duplicates(["game", "seed"])
    learned = rows[rows["updates"] > 0].groupby("initial_accumulator")
    groups = [("before the first update", begun), *((f"{sums:g}", of_sums) for sums, of_sums in learned)]
    return markdown(
        {"first sums of squares": name, "networks": str(len(group))}
        | {layer.replace("_", " "): f"{group[layer].mean():.0%} ({group[layer].min():.0%})" for layer in LAYERS}
        | {"commit": commits_cell(group["commit"])}
        for name, group in groups
    )


def _rows(game: str, seed: int, accumulator: float, words: Sequence[str]) -> list[FirstStepsRow]:
    with tempfile.TemporaryDirectory() as folder:
        about = [f"game={game}", f"seed={seed}", f"optimizer.initial_accumulator={accumulator}"]
        config = api.compose([*WORDS, *about, f"results_dir={folder}", *words])
        run = train_or_load(config).runs["folder"].item()
        policies = [api.load_policy(run, checkpoint=which) for which in (0, "newest")]
        states = heldout_states(game, config.environment, seed)
        rows = []
        for policy in policies:
            on = shares_on(policy.as_module(), policy.frames(states))
            rows.append(FirstStepsRow(game, seed, accumulator, policy.version, *on))
        return rows


if __name__ == "__main__":
    main()
