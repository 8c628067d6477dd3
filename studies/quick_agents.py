"""What six agents of Q-learning score on one schedule of minutes, and how fast: `python -m studies quick_agents`.

    dqn          Nature DQN in one process, two threads
    gorila       two bundles
    one_bundle   one bundle, else as gorila
    global       separate actors, learner and replay shards, a process each
    apex         the parts of Ape-X
    rainbow      the parts of Rainbow

The experiments of `+sweep=q_learning_quick`, with the same frames, gradients per frame and optimizer, on a game that
moves early. A row a run goes into results/quick_agents/runs.csv and its curve into curves.csv as soon as it is there;
runs that are there are not made again. From all rows of a game come improvements.csv (does an agent beat dqn?),
time_to_score.csv (how long until the score that dqn has after two, three, four minutes?) and the figure
docs/figures/quick_agents.png; of another game than Breakout they have its name behind theirs. The figure of another
--output, or of runs with --overrides, needs a --figures of its own.

18 runs of 5 to 15 minutes on two cores; less with --seeds or --cases. Wall times mean something if nothing else runs,
and on one kind of processor: another one cannot add to the rows.
Not here: runs of hours (`results/reference_runs`), the speed of bundles without what they learn
(`benchmarks.gorila_scaling`).
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from measuring.markdown import commits_cell, listed, markdown
from measuring.provenance import report
from pipeline import api
from pipeline.config.run_config import RunConfig
from pipeline.results.comparison import probability_of_improvement
from pipeline.results.formats import cell, interval_cell
from pipeline.results.scores import FloatArray
from pipeline.results.style import COLOURS, STYLE, save_figure
from studies.arguments import FIGURES, refuse_published_figures
from studies.row_file import RowFile
from studies.trained_runs import (
    FIRST_GORILA_QUICK,
    LAST_EPISODES,
    CurveRow,
    CurvesFile,
    TrainedRow,
    curve_rows,
    train_or_load,
    trained_row,
)

CASES: dict[str, tuple[str, ...]] = {
    "dqn": ("experiment=dqn_quick", "topology.compute_threads=2", *FIRST_GORILA_QUICK),
    "gorila": ("experiment=gorila_quick", "budget.minutes=null", *FIRST_GORILA_QUICK),
    "one_bundle": ("experiment=gorila_quick", "budget.minutes=null", "topology.num_bundles=1", *FIRST_GORILA_QUICK),
    "global": ("experiment=gorila_global_quick", "cluster=processes", *FIRST_GORILA_QUICK),
    "apex": ("experiment=apex_quick",),
    "rainbow": ("experiment=rainbow_quick",),
}
BASELINE = "dqn"
ROLES, BUNDLES = "global", "gorila"
"""The same agent in separate roles, and in bundles."""
OUTPUT = Path("results/quick_agents")
GAME = "Breakout"
"""Of the tables; other games are only compared and drawn."""
_MINUTES = (2.0, 3.0, 4.0)
"""After each of which the baseline's score is one to reach."""
_UNDISTURBED = ("dqn", "gorila", "one_bundle")
"""Cases whose runs that are there had the machine to themselves, so that their minutes compare."""


def main(arguments: list[str] | None = None) -> None:
    """Make the runs that are missing, then compare and draw what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default=GAME)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--runs-dir", default="outputs/quick_agents", help="where the run folders go, or are")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where the rows go")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="where the figure goes")
    parser.add_argument("--overrides", nargs="*", default=[], help="more settings of each run")
    chosen = parser.parse_args(arguments)
    other = bool(chosen.overrides)
    refuse_published_figures("--figures", chosen.figures, chosen.output, OUTPUT, overrides=other)
    # Seed after seed, so that all cases have one before one of them has three.
    for seed in chosen.seeds:
        for case in chosen.cases:
            config = _config(chosen, case, seed)
            runs = _run_rows(chosen.output).made_with(chosen.overrides, config.precision)
            curves = _curve_rows(chosen.output).made_with(chosen.overrides, config.precision)
            if not runs.has(case, seed, chosen.game, config.budget.frames):
                curves.check_addable()
                row, points = _train(config, case)
                curves.put(*points)
                runs.append(row)
    _compare(chosen.game, chosen.output, chosen.figures)


def improvements(runs: pd.DataFrame, baseline: str = BASELINE) -> pd.DataFrame:
    """Per case the chance that a run of it scores higher than one of the baseline, with its interval; TrainedRows."""
    scores = {str(case): alike["evaluation_mean"].to_numpy() for case, alike in runs.groupby("case", sort=False)}
    if baseline not in scores:
        return pd.DataFrame(columns=["case", "num_runs", "mean_score", "probability", "low", "high"])
    return pd.DataFrame(
        [
            {"case": case, "num_runs": len(of_case), "mean_score": of_case.mean()}
            | probability_of_improvement(of_case, scores[baseline])._asdict()
            for case, of_case in scores.items()
            if case != baseline
        ]
    )


def time_to_score(curves: pd.DataFrame, baseline_minutes: float) -> pd.DataFrame:
    """Minutes until each run first has the score that the baseline's have on average after so many minutes; CurveRows.

    Infinite where a run never had it, and everywhere if the baseline has no mean so early.
    """
    baseline = curves[curves["case"] == BASELINE]
    goal = (
        np.mean([_last_score(run, 60 * baseline_minutes) for _, run in baseline.groupby("seed")])
        if len(baseline)
        else np.inf
    )
    rows = []
    for (case, seed), run in curves.groupby(["case", "seed"], sort=False):
        reached = run["wall_seconds"][run["score"] >= goal]
        rows.append((case, seed, baseline_minutes, goal, reached.min() / 60 if len(reached) else np.inf))
    return pd.DataFrame(rows, columns=["case", "seed", "baseline_minutes", "score", "minutes"])


def tables(folder: Path) -> dict[str, str]:
    """Table name -> Markdown, of the rows in `folder`."""
    runs, curves = _of_game(_run_rows(folder), GAME), _of_game(_curve_rows(folder), GAME)
    return {"scores": scores_table(runs), "time_to_score": times_table(curves), "roles": roles_table(runs)}


def scores_table(runs: pd.DataFrame) -> str:
    """A line a case: the final score of each seed in order, and the chance to beat the baseline; TrainedRows."""
    chances = {row["case"]: row for row in improvements(runs).to_dict("records")}
    lines = []
    for case in CASES:
        alike = runs[runs["case"] == case].sort_values("seed")
        chance = chances.get(case)
        lines.append(
            {
                "agent": f"`{case}`",
                "score with each seed": listed(alike["evaluation_mean"], 1),
                "mean": cell(alike["evaluation_mean"].mean(), 1),
                f"chance to beat {BASELINE}": ""
                if chance is None
                else interval_cell(chance["probability"], chance["low"], chance["high"], 2),
                "updates": cell(alike["num_updates"].median(), 0),
                "minutes with each seed": listed(alike["wall_seconds"] / 60, 1),
                "commit": commits_cell(alike["run_commit"]),
            }
        )
    return markdown(lines)


def times_table(curves: pd.DataFrame) -> str:
    """Minutes to the scores that the baseline has after some: of each seed in order, and their median; CurveRows."""
    lines = []
    for minutes in _MINUTES:
        times = time_to_score(curves, minutes).sort_values("seed")
        line = {"score to reach": f"{cell(times['score'].iloc[0], 1)}, {BASELINE}'s after {minutes:g} minutes"}
        for case in _UNDISTURBED:
            of_case = times[times["case"] == case]["minutes"]
            line[f"`{case}`"] = f"{listed(of_case, 1)}: {cell(of_case.median(), 1)}"
        lines.append(line)
    return markdown(lines)


def roles_table(runs: pd.DataFrame) -> str:
    """How often a run of separate roles scores higher than one of bundles; TrainedRows."""
    both = runs[runs["case"].isin([ROLES, BUNDLES])]
    (chance,) = improvements(both, BUNDLES).to_dict("records")
    ours, theirs = (both[both["case"] == case]["evaluation_mean"].to_numpy() for case in (ROLES, BUNDLES))
    return markdown(
        [
            {
                "agent": f"`{ROLES}`",
                f"runs that score higher than one of `{BUNDLES}`": f"{(ours[:, None] > theirs).sum()} of "
                f"{ours.size * theirs.size} pairs",
                "chance": interval_cell(chance["probability"], chance["low"], chance["high"], 2),
            }
        ]
    )


def _of_game(file: RowFile[Any], game: str) -> pd.DataFrame:
    rows = file.frame()
    return rows[rows["game"] == game]


def _run_rows(folder: Path) -> RowFile[TrainedRow]:
    return RowFile(folder / "runs.csv", TrainedRow, ("case", "seed", "game", "frames"), one_processor_within=())


def _curve_rows(folder: Path) -> CurvesFile:
    return CurvesFile(folder / "curves.csv")


@matplotlib.rc_context(STYLE)
def agents_figure(curves: pd.DataFrame) -> Figure:
    """Training scores over frames, and of those whose minutes compare over minutes; CurveRows.

    A thin line is a run, a thick one their mean.
    """
    figure = Figure(figsize=(11.0, 4.6), layout="constrained")
    panels = list(figure.subplots(1, 2, sharey=True))
    for index, (case, alike) in enumerate(curves.groupby("case", sort=False)):
        colour, runs = COLOURS[index % len(COLOURS)], [run for _, run in alike.groupby("seed", sort=True)]
        for axes, column, per_unit in ((panels[0], "steps", 1e6 / 4), (panels[1], "wall_seconds", 60.0)):
            if column == "wall_seconds" and case not in _UNDISTURBED:
                continue
            for run in runs:
                axes.plot(run[column] / per_unit, run["score"], color=colour, linewidth=0.6, alpha=0.6)
            places = np.linspace(max(r[column].min() for r in runs), min(r[column].max() for r in runs), 100)
            mean = _at(alike, places, column).mean(axis=0)
            label = f"{case} ({len(runs)} run{'s' if len(runs) > 1 else ''})"
            axes.plot(places / per_unit, mean, color=colour, linewidth=2.2, label=label)
    panels[0].set_xlabel("emulator frames (millions)")
    panels[1].set_xlabel("wall time of training (minutes), with nothing beside")
    panels[0].set_ylabel(f"mean of {LAST_EPISODES} training games (points)")
    figure.suptitle(f"{curves['game'].iloc[0]}: agents of Q-learning on one schedule, measured")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize="small")
    return figure


def _compare(game: str, output: Path, figures: Path) -> None:
    runs, curves = _of_game(_run_rows(output), game), _of_game(_curve_rows(output), game)
    # Those of the tables' game are published: another one does not take their place.
    own = "" if game == GAME else f"_{game.lower()}"
    found = improvements(runs)
    found.round(4).to_csv(output / f"improvements{own}.csv", index=False)
    times = pd.concat([time_to_score(curves, minutes) for minutes in _MINUTES], ignore_index=True)
    times.round(3).to_csv(output / f"time_to_score{own}.csv", index=False)
    save_figure(agents_figure(curves), figures / f"quick_agents{own}.png")
    last = times[times["baseline_minutes"] == _MINUTES[-1]]
    medians = last.groupby("case", sort=False)["minutes"].median()
    report(
        "quick_agents",
        num_runs=len(runs),
        **{f"{row['case']}_beats_{BASELINE}": row["probability"] for row in found.to_dict("records")},
        **{f"{case}_minutes_to_{last['score'].iloc[0]:.1f}": minutes for case, minutes in medians.items()},
    )


def _at(curves: pd.DataFrame, places: FloatArray, column: str = "steps") -> FloatArray:
    """(num_runs, num_places) scores, between two points in proportion."""
    runs = curves.groupby("seed", sort=True)
    return np.array([np.interp(places, run[column], run["score"]) for _, run in runs])


def _last_score(run: pd.DataFrame, seconds: float) -> float:
    before = run["score"][run["wall_seconds"] <= seconds]
    return float(before.iloc[-1]) if len(before) else np.nan


def _config(chosen: argparse.Namespace, case: str, seed: int) -> RunConfig:
    words = [f"game={chosen.game}", f"seed={seed}", f"results_dir={chosen.runs_dir}/{case}", "resume=true"]
    return api.compose([*CASES[case], *words, *chosen.overrides])


def _train(config: RunConfig, case: str) -> tuple[TrainedRow, list[CurveRow]]:
    loaded = train_or_load(config)
    row = trained_row(loaded, case, config)
    return row, curve_rows(loaded, row, config)


if __name__ == "__main__":
    main()
