"""The tables of `results/reference_runs/`: single runs that are kept whole, without their checkpoints.

Each is one command of `pipeline.train`, so that there is nothing to run here.
Not here: tables and figures of any runs (`python -m pipeline.report`).
"""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from measuring.markdown import commits_cell, markdown
from pipeline.results.cautions import living_filters
from pipeline.results.formats import cell, interval_cell
from pipeline.results.load import RUN_KEYS, LoadedRuns, load_runs
from pipeline.results.run_scores import BEST, LAST, RANDOM, TRAINING, run_scores
from studies.second_dqn import marks_table, points_of


def tables(folder: Path) -> Mapping[str, str]:
    """Table name -> Markdown, of the run folders in `folder`."""
    loaded = load_runs(folder)
    return {
        "runs": runs_table(loaded),
        "evaluations": evaluations_table(loaded),
        "filters": filters_table(loaded),
        "second_dqn": marks_table(points) if (points := points_of(loaded.evaluations)) else "Not measured yet.",
    }


def runs_table(loaded: LoadedRuns) -> str:
    """A line for each run and protocol: how long it was, and the score of its last parameters, which nobody chose.

    Raises ValueError for a run that was not scored.
    """
    scores = run_scores(loaded)
    lines = []
    for run in loaded.runs.sort_values(list(RUN_KEYS)).to_dict("records"):
        of_run = scores[(scores[list(RUN_KEYS)] == [run[key] for key in RUN_KEYS]).all(axis=1)]
        played = of_run[of_run["agent"] == LAST].to_dict("records")
        if not played:
            raise ValueError(f"{_name(tuple(run[key] for key in RUN_KEYS))} has no games of its last parameters")
        for last in played:
            alike = of_run[of_run["protocol"] == last["protocol"]]
            lines.append(
                {
                    "run": _name(tuple(run[key] for key in RUN_KEYS)),
                    "million frames": cell(run["total_frames"] / 1e6, 1),
                    "minutes": cell(run["wall_seconds"] / 60, 0),
                    "ended by": str(run["end_reason"]),
                    "protocol": f"`{last['protocol']}`, {last['episodes']} games",
                    "last parameters": interval_cell(last["score"], last["low"], last["high"], 1),
                    "best of the evaluations, played again": _score(alike, BEST),
                    "random player": _score(alike, RANDOM),
                    "commit": commits_cell([run["commit"]]),
                }
            )
    return markdown(lines)


def evaluations_table(loaded: LoadedRuns) -> str:
    """A line for each run with evaluations beside its training: mean score after so many million frames."""
    games = loaded.evaluations[loaded.evaluations["agent"] == TRAINING]
    lines = []
    for key, of_run in games.groupby(list(RUN_KEYS), sort=True):
        means = of_run.groupby("total_frames", as_index=False).agg(mean=("score", "mean"), size=("score", "size"))
        lines.append(
            {
                "run": _name(key),
                "games each": str(means["size"].iloc[0]),
                "million frames: mean score": ", ".join(
                    f"{frames / 1e6:.1f}: {cell(mean, 1)}"
                    for frames, mean in zip(means["total_frames"], means["mean"], strict=True)
                ),
            }
        )
    return markdown(lines)


def filters_table(loaded: LoadedRuns) -> str:
    """A line for each run of an actor-critic: filters of the first convolution that learned."""
    rows = loaded.actor_critic_updates.groupby(list(RUN_KEYS), sort=True)["active_filters"]
    # Both are in the order of RUN_KEYS.
    return markdown(
        {
            "run": _name(key),
            "first filters that learned at the end": _percent(share),
            "the fewest in any row": _percent(fewest),
        }
        for (key, share), fewest in zip(living_filters(loaded).items(), rows.min(), strict=True)
    )


def _name(key: object) -> str:
    assert isinstance(key, tuple)
    return f"`{'/'.join(map(str, key))}`"


def _score(of_run: pd.DataFrame, agent: str) -> str:
    found = of_run[of_run["agent"] == agent].to_dict("records")
    return interval_cell(found[0]["score"], found[0]["low"], found[0]["high"], 1) if found else "none"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
