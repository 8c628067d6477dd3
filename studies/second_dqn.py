"""Our DQN on the curves of a second implementation: `python -m studies.second_dqn`.

A score tells little of whether a DQN is a DQN; a curve that another code with the same settings draws tells more.
nnabla-rl publishes its seeds at budgets that two cores reach. `dqn_nnabla` is trained as they are, `dqn_nature` as the
paper and its authors' code say. Reads run folders, trains nothing; draws docs/figures/second_dqn.png.
Not here: any agents beside any published ones (`python -m pipeline.report`).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import matplotlib
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from measuring.markdown import markdown
from pipeline.results.budgets import NEAR, Score, Yardstick, yardsticks
from pipeline.results.formats import cell, interval_cell
from pipeline.results.load import load_runs
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.run_scores import LAST, TRAINING
from pipeline.results.scores import mean_interval
from pipeline.results.style import COLOURS, FAINT, LINES, PAPER, STYLE, save_figure
from studies.arguments import FIGURES, refuse_published

EXPERIMENTS = ("dqn_nnabla", "dqn_nature")
FIGURE = FIGURES / "second_dqn.png"
MARKS = (1_000_000, 2_000_000, 5_000_000)
"""Emulator frames at which theirs are published, as far as ours go."""
_THEIRS = "DQN (nnabla-rl)"
_MAX_COLUMNS = 2
"""Of panels: more would be too small on a page."""


class Point(NamedTuple):
    """One evaluation of a run, of 30 no-op games."""

    experiment: str
    game: str
    seed: int
    frames: int
    """Emulator frames of its training by then."""
    mean: float
    low: float
    """95 % interval over its games."""
    high: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the curves of all runs below a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs-dir", type=Path, default=Path("results/reference_runs"), help="where run folders are")
    parser.add_argument("--output", type=Path, default=FIGURE, help="where the figure goes")
    chosen = parser.parse_args(arguments)
    if not (points := points_of(load_runs(chosen.runs_dir).evaluations)):
        raise SystemExit(f"no run of {' or '.join(EXPERIMENTS)} below {chosen.runs_dir}: name a --runs-dir")
    refuse_published("--output", chosen.output, FIGURE, runs_dir=chosen.runs_dir != parser.get_default("runs_dir"))
    save_figure(curves_figure(points), chosen.output)


def points_of(evaluations: pd.DataFrame) -> list[Point]:
    """The evaluations of EXPERIMENTS' newest parameters, in order of game, experiment, seed and frames."""
    games = evaluations[evaluations["agent"].isin([TRAINING, LAST]) & evaluations["experiment"].isin(EXPERIMENTS)]
    games = games[games["protocol"] == NOOP_STARTS.key]
    found = []
    # Where a run was stopped, two evaluations of the same parameters are one.
    for key, played in games.groupby(["game", "experiment", "seed", "total_frames"], sort=True):
        game, experiment, seed, frames = cast(tuple[str, str, int, int], key)
        interval = mean_interval(played["score"])
        found.append(Point(experiment, game, int(seed), int(frames), interval.mean, interval.low, interval.high))
    return found


def theirs() -> Yardstick:
    """The second implementation's scores."""
    return next(one for one in yardsticks() if one.agent == _THEIRS)


def marks_table(points: Sequence[Point]) -> str:
    """A line for each game and mark: theirs with the range of their seeds, ours with where each seed is to it."""
    lines = []
    for game in dict.fromkeys(point.game for point in points):
        for mark in MARKS:
            near = [one for one in points if one.game == game and abs(one.frames - mark) <= NEAR * mark]
            score = theirs().at(game, mark)
            if near and score is not None:
                lines.append(
                    {
                        "game": game,
                        "million frames": cell(mark / 1e6, 0),
                        "nnabla-rl, range of its seeds": f"{score.mean:.1f} ({score.low:.1f} to {score.high:.1f})",
                        **{f"`{name}`": _cells(near, name, mark, score) for name in EXPERIMENTS},
                    }
                )
    return markdown(lines)


def place(point: Point, score: Score) -> str:
    """Where its whole interval is to the range of their seeds: "within" if they meet, "below" or "above"."""
    low, high = (point.mean if pd.isna(end) else end for end in (point.low, point.high))
    return "below" if high < score.low else "above" if low > score.high else "within"


def _cells(near: Sequence[Point], experiment: str, mark: int, score: Score) -> str:
    """Each seed's evaluation nearest to the mark."""
    cells = []
    for seed in sorted({one.seed for one in near if one.experiment == experiment}):
        of_seed = [one for one in near if one.experiment == experiment and one.seed == seed]
        nearest = min(of_seed, key=lambda one: abs(one.frames - mark))
        shown = interval_cell(nearest.mean, nearest.low, nearest.high, 1)
        cells.append(f"{shown}, {place(nearest, score)}")
    return "; ".join(cells) or "not trained"


@matplotlib.rc_context(STYLE)
def curves_figure(points: Sequence[Point]) -> Figure:
    """A panel for each game: their mean and the range of their seeds, a line for each of our runs."""
    games = list(dict.fromkeys(point.game for point in points))
    num_columns = min(len(games), _MAX_COLUMNS)
    num_rows = -(-len(games) // num_columns)
    figure = Figure(figsize=(1.0 + 4.5 * num_columns, 3.6 * num_rows + 0.6), layout="constrained")
    for number, game in enumerate(games, start=1):
        axes = figure.add_subplot(num_rows, num_columns, number)
        _draw_theirs(axes, game)
        for experiment, colour in zip(EXPERIMENTS, COLOURS, strict=False):
            of_experiment = [one for one in points if (one.game, one.experiment) == (game, experiment)]
            for index, seed in enumerate(sorted({one.seed for one in of_experiment})):
                run = [one for one in of_experiment if one.seed == seed]
                axes.errorbar(
                    [one.frames / 1e6 for one in run],
                    [one.mean for one in run],
                    yerr=[[one.mean - one.low for one in run], [one.high - one.mean for one in run]],
                    fmt=f"o{LINES[index % len(LINES)]}",
                    color=colour,
                    markerfacecolor=PAPER,
                    capsize=3,
                    label=f"ours: {experiment}, seed {seed}",
                )
        axes.set_title(game)
        axes.set_xlabel("emulator frames (millions)")
        axes.set_ylabel("score (points)")
    handles: dict[str, Artist] = {}
    for axes in figure.axes:
        handles |= {str(handle.get_label()): handle for handle in axes.get_legend_handles_labels()[0]}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3, fontsize="small")
    return figure


def _draw_theirs(axes: Axes, game: str) -> None:
    curve = theirs().curves.loc[[game]]
    curve = curve[curve["frames"] <= MARKS[-1]]
    frames = curve["frames"] / 1e6
    axes.fill_between(frames, curve["low"], curve["high"], color=FAINT, alpha=0.3, linewidth=0)
    axes.plot(frames, curve["score"], color=FAINT, label=f"{_THEIRS}, band: its three seeds")


if __name__ == "__main__":
    main()
