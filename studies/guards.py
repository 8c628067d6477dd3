"""What Gorila's two guards are worth: the same injected faults with guards on and off, `python -m studies.guards`.

A small problem, so that five seeds of eight cases take a minute or two: four simulated learners in one thread regress a
student network to a fixed random teacher, through the real parameter shards, client, optimizer and loss-outlier rule,
with Gorila's plain squared error. Faults are drawn per gradient, alike for guards on and off:

    delayed     sent only after `_DELAY` further updates, as by a machine that was overloaded
    outlying    its minibatch's targets were multiplied by `_OUTLIER`, as by an emulator gone wrong

Judged by the area under the curve of the held-out loss over the server's updates: its mean, the smaller the better.
With guards on, all their settings are those of `experiment=gorila`. A row per case and seed goes to
results/guards/guards.csv, and what is there is not made again; a table of means with their intervals over the seeds is
printed.
Not here: the guards in real training (`updates.csv` of any run counts what they dropped).
"""

import dataclasses
from collections import deque
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from measuring.markdown import markdown
from pipeline import seeding
from pipeline.algorithms.config import QLearningConfig
from pipeline.algorithms.outliers import LossOutlierRule
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.param_server.client import ParamClient
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import first_snapshot, split_snapshot
from pipeline.results.formats import cell, interval_cell
from pipeline.results.scores import seed_interval
from pipeline.types import Float32Array
from studies.row_file import RowFile

OUTPUT = Path("results/guards")
SEEDS = range(5)
FAULTS = ("none", "delayed", "outlying", "both")
_NUM_INPUTS, _NUM_HIDDEN = 8, 32
_NUM_PARAMS = _NUM_INPUTS * _NUM_HIDDEN + 2 * _NUM_HIDDEN + 1
_NUM_LEARNERS = 4
_BATCH_SIZE = 32
_DELAYED_SHARE, _DELAY = 0.5, 300
_OUTLYING_SHARE, _OUTLIER = 0.01, 100.0
_NUM_UPDATES, _UPDATES_PER_LOOK = 3_000, 10


@dataclasses.dataclass(frozen=True)
class GuardsRow:
    """One case with one seed."""

    faults: str
    guards: bool
    seed: int
    area_under_curve: float
    """Mean held-out loss over the updates, looked at every ten."""
    final_loss: float
    """Mean of the last ten looks."""
    num_dropped_stale: int
    num_dropped_outlier: int
    num_updates: int


class _Late(NamedTuple):
    due: int
    """Server version at which it is sent."""
    gradient: Float32Array
    versions: tuple[int, ...]


class _Student:
    """A learner's parameters and its outlier rule."""

    def __init__(self, client: ParamClient, outliers: LossOutlierRule) -> None:
        self.flat = torch.zeros(_NUM_PARAMS, requires_grad=True)
        self.client = client
        self.outliers = outliers
        self.late: deque[_Late] = deque()
        self.versions: tuple[int, ...] = ()

    def load_slice(self, start: int, values: Float32Array) -> None:
        """Copy one slice."""
        with torch.no_grad():
            self.flat[start : start + len(values)] = torch.from_numpy(values)

    def refresh(self) -> None:
        """Take over the newest parameters."""
        self.versions = self.client.pull(self, self.versions)


def main(num_updates: int = _NUM_UPDATES, output: Path = OUTPUT) -> None:
    """Run the cases that have no row yet, print the table."""
    config = compose(["experiment=gorila", "game=Pong", "optimizer.learning_rate=0.02"])
    rows = guards_rows(output).made_with([f"num_updates={num_updates}"] if num_updates != _NUM_UPDATES else [])
    for faults, guards, seed in product(FAULTS, (True, False), SEEDS):
        if not rows.has(faults, guards, seed):
            rows.append(train(config, faults, guards, seed, num_updates))
    print(guards_table(rows.frame()))


def guards_rows(folder: Path) -> RowFile[GuardsRow]:
    """What is in `folder`."""
    return RowFile(folder / "guards.csv", GuardsRow, ("faults", "guards", "seed"))


def train(config: RunConfig, faults: str, guards: bool, seed: int, num_updates: int) -> GuardsRow:
    """Learn with these faults until the server has made `num_updates` updates."""
    server = dataclasses.replace(
        config.param_server, max_staleness=config.param_server.max_staleness if guards else None
    )
    layout = ParamLayout(_NUM_PARAMS, server.num_shards)
    start = _random_network(seeding.stream(seed, "student"))
    slices = split_snapshot(first_snapshot(start), layout)
    shards = [DirectShard(ParameterShard(part, config.optimizer, server, generation=1)) for part in slices]
    assert isinstance(config.algorithm, QLearningConfig)
    rule = config.algorithm
    deviations = rule.outlier_deviations if guards else None
    students = [
        _Student(
            ParamClient(shards, layout, f"learner-{i}", 1, server),
            LossOutlierRule(deviations, rule.outlier_decay, rule.outlier_min_error),
        )
        for i in range(_NUM_LEARNERS)
    ]
    teacher = torch.from_numpy(_random_network(seeding.stream(seed, "teacher")))
    rng, faulty = seeding.stream(seed, "minibatches"), seeding.stream(seed, "faults")
    heldout = _inputs(seeding.stream(seed, "heldout"), 1_000)
    wanted = _outputs(teacher, heldout)
    losses: list[float] = []
    num_stale = num_outliers = version = 0
    while version < num_updates:
        for student in students:
            student.refresh()
            version = min(student.versions)
            if version >= len(losses) * _UPDATES_PER_LOOK:
                losses.append(_loss(student.flat.detach(), heldout, wanted).item())
            # Drawn whatever the case, so that all cases meet the same minibatches.
            is_delayed, is_outlying = faulty.random(2) < (_DELAYED_SHARE, _OUTLYING_SHARE)
            inputs = _inputs(rng, _BATCH_SIZE)
            targets = _outputs(teacher, inputs) * (_OUTLIER if is_outlying and faults in ("outlying", "both") else 1.0)
            loss = _loss(student.flat, inputs, targets)
            largest = (targets - _outputs(student.flat.detach(), inputs)).abs().max()
            if not student.outliers.admit(loss.item(), largest.item):
                num_outliers += 1
                continue
            (gradient,) = torch.autograd.grad(loss, student.flat)
            due = version + (_DELAY if is_delayed and faults in ("delayed", "both") else 0)
            student.late.append(_Late(due, gradient.numpy(), student.versions))
            ready = [late for late in student.late if late.due <= version]
            student.late = deque(late for late in student.late if late.due > version)
            for late in ready:
                receipts = student.client.push(late.gradient, late.versions)
                num_stale += any(receipt.reason == "stale" for receipt in receipts)
    return GuardsRow(
        faults, guards, seed, float(np.mean(losses)), float(np.mean(losses[-10:])), num_stale, num_outliers, version
    )


def tables(folder: Path) -> dict[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    return {"guards": guards_table(guards_rows(folder).frame())}


def guards_table(rows: pd.DataFrame) -> str:
    """Means over seeds, a line for each case, and what it is worth with the same seed to have no guards; GuardsRows."""
    areas = {key: group.set_index("seed")["area_under_curve"] for key, group in rows.groupby(["faults", "guards"])}
    lines = []
    for (faults, guards), group in rows.groupby(["faults", "guards"], sort=False):
        more = None if guards else areas[faults, False] - areas[faults, True]
        lines.append(
            {
                "faults": str(faults),
                "guards": "on" if guards else "off",
                "area under the curve, 95 % interval": _over_seeds(group["area_under_curve"]),
                "more than with guards, seed by seed": "" if more is None else _over_seeds(more),
                "final loss": cell(group["final_loss"].mean(), 4),
                "stale, dropped": cell(group["num_dropped_stale"].mean(), 0),
                "outliers, dropped": cell(group["num_dropped_outlier"].mean(), 0),
            }
        )
    return markdown(lines)


def _over_seeds(values: pd.Series) -> str:
    return interval_cell(values.mean(), *seed_interval(values), 4)


def _random_network(rng: np.random.Generator) -> Float32Array:
    hidden = rng.standard_normal((_NUM_INPUTS, _NUM_HIDDEN)) / np.sqrt(_NUM_INPUTS)
    output = rng.standard_normal(_NUM_HIDDEN) / np.sqrt(_NUM_HIDDEN)
    return np.concatenate([hidden.ravel(), np.zeros(_NUM_HIDDEN), output, np.zeros(1)]).astype(np.float32)


def _inputs(rng: np.random.Generator, count: int) -> Tensor:
    return torch.from_numpy(rng.standard_normal((count, _NUM_INPUTS)).astype(np.float32))


def _outputs(flat: Tensor, inputs: Tensor) -> Tensor:
    weight, bias, out, out_bias = flat.split([_NUM_INPUTS * _NUM_HIDDEN, _NUM_HIDDEN, _NUM_HIDDEN, 1])
    outputs: Tensor = torch.relu(inputs @ weight.view(_NUM_INPUTS, _NUM_HIDDEN) + bias) @ out + out_bias
    return outputs


def _loss(flat: Tensor, inputs: Tensor, targets: Tensor) -> Tensor:
    return 0.5 * (targets - _outputs(flat, inputs)).square().mean()


if __name__ == "__main__":
    main()
