"""After how many hours of training a run first scores above published DQN, and on how many games an experiment has.

Departure: Nair et al. 2015 draw such a curve for Gorila; its numbers could not be confirmed, so it is not drawn here.
The first of many noisy evaluations above a line comes early by chance: these hours are a little too few, for all.
Not here: scores of finished runs (`pipeline.results.run_scores`).
"""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pipeline.games import ATARI49
from pipeline.results.load import RUN_KEYS, LoadedRuns
from pipeline.results.protocols import DQN, NOOP_STARTS, differences
from pipeline.results.published import load_published
from pipeline.results.run_scores import LAST, TRAINING, entry_name
from pipeline.results.style import NAMES_STYLE, legend_label, look
from pipeline.rows import PROTOCOL_FIELDS


def hours_to_score(loaded: LoadedRuns) -> pd.DataFrame:
    """RUN_KEYS and `hours` of each run on one of the 49 games: until an evaluation's mean was above DQN's score.

    Only evaluations under the published protocol, during training or at its end; infinite where none was above. A run
    that was evaluated so at its end alone has no row: when it came past the line nobody saw. Where actions were drawn
    from a policy, the experiment's name says so.
    """
    evaluations = loaded.evaluations[loaded.evaluations["agent"].isin([TRAINING, LAST])]
    line = load_published()[NOOP_STARTS.agents[DQN]]
    rows = []
    by = [*RUN_KEYS, "sampled"]
    for run, games in evaluations[evaluations["game"].isin(ATARI49)].groupby(by, sort=True):
        experiment, game, seed, is_sampled = run
        means = games.groupby(["agent", "version", *PROTOCOL_FIELDS], as_index=False)[["score", "wall_seconds"]].mean()
        alike = means[[not differences(played, NOOP_STARTS) for played in means.to_dict("records")]]
        if not (alike["agent"] == TRAINING).any():
            continue
        above = alike[alike["score"] > line[str(game)]]
        name = entry_name(str(experiment), LAST, is_sampled=bool(is_sampled))
        rows.append((name, game, seed, above["wall_seconds"].min() / 3600 if len(above) else np.inf))
    return pd.DataFrame(rows, columns=[*RUN_KEYS, "hours"])


def games_past(hours: pd.DataFrame) -> pd.DataFrame:
    """Experiment, game and `hours` until at least half of its runs were above DQN; infinite where they never were."""
    rows = [
        (*group, np.sort(runs["hours"].to_numpy())[(len(runs) - 1) // 2])
        for group, runs in hours.groupby(["experiment", "game"], sort=True)
    ]
    return pd.DataFrame(rows, columns=["experiment", "game", "hours"])


@matplotlib.rc_context(NAMES_STYLE)
def time_to_score_figure(hours: pd.DataFrame) -> Figure:
    """Number of games on which at least half of an experiment's runs (`hours_to_score`) are above DQN, over hours."""
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    last = hours["hours"][np.isfinite(hours["hours"])].max()
    end = 1.05 * last if last > 0 else 1.0
    most = 0
    for index, (experiment, games) in enumerate(games_past(hours).groupby("experiment", sort=True)):
        passed = np.sort(games["hours"][np.isfinite(games["hours"])])
        most = max(most, len(passed))
        label = legend_label(f"{experiment} ({len(passed)} of {len(games)} games played)")
        steps = [0.0, *passed, end], [0, *range(1, len(passed) + 1), len(passed)]
        line, colour = look(index)
        axes.step(*steps, line, where="post", color=colour, linewidth=1.8, label=label)
    axes.set_xlim(0, end)
    axes.set_ylim(0, 1.1 * max(1, most))
    axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
    axes.set_title(f"Games past the published score of {DQN}, {NOOP_STARTS.name}")
    axes.set_xlabel("wall time since the run's start (hours)")
    axes.set_ylabel("games")
    axes.legend(loc="upper left")
    return figure
