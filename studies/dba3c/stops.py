"""What it took until 50 games had the mean at which the authors stop: `python -m studies.dba3c.stops`.

Reads run folders, trains nothing. Each evaluation of 50 games with best actions (protocol ba3c_50_nature, or another
with --protocol) gives a mean; the first that reaches a goal is where the run would have been stopped. Goals are the
authors' early stop of a game and, on Pong, 18. The first of many noisy means above a line comes early by chance, so the
score of the last parameters, which nobody chose, stands in each row.

Core-hours are hours of training times the cores of the workers. Where the machine has no others, as with `dba3c` on two
cores, evaluations beside the training are in them; those of `ba3c` on one of two cores mostly are not. Adamski et al.
2018 claim 300 points of Breakout in 20 minutes on 768 cores; of other games there is no claim. Their games had random
frame skip, sticky actions and coloured pictures, those of these experiments have not: the ratio is of the work for a
score of the same name.

Rows go into results/dba3c/stops.csv, one a run and goal, the curves of a game into docs/figures/dba3c_stops_<game>.png.
Both are made anew of all that the call names: one that names other runs has to name other places, too. Hours in a
figure are of the runs of one commit, for those of different days do not compare.
Not here: curves of training games (`python -m pipeline.report`).
"""

import argparse
import json
import math
from dataclasses import asdict, dataclass
from itertools import cycle, product
from pathlib import Path
from typing import NamedTuple

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from measuring.markdown import commits_cell, markdown
from pipeline import api
from pipeline.results.formats import cell
from pipeline.results.load import LoadedRuns
from pipeline.results.published import load_published
from pipeline.results.run_scores import LAST, TRAINING
from pipeline.results.style import COLOURS, FAINT, LINES, MARKERS, STYLE, save_figure
from pipeline.run_folders import run_folders
from studies.arguments import FIGURES, refuse_published, refuse_published_figures
from studies.dba3c.figures import of_one_commit, runs_of_commit
from studies.dba3c.settings import OUTPUT

CLAIMED_GAME, CLAIMED_GOAL, CLAIMED_CORE_HOURS = "Breakout", 300.0, 768 * 20 / 60
MORE_GOALS = {"Pong": (18.0,)}
"""Ours: nearly every ball, where the authors stop at 10."""


@dataclass(frozen=True)
class StopRow:
    """One run and one goal."""

    experiment: str
    game: str
    seed: int
    goal: float
    """Points."""
    protocol: str
    num_games: int
    """Of one evaluation."""
    mean: float
    """Of the first evaluation that reached the goal; NaN if none did, as all that follows."""
    steps: float
    """Agent steps of all workers by then, in millions."""
    hours: float
    """Wall time of training by then."""
    num_cores: int
    """Of the workers."""
    processor: str
    """Theirs, its instructions where the run tells them, and the precision that they computed in."""
    core_hours: float
    over_claim: float
    """`core_hours` over the authors' 256; NaN but for their game and goal."""
    last_mean: float
    """Of the newest evaluation of last parameters."""
    last_steps: float
    """In millions."""
    commit: str


def main(arguments: list[str] | None = None) -> None:
    """Write the rows of all runs below a folder, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs-dir", type=Path, default=Path("results/reference_runs"), help="where run folders are")
    parser.add_argument("--experiments", nargs="+", default=["dba3c", "dba3c_large_batch", "ba3c"])
    parser.add_argument("--protocol", default="ba3c_50_nature", help="evaluations under others do not count")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where the rows go")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="where the figures go")
    chosen = parser.parse_args(arguments)
    other = {name: vars(chosen)[name] != parser.get_default(name) for name in ("runs_dir", "experiments", "protocol")}
    refuse_published("--output", chosen.output, OUTPUT, **other)
    refuse_published_figures("--figures", chosen.figures, chosen.output, OUTPUT, **other)
    places = [chosen.runs_dir / name for name in chosen.experiments]
    folders = [folder for place in places if place.is_dir() for folder in run_folders(place)]
    if not folders:
        raise SystemExit(f"no run of {', '.join(chosen.experiments)} below {chosen.runs_dir}: name a --runs-dir")
    curves = pd.concat(
        [evaluation_means(api.load_run(folder), chosen.protocol, workers_of(folder)) for folder in folders]
    )
    if curves.empty:
        raise SystemExit(f"no evaluation under {chosen.protocol} below {chosen.runs_dir}: nothing was written")
    rows = pd.DataFrame([asdict(row) for _, run in curves.groupby("run", sort=False) for row in stop_rows(run)])
    chosen.output.mkdir(parents=True, exist_ok=True)
    rows.round(4).to_csv(chosen.output / "stops.csv", index=False, lineterminator="\n")
    for game, of_game in curves.groupby("game", sort=False):
        save_figure(stops_figure(of_game), chosen.figures / f"dba3c_stops_{str(game).lower()}.png")


class Workers(NamedTuple):
    """Who trained."""

    num_cores: int
    processor: str
    """As "AMD EPYC, avx512, bfloat16"; older runs do not tell instructions. Several are joined by "; "."""


def workers_of(folder: Path) -> Workers:
    """What the workers of a run computed on."""
    facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    hosts = [host for host in facts["hosts"] for role in host["roles"] if role.startswith("worker-")]
    tells = ("processor", "instructions", "precision")
    processors = {", ".join(host[name] for name in tells if host.get(name)) for host in hosts}
    return Workers(len(hosts) * int(facts["compute_threads"]), "; ".join(sorted(processors)))


def evaluation_means(loaded: LoadedRuns, protocol: str, workers: Workers) -> pd.DataFrame:
    """A row an evaluation of the run under `protocol`, in the order of frames, with what had been spent by then.

    Columns: run, experiment, game, seed, protocol, agent, mean, num_games, steps (millions), hours, num_cores,
    processor, core_hours, commit.
    """
    games = loaded.evaluations
    games = games[games["agent"].isin([TRAINING, LAST]) & (games["protocol"] == protocol)]
    by = ["experiment", "game", "seed", "protocol", "agent", "total_frames"]
    means = games.groupby(by, as_index=False).agg(
        mean=("score", "mean"),
        num_games=("score", "size"),
        seconds=("wall_seconds", "first"),
        frame_skip=("frame_skip", "first"),
        min_frame_skip=("min_frame_skip", "first"),
    )
    hours = means["seconds"] / 3600
    # Frames of all workers over the mean of their frame skip, which evaluations share.
    steps = means["total_frames"] / ((means["frame_skip"] + means["min_frame_skip"]) / 2) / 1e6
    return means.assign(
        run=loaded.runs["folder"].iloc[0],
        steps=steps,
        hours=hours,
        num_cores=workers.num_cores,
        processor=workers.processor,
        core_hours=hours * workers.num_cores,
        commit=loaded.runs["commit"].iloc[0],
    ).sort_values("total_frames")


def goals(game: str) -> tuple[float, ...]:
    """The means to reach on a game, the authors' first."""
    stops = load_published("dba3c_scores")["early_stop_score_in_code"].dropna()
    return (*([float(stops[game])] if game in stops.index else []), *MORE_GOALS.get(game, ()))


def stop_rows(run: pd.DataFrame) -> list[StopRow]:
    """Of the `evaluation_means` of one run, a row for each goal of its game."""
    last = run[run["agent"] == LAST].iloc[-1] if (run["agent"] == LAST).any() else None
    rows = []
    for goal in goals(str(run["game"].iloc[0])):
        first = run[run["mean"] >= goal].head(1).to_dict("records")
        spent = ("mean", "steps", "hours", "core_hours")
        reached = {name: first[0][name] if first else math.nan for name in spent}
        some = run.iloc[-1]
        is_claimed = (some["game"], goal) == (CLAIMED_GAME, CLAIMED_GOAL)
        rows.append(
            StopRow(
                experiment=some["experiment"],
                game=some["game"],
                seed=int(some["seed"]),
                goal=goal,
                protocol=some["protocol"],
                num_games=int(some["num_games"]),
                num_cores=int(some["num_cores"]),
                processor=str(some["processor"]),
                over_claim=reached["core_hours"] / CLAIMED_CORE_HOURS if is_claimed else math.nan,
                last_mean=math.nan if last is None else last["mean"],
                last_steps=math.nan if last is None else last["steps"],
                commit=str(some["commit"]),
                **reached,
            )
        )
    return rows


def read_stops(folder: Path) -> pd.DataFrame:
    """The StopRows that are in `folder`."""
    return pd.read_csv(folder / "stops.csv", dtype={"commit": "str"})


def stops_table(rows: pd.DataFrame) -> str:
    """A line for each run and goal; StopRows."""
    return markdown(
        {
            "run": f"`{row['experiment']}/{row['game']}/{row['seed']}`",
            "goal": cell(row["goal"], 0),
            "first mean there": "never" if math.isnan(row["mean"]) else cell(row["mean"], 1),
            "million steps": _spent(row["steps"]),
            "hours": _spent(row["hours"]),
            "cores": str(row["num_cores"]),
            "core-hours": _spent(row["core_hours"]),
            "of the authors' core-hours": "" if math.isnan(row["over_claim"]) else f"{100 * row['over_claim']:.2f} %",
            "processor": row["processor"],
            "last parameters": f"{cell(row['last_mean'], 1)} after {cell(row['last_steps'], 2)}",
            "commit": commits_cell([row["commit"]]),
        }
        for row in rows.to_dict("records")
    )


def _spent(value: float) -> str:
    """Until the goal; empty if it was never reached."""
    return "" if math.isnan(value) else cell(value, 2)


@matplotlib.rc_context(STYLE)
def stops_figure(curves: pd.DataFrame) -> Figure:
    """Means of the evaluations of a game over steps, hours and core-hours, with its goals."""
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    game = str(curves["game"].iloc[0])
    compared = of_one_commit(curves.reset_index(drop=True).fillna({"commit": "unknown"}), "run", "commit")
    for axes in panels[1:]:
        axes.set_title(runs_of_commit(compared["commit"]), fontsize="medium")
    for index, (experiment, of_experiment) in enumerate(curves.groupby("experiment", sort=False)):
        looks = cycle(product(MARKERS, LINES))
        for (marker, line), (seed, run) in zip(looks, of_experiment.groupby("seed", sort=True), strict=False):
            cores = run["num_cores"].iloc[0]
            label = f"{experiment}, seed {seed} ({cores} core{'s' if cores > 1 else ''})"
            is_compared = run["run"].iloc[0] in set(compared["run"])
            columns = ("steps", "hours", "core_hours") if is_compared else ("steps",)
            for axes, column in zip(panels, columns, strict=False):
                axes.plot(run[column], run["mean"], f"{marker}{line}", color=COLOURS[index], markersize=4, label=label)
    for axes, name in zip(
        panels, ("agent steps (millions)", "wall time (hours)", "core-hours of the workers"), strict=True
    ):
        for goal in goals(game):
            axes.axhline(goal, color=FAINT, linewidth=1.0, linestyle=":")
            axes.annotate(f"{goal:g}", (1.0, goal), xycoords=("axes fraction", "data"), color=FAINT, fontsize="small")
        axes.set_xlim(left=0)
        axes.set_xlabel(name)
    panels[0].set_ylabel("mean score of one evaluation (points)")
    claim = (
        f"; authors' claim: {CLAIMED_GOAL:g} after {CLAIMED_CORE_HOURS:g} core-hours" if game == CLAIMED_GAME else ""
    )
    games = f"{curves['num_games'].max()} games with best actions, beside the training and at its end"
    figure.suptitle(f"{game}: {games}, measured{claim}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    return figure


if __name__ == "__main__":
    main()
