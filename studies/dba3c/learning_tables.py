"""Tables of what `dba3c_quick` learned, from LearningRows, CurveRows and simulated seconds.

A cell of several seeds has them in order, 0 first. Not here: figures (`studies.dba3c.figures`).
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from measuring.markdown import commits_cell, listed, markdown
from pipeline.results.formats import cell, interval_cell
from studies.dba3c.figures import times_to_goal
from studies.dba3c.learning_cases import ADAM_CASES, CASES, HIDDEN_LAYER_CASES, SYNC_CASES
from studies.dba3c.simulation_grid import WORKERS

NOT_MADE, DIVERGED = "not made", "diverged"
_STEPS_PER_FRAME = 1 / 4
"""Of the games of `dba3c_quick`."""


def cases_table(runs: pd.DataFrame) -> str:
    """A line a case: what it differs in, and the final score with each seed; LearningRows."""
    seeds = sorted(set(runs["seed"]))
    rows = []
    for case, alike in _cases(runs, CASES):
        of_seed = {run["seed"]: run for run in alike.to_dict("records")}
        some = alike.iloc[0]
        update = some["batch_size"] * (some["num_workers"] if some["sync"] else 1)
        rows.append(
            {
                "case": f"`{case}`",
                "differs in": CASES[case].differs,
                "parameters": cell(some["num_parameters"], 0),
                "steps an update": str(update),
                "million steps": f"{some['frames'] * _STEPS_PER_FRAME / 1e6:g}",
                **{f"seed {seed}": _score(of_seed.get(seed)) for seed in seeds},
                "commits": commits_cell(alike["run_commit"]),
            }
        )
    return markdown(rows)


def sync_table(runs: pd.DataFrame) -> str:
    """Scores and times of synchronous and of asynchronous updates; LearningRows."""
    return markdown(
        {
            "case": f"`{case}`",
            "updates": "asynchronous" if not alike["sync"].iloc[0] else "synchronous",
            "steps an update": str(alike["batch_size"].iloc[0] * (2 if alike["sync"].iloc[0] else 1)),
            "score": listed(alike["evaluation_mean"], 1),
            "minutes": listed(alike["wall_seconds"] / 60, 1),
            "commits": commits_cell(alike["run_commit"]),
        }
        for case, alike in _cases(runs, SYNC_CASES)
    )


def hidden_layer_table(runs: pd.DataFrame) -> str:
    """Scores with each width and activation, and the last 100 training games behind them; LearningRows."""
    rows = []
    for activation, cases in HIDDEN_LAYER_CASES.items():
        row = {"behind the hidden layer": activation}
        for case, alike in _cases(runs, cases):
            units = str(alike["network"].iloc[0]).rpartition(" ")[2]
            scores, training = listed(alike["evaluation_mean"], 1), listed(alike["training_mean"], 1)
            row[f"{units} units"] = f"`{case}`: {scores} ({training})"
        rows.append(row)
    return markdown(rows)


def workers_table(runs: pd.DataFrame, curves: pd.DataFrame, simulated: pd.DataFrame) -> str:
    """Updates and minutes to the goal over the number of workers; LearningRows, CurveRows, SimulationRows.

    Simulated minutes are the measured updates times the simulated seconds of one.
    """
    chosen = simulated[(simulated["study"] == WORKERS) & (simulated["network"] == "dba3c_quick")]
    seconds = chosen.set_index("num_workers")["seconds_per_update"]
    return markdown(
        {
            "workers": str(count),
            "updates": listed(alike["updates"], 0),
            "minutes on 2 cores, measured": listed(alike["minutes"], 1),
            "minutes with a core each, simulated": listed(alike["updates"] * seconds[count] / 60, 1),
            "commits": commits_cell(alike["commit"]),
        }
        for count, alike in times_to_goal(curves, runs).groupby("num_workers")
    )


def adam_table(runs: pd.DataFrame) -> str:
    """Scores with the authors' and the usual betas; LearningRows."""
    return markdown(
        {
            "case": f"`{case}`",
            "betas": f"{alike['beta1'].iloc[0]:g}, {alike['beta2'].iloc[0]:g}",
            "last 100 training games": listed(alike["training_mean"], 1),
            "final evaluation": listed(alike["evaluation_mean"], 1),
            "minutes": listed(alike["wall_seconds"] / 60, 0),
            "commits": commits_cell(alike["run_commit"]),
        }
        for case, alike in _cases(runs, ADAM_CASES)
    )


def _cases(runs: pd.DataFrame, cases: Iterable[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Those that have rows, in this order, each with its seeds in order."""
    for case in cases:
        alike = runs[runs["case"] == case].sort_values("seed")
        if len(alike):
            yield case, alike


def _score(run: Mapping[Hashable, Any] | None) -> str:
    if run is None:
        return NOT_MADE
    if run["end_reason"] != "budget":
        return DIVERGED
    return interval_cell(run["evaluation_mean"], run["evaluation_low"], run["evaluation_high"], 1)
