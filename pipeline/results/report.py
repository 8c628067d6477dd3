"""The report as a value: every table, figure and caution that run folders give, in the order in which one reads them.

Not here: files and the page (`pipeline.results.report_files`), how each table or figure is made (their modules).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from pipeline.games import ATARI49
from pipeline.results.atari49 import atari49_table, counted_games, entry_by_game, normalised
from pipeline.results.budget_figure import budget_figure
from pipeline.results.cautions import blind_runs, missing_scores, protocol_warnings, unlike_runs, warm_starts
from pipeline.results.curves import Curve, learning_panels
from pipeline.results.equal_frames import budget_table, equal_frames_table, our_points
from pipeline.results.formats import ReportTable
from pipeline.results.import_section import imported_cautions, imported_curves, imported_table
from pipeline.results.imports import NOTHING, Imported
from pipeline.results.load import LoadedRuns, join_runs, short_commit
from pipeline.results.other_protocols import other_protocols_table
from pipeline.results.our_agents import MOST_GAMES, our_agents_table
from pipeline.results.profiles import profile_figure
from pipeline.results.protocols import HUMAN_STARTS, NOOP_STARTS
from pipeline.results.published import load_published
from pipeline.results.random_play import random_play_table
from pipeline.results.random_player import random_scores
from pipeline.results.run_scores import entries, run_scores, score_matrix
from pipeline.results.run_settings import unlike_settings
from pipeline.results.score_chart import score_chart
from pipeline.results.scores import normalised_score
from pipeline.results.summary import summary_table
from pipeline.results.table import as_report_table, table_of_scores
from pipeline.results.time_to_score import hours_to_score, time_to_score_figure

FEW_GAMES = 12
"""Of the 49; a report of no more is of these alone."""


class ReportFigure(NamedTuple):
    """One figure; `caption` says what it shows, also to who cannot see it."""

    name: str
    """Of its files."""
    caption: str
    figure: Figure


class Section(NamedTuple):
    """A heading with what stands below it."""

    anchor: str
    title: str
    text: str
    tables: tuple[ReportTable, ...]
    figures: tuple[ReportFigure, ...]


class Report(NamedTuple):
    """All that the page shows."""

    facts: tuple[tuple[str, str], ...]
    """Name and value, of the runs behind it."""
    warnings: tuple[str, ...]
    """What may not be compared: said before any number."""
    sections: tuple[Section, ...]
    missing: tuple[str, ...]
    """Games, seeds and ends of runs that are not there."""
    problems: tuple[str, ...]
    """Files that are missing, cut off or unreadable."""
    scores: pd.DataFrame
    """`run_scores`: one row per run, protocol and agent."""


class GameRuns(NamedTuple):
    """All that the section of one game is made of, little enough to be sent to another process."""

    game: str
    loaded: LoadedRuns
    """Its training and evaluation games, without its updates."""
    scores: pd.DataFrame
    """Its `run_scores`."""
    beside: tuple[Curve, ...]
    """Of other tools."""


def make_report(loaded: LoadedRuns, imported: Imported = NOTHING) -> Report:
    """Everything but the sections of single games (`game_section`), of runs as `load_runs` gives them."""
    scores = run_scores(loaded)
    return Report(
        facts=_facts(loaded, scores),
        warnings=(
            *protocol_warnings(scores),
            *unlike_runs(scores),
            *unlike_settings(loaded.runs),
            *warm_starts(loaded),
            *blind_runs(loaded),
            *imported_cautions(imported),
        ),
        sections=tuple(_sections(loaded, scores, imported)),
        missing=tuple(missing_scores(loaded, scores, games_of(loaded))),
        problems=(*loaded.problems, *imported.problems),
        scores=scores,
    )


def game_runs(loaded: LoadedRuns, scores: pd.DataFrame, imported: Imported = NOTHING) -> list[GameRuns]:
    """What each section of a single game is made of, games in order of their names; `scores` as in a Report."""
    nothing = join_runs([])
    episodes, evaluations, scored = (_by_game(rows) for rows in (loaded.episodes, loaded.evaluations, scores))
    return [
        GameRuns(
            str(game),
            nothing._replace(
                runs=runs,
                episodes=episodes.get(str(game), nothing.episodes),
                evaluations=evaluations.get(str(game), nothing.evaluations),
            ),
            scored.get(str(game), scores.iloc[:0]),
            imported_curves(imported, str(game)),
        )
        for game, runs in loaded.runs.groupby("game", sort=True)
    ]


def game_section(runs: GameRuns) -> Section:
    """Tables and curves of one game: ours, and beside published ones if a run has come as far as their first mark."""
    game, points = runs.game, our_points(runs.loaded.evaluations)
    tables = [as_report_table(table_of_scores(runs.scores, game), game)]
    caption = f"{game}: training scores and evaluations against frames, updates and wall time."
    figures = [ReportFigure(game, caption, learning_panels(runs.loaded, game, runs.beside))]
    if (budgets := budget_table(points, game)) is not None:
        tables.append(budgets)
        caption = f"{game}: our evaluations on published curves, whose bands are the range of their seeds."
        figures.append(ReportFigure(f"budgets_{game}", caption, budget_figure(points, game)))
    return Section(game, game, "", tuple(tables), tuple(figures))


def games_of(loaded: LoadedRuns) -> tuple[str, ...]:
    """The games that tables and figures have a place for: those of the 49 that have runs if they are few, else all."""
    with_runs = tuple(game for game in ATARI49 if (loaded.runs["game"] == game).any())
    return with_runs if 0 < len(with_runs) <= FEW_GAMES else ATARI49


def _sections(loaded: LoadedRuns, scores: pd.DataFrame, imported: Imported) -> Iterator[Section]:
    ours, random, games = entries(scores), random_scores(loaded), games_of(loaded)
    with_scores = sorted(scores["game"].unique())
    if 0 < len(with_scores) <= MOST_GAMES:
        text = "One row per experiment, and one for the random player of each protocol."
        yield Section("ours", "Our agents", text, (our_agents_table(scores, with_scores),), ())
    yield Section(
        "summary",
        "Summary",
        "One row per agent. Figures over other sets of games may not be compared with each other.",
        (summary_table(NOOP_STARTS, ours, random, games),),
        (_profiles(ours, games),),
    )
    yield Section(
        "games49",
        "The 49 games" if games == ATARI49 else f"{counted_games(games)} of the 49",
        "Our scores beside the published ones, all under no-op starts.",
        (atari49_table(NOOP_STARTS, ours, random, games),),
        tuple(_score_charts(ours, random, games)),
    )
    if (placed := equal_frames_table(scores)) is not None:
        text = "What others published after as many frames. Hardly any of it was played like ours: each row says how."
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
        (summary_table(HUMAN_STARTS, {}, random), atari49_table(HUMAN_STARTS, {}, random)),
        (),
    )


def _by_game(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    # Once for all games: to look for each of 49 among the rows of all takes longer than to draw it.
    return {str(game): of_game for game, of_game in rows.groupby("game", sort=False)}


def _profiles(ours: Mapping[str, pd.DataFrame], games: Sequence[str]) -> ReportFigure:
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


def _score_charts(
    ours: Mapping[str, pd.DataFrame], random: pd.DataFrame, games: Sequence[str]
) -> Iterator[ReportFigure]:
    if not ours:
        yield ReportFigure("scores", "Normalised scores as published.", score_chart(NOOP_STARTS, None, games))
    for name, rows in ours.items():
        stem = "scores_" + "".join(letter if letter.isalnum() else "_" for letter in name)
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


def _facts(loaded: LoadedRuns, scores: pd.DataFrame) -> tuple[tuple[str, str], ...]:
    runs = loaded.runs
    return (
        ("runs", str(len(runs))),
        ("experiments", _listed(runs["experiment"])),
        ("games", str(runs["game"].nunique())),
        ("seeds", _listed(f"seed {seed}" for seed in runs["seed"])),
        ("protocols", _listed(scores["protocol"])),
        ("evaluation games", f"{len(loaded.evaluations):,}"),
        ("commits", _listed(filter(None, map(short_commit, runs["commit"])))),
        *(
            (f"scores of {name}", f"{_counted(played['game'], 'game')}, {_counted(played['seed'], 'seed')}")
            for name, played in entries(scores).items()
        ),
    )


def _counted(values: pd.Series, what: str) -> str:
    number = values.nunique()
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _listed(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in sorted(set(values), key=str)) or "none"
