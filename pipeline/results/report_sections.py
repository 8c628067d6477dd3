"""The sections of a report that are of several games, in the order in which one reads them.

Not here: those of single games, what the whole says of itself (`pipeline.results.report`).
"""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from pipeline.games import ATARI49
from pipeline.results.atari49 import atari49_table, counted_games, entry_by_game, normalised
from pipeline.results.equal_frames import equal_frames_table, our_points
from pipeline.results.formats import ReportTable
from pipeline.results.import_section import imported_table
from pipeline.results.imports import Imported
from pipeline.results.improvement import improvement_table
from pipeline.results.interval_plot import interval_figure
from pipeline.results.load import LoadedRuns
from pipeline.results.other_protocols import other_protocols_table
from pipeline.results.our_agents import MOST_GAMES, our_agents_table
from pipeline.results.profiles import profile_figure
from pipeline.results.protocols import HUMAN_STARTS, NOOP_STARTS
from pipeline.results.published import load_published
from pipeline.results.random_play import random_play_table
from pipeline.results.random_player import random_scores
from pipeline.results.report_parts import ReportFigure, Section
from pipeline.results.run_scores import entries, score_matrix
from pipeline.results.sample_efficiency import efficiency, efficiency_figure
from pipeline.results.score_chart import score_chart
from pipeline.results.scores import normalised_score
from pipeline.results.summary import summary_tables
from pipeline.results.time_to_score import hours_to_score, time_to_score_figure

FEW_GAMES = 12
"""Of the 49; a report of no more is of these alone."""


def games_of(loaded: LoadedRuns) -> tuple[str, ...]:
    """The games that tables and figures have a place for: those of the 49 that have runs if they are few, else all."""
    with_runs = tuple(game for game in ATARI49 if (loaded.runs["game"] == game).any())
    return with_runs if 0 < len(with_runs) <= FEW_GAMES else ATARI49


def sections_of(loaded: LoadedRuns, scores: pd.DataFrame, imported: Imported) -> Iterator[Section]:
    """All but those of single games; `scores` are `run_scores` of `loaded`."""
    ours, random, games = entries(scores), random_scores(loaded), games_of(loaded)
    with_scores = sorted(scores["game"].unique())
    if 0 < len(with_scores) <= MOST_GAMES:
        text = "One row per experiment, and one for the random player of each protocol."
        yield Section("ours", "Our agents", text, (our_agents_table(scores, with_scores),), ())
    summaries = summary_tables(NOOP_STARTS, ours, random, games)
    yield Section(
        "summary",
        "Summary",
        "One row per agent. Figures over other sets of games may not be compared with each other.",
        summaries,
        (*_intervals(summaries[0].numbers), _profiles(ours, games)),
    )
    yield from _among_ourselves(loaded, ours)
    yield Section(
        "games49",
        "The 49 games" if games == ATARI49 else f"{counted_games(games)} of the 49",
        "Our scores beside the published ones, all under no-op starts.",
        (atari49_table(NOOP_STARTS, ours, random, games),),
        tuple(_score_charts(ours, random, games)),
    )
    if (placed := equal_frames_table(scores)) is not None:
        text = "What others published after as many frames. Hardly any of it was played like ours: letters say how."
        yield Section("equal-frames", placed.title, text, (placed,), ())
    hours = hours_to_score(loaded)
    if len(hours):
        yield Section(
            "time",
            "Time to DQN's score",
            "A game counts from the hour at which at least half of an experiment's seeds had an evaluation above "
            "DQN's published score. The first of many noisy evaluations above a line comes a little early. Runs that "
            "were evaluated at their end alone are not here.",
            (_hours_table(hours),),
            (ReportFigure("time_to_score", "Games past DQN's score over hours.", time_to_score_figure(hours)),),
        )
    other = other_protocols_table(scores, random)
    if len(other.numbers):
        yield Section(
            "other", other.title, "Played otherwise than the published scores, and so apart from them.", (other,), ()
        )
    if len(imported.points):
        theirs = imported_table(imported, ours)
        text = "As their files have them. Their curves stand in grey beside ours, game by game."
        yield Section("imported", theirs.title, text, (theirs,), ())
    if len(random):
        players = random_play_table(random)
        text = "Ours beside the published one: with frame skip 6 the test of a protocol before anything is trained."
        yield Section("random", players.title, text, (players,), ())
    yield Section(
        "human-starts",
        "Human starts, as published",
        "For reference: no score of ours can stand here, since the start points were never published.",
        (*summary_tables(HUMAN_STARTS, {}, random), atari49_table(HUMAN_STARTS, {}, random)),
        (),
    )


def _intervals(summary: pd.DataFrame) -> Iterator[ReportFigure]:
    drawn = interval_figure(summary, NOOP_STARTS)
    if drawn is not None:
        caption = "Median, interquartile mean, mean and optimality gap of each agent, with 95 % intervals."
        yield ReportFigure("intervals", caption, drawn)


def _among_ourselves(loaded: LoadedRuns, ours: Mapping[str, pd.DataFrame]) -> Iterator[Section]:
    """Experiments of ours against each other, and how soon each was good."""
    table = improvement_table(ours)
    curves = efficiency(our_points(loaded.evaluations))
    if table is None and curves.empty:
        return
    figures = []
    if len(curves):
        caption = (
            "Interquartile mean of normalised evaluations over frames and hours, each experiment over the games that "
            "it has. Bands: 95 %, runs drawn anew within each game, where each game has several seeds."
        )
        figures.append(ReportFigure("sample_efficiency", caption, efficiency_figure(curves, NOOP_STARTS)))
    text = "Which experiment is better, and which is good sooner."
    yield Section("ours-compared", "Among ourselves", text, () if table is None else (table,), tuple(figures))


def _profiles(ours: Mapping[str, pd.DataFrame], all_games: Sequence[str]) -> ReportFigure:
    games = _games_of_profiles(ours, all_games)
    scores_of = load_published().loc[list(games)]
    published = {
        agent: normalised(scores_of[column], NOOP_STARTS)[None] for agent, column in NOOP_STARTS.agents.items()
    }
    complete = {name: rows for name, rows in ours.items() if set(games) <= set(rows["game"])}
    reference = scores_of[[NOOP_STARTS.random, NOOP_STARTS.human]].to_numpy("float64").T
    runs = {f"ours: {name}": normalised_score(score_matrix(rows, games), *reference) for name, rows in complete.items()}
    left_out = sorted(set(ours) - set(complete))
    caption = (
        f"Performance profiles over {counted_games(games)}: the share of runs above each level. Bands: 95 %, level by "
        "level, where each game has several seeds. Grey: as published, one score per game."
        + (f" Without {'; '.join(left_out)}: games are missing." if left_out else "")
    )
    return ReportFigure(
        "profiles",
        caption,
        profile_figure(published, runs, title=f"Performance profiles, {NOOP_STARTS.name}, {counted_games(games)}"),
    )


def _games_of_profiles(ours: Mapping[str, pd.DataFrame], games: Sequence[str]) -> Sequence[str]:
    """All of them if some entry has them, else those of the entry with most."""
    had = [[game for game in games if (rows["game"] == game).any()] for rows in ours.values()]
    return max(had, key=len, default=[]) or games


def _score_charts(
    ours: Mapping[str, pd.DataFrame], random: pd.DataFrame, games: Sequence[str]
) -> Iterator[ReportFigure]:
    if not ours:
        yield ReportFigure("scores", "Normalised scores as published.", score_chart(NOOP_STARTS, None, games))
    for name, rows in ours.items():
        # Names of experiments, which have these, stay apart.
        stem = "scores_" + "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in name)
        chart = score_chart(NOOP_STARTS, (name, entry_by_game(rows, NOOP_STARTS, random)), games)
        yield ReportFigure(
            stem, f"Normalised scores of ours: {name}; games in order of score, beside the published agents.", chart
        )


def _hours_table(hours: pd.DataFrame) -> ReportTable:
    text = pd.DataFrame(
        {
            "run": [f"{run['experiment']}/{run['game']}/{run['seed']}" for run in hours.to_dict("records")],
            "hours to DQN's score": [
                "not reached" if value == float("inf") else f"{value:.2f}" for value in hours["hours"]
            ],
        }
    )
    note = "Evaluations under the published protocol only, during training and at its end."
    return ReportTable("time_to_score", "Hours to DQN's score, run by run", hours, text, (note,))
