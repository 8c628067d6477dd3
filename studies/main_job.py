"""What `make train` comes to on an ordinary processor, and what its settings are worth: `python -m studies.main_job`.

    make_train   `experiment=gorila_quick` on Breakout as it stands, minutes and all
    others       the same frames whatever the time, with one setting changed: which network, how long it explores

Each run is a command of its own, timed from its start to its table. `--ordinary` gives it no more of the processor than
AVX2 and float32; `--beside loop` keeps a core busy with a loop of Python, and `--beside other` says that something else
does. A row a run goes into results/main_job/runs.csv as
soon as it is there; runs that are there are not made again. Up to ten minutes each.
Not here: optimizers and step sizes (`studies.optimizer_sweep`), other agents (`studies.quick_agents`).
"""

import argparse
import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from measuring.markdown import commits_cell, markdown
from measuring.processor import KIND, ORDINARY, kind_here, kind_of, processor
from pipeline import api
from pipeline.results.formats import cell, interval_cell
from pipeline.results.run_scores import LAST, RANDOM, run_scores
from studies.row_file import RowFile

MAKE_TRAIN = "make_train"
_SAME_FRAMES = (
    "budget.minutes=null",
    "budget.frames=240_000",
    "network=dqn_2013",
    "optimizer.learning_rate=2.5e-4",
    "algorithm.n_step=1",
    "algorithm.outlier_min_error=0",
    "algorithm.exploration.decay_updates=null",
    "algorithm.exploration.decay_share=0.33",
)
CASES: dict[str, tuple[str, ...]] = {MAKE_TRAIN: ()} | {
    case: (*_SAME_FRAMES, *words)
    for case, words in {
        "dqn_2013": (),
        "nature": ("network=nature",),
        "dqn_2013, decay 0.2": ("algorithm.exploration.decay_share=0.2",),
        "dqn_2013, step size 5e-4": ("optimizer.learning_rate=5e-4",),
        "dqn_2013, 3-step": ("algorithm.n_step=3",),
    }.items()
}
_MARGIN = 3.0
"""Points between the intervals of agent and random player that `make train` is to have."""
NOTHING, LOOP, OTHER = BESIDE = ("nothing", "loop", "other")
"""What else the machine has to do meanwhile: nothing, a loop of Python that never ends, or whatever there is."""
_LOOP_OF_PYTHON = "while True: pass"


@dataclass(frozen=True)
class MainJobRow:
    """One run."""

    case: str
    seed: int
    processor: str
    """What of it was used: its instructions and the precision of learners."""
    beside: str
    """One of BESIDE."""
    frames: int
    """Emulator frames that were made."""
    updates: int
    """Of the server."""
    training_minutes: float
    minutes: float
    """From the command to its table."""
    evaluation_mean: float
    """Score under the experiment's final protocol."""
    evaluation_low: float
    """95 % interval over its games."""
    evaluation_high: float
    random_mean: float
    """Of a random player of the same protocol."""
    random_high: float
    run_commit: str
    """Of the code that trained; "+" if files differed from it."""


def main(arguments: list[str] | None = None) -> None:
    """Make the runs that are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=[MAKE_TRAIN], choices=list(CASES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--ordinary", action="store_true", help="AVX2 and float32, whatever the processor can do")
    parser.add_argument("--beside", default=NOTHING, choices=BESIDE, help="what else the machine has to do")
    parser.add_argument("--runs-dir", default="outputs/main_job", help="where the run folders go")
    parser.add_argument("--output", type=Path, default=Path("results/main_job"), help="where the rows go")
    parser.add_argument("--overrides", nargs="*", default=[], help="more settings of each run")
    chosen = parser.parse_args(arguments)
    some = api.compose(["experiment=gorila_quick", "game=Breakout", *chosen.overrides])
    found = processor(ordinary=chosen.ordinary, precision=some.precision)
    file = _row_file(chosen.output).made_with(chosen.overrides)
    for seed in chosen.seeds:
        for case in chosen.cases:
            if not file.has(case, seed, chosen.beside, *kind_here(found)):
                file.append(_run(chosen, case, seed, found))


def tables(folder: Path) -> dict[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    rows = _row_file(folder).frame()
    return {"make_train": make_train_table(rows), "settings": settings_table(rows)}


def make_train_table(rows: pd.DataFrame) -> str:
    """A line a run of `make train` as it stands; MainJobRows."""
    return markdown(
        {
            "processor": kind_of(row),
            "beside it": row["beside"],
            "seed": str(row["seed"]),
            "frames": cell(row["frames"], 0),
            "minutes of training": cell(row["training_minutes"], 1),
            "minutes to the table": cell(row["minutes"], 1),
            "score, 95 % interval": _score(row),
            "random play, upper end": cell(row["random_high"], 1),
            f"at least {_MARGIN:g} above": "yes" if row["evaluation_low"] >= row["random_high"] + _MARGIN else "no",
            "commit": commits_cell([row["run_commit"]]),
        }
        for row in _sorted(rows[rows["case"] == MAKE_TRAIN])
    )


def settings_table(rows: pd.DataFrame) -> str:
    """A line a run for the same frames; MainJobRows."""
    return markdown(
        {
            "settings": f"`{row['case']}`",
            "seed": str(row["seed"]),
            "processor": kind_of(row),
            "beside it": row["beside"],
            "frames": cell(row["frames"], 0),
            "updates": cell(row["updates"], 0),
            "score, 95 % interval": _score(row),
            "random play, upper end": cell(row["random_high"], 1),
            "commit": commits_cell([row["run_commit"]]),
        }
        for row in _sorted(rows[rows["case"] != MAKE_TRAIN])
    )


def _sorted(rows: pd.DataFrame) -> list[dict[Hashable, Any]]:
    return rows.sort_values(["case", "processor", "beside", "seed"], kind="stable").to_dict("records")


def _score(row: Mapping[Hashable, Any]) -> str:
    return interval_cell(row["evaluation_mean"], row["evaluation_low"], row["evaluation_high"], 1)


def _row_file(folder: Path) -> RowFile[MainJobRow]:
    return RowFile(folder / "runs.csv", MainJobRow, settings=("case", "seed", "beside", *KIND))


def _run(chosen: argparse.Namespace, case: str, seed: int, used: str) -> MainJobRow:
    folder = "_".join(re.findall(r"[\w.-]+", f"{case} {used} {chosen.beside}"))
    words = [
        "experiment=gorila_quick",
        "game=Breakout",
        f"seed={seed}",
        f"results_dir={chosen.runs_dir}/{folder}",
        "overwrite=true",
        *CASES[case],
        *(["precision=float32"] if chosen.ordinary else []),
        *chosen.overrides,
    ]
    environment = os.environ | (ORDINARY if chosen.ordinary else {})
    started = time.monotonic()
    with _loop() if chosen.beside == LOOP else contextlib.nullcontext():
        subprocess.run([sys.executable, "-m", "pipeline.train", *words], env=environment, check=True)
    minutes = (time.monotonic() - started) / 60
    config = api.compose(words)
    loaded = api.load_run(config.folder)
    reason = loaded.runs["end_reason"].iloc[0]
    if reason != "budget":
        raise SystemExit(f"{config.folder} ended by {reason}, not by its budget: its row is left out")
    scores = run_scores(loaded)
    ((agent,), (random,)) = (scores[scores["agent"] == player].to_dict("records") for player in (LAST, RANDOM))
    return MainJobRow(
        case=case,
        seed=seed,
        processor=used,
        beside=chosen.beside,
        frames=int(loaded.runs["total_frames"].iloc[0]),
        updates=int(loaded.updates["version"].max()),
        training_minutes=float(loaded.runs["wall_seconds"].iloc[0]) / 60,
        minutes=minutes,
        evaluation_mean=float(agent["score"]),
        evaluation_low=float(agent["low"]),
        evaluation_high=float(agent["high"]),
        random_mean=float(random["score"]),
        random_high=float(random["high"]),
        run_commit=str(loaded.runs["commit"].iloc[0]),
    )


@contextlib.contextmanager
def _loop() -> Iterator[None]:
    """A process that does nothing but compute, meanwhile."""
    loop = subprocess.Popen([sys.executable, "-c", _LOOP_OF_PYTHON])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


if __name__ == "__main__":
    main()
