"""The report as a value: every table, figure and caution that run folders give, in the order in which one reads them.

Not here: files and the page (`pipeline.results.report_files`), the sections of several games
(`pipeline.results.report_sections`), how each table or figure is made (their modules).
"""

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from pipeline.results.budget_figure import budget_figure
from pipeline.results.cautions import blind_runs, missing_scores, protocol_warnings, unlike_runs, warm_starts
from pipeline.results.curves import Curve, learning_panels
from pipeline.results.equal_frames import budget_table, our_points
from pipeline.results.import_section import imported_cautions, imported_curves
from pipeline.results.imports import NOTHING, Imported
from pipeline.results.load import LoadedRuns, join_runs, short_commit
from pipeline.results.report_parts import ReportFigure, Section
from pipeline.results.report_sections import games_of, sections_of
from pipeline.results.run_scores import entries, run_scores
from pipeline.results.run_settings import unlike_settings
from pipeline.results.table import as_report_table, table_of_scores


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
    with_seeds: bool
    """Whether each seed has a thin line of its own."""


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
        sections=tuple(sections_of(loaded, scores, imported)),
        missing=tuple(missing_scores(loaded, scores, games_of(loaded))),
        problems=(*loaded.problems, *imported.problems),
        scores=scores,
    )


def game_runs(
    loaded: LoadedRuns, scores: pd.DataFrame, imported: Imported = NOTHING, *, with_seeds: bool = False
) -> list[GameRuns]:
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
            with_seeds,
        )
        for game, runs in loaded.runs.groupby("game", sort=True)
    ]


def game_section(runs: GameRuns) -> Section:
    """Tables and curves of one game: ours, and beside published ones if a run has come as far as their first mark."""
    game, points = runs.game, our_points(runs.loaded.evaluations)
    tables = [as_report_table(table_of_scores(runs.scores, game), game)]
    caption = f"{game}: training scores and evaluations against frames, updates and wall time."
    figures = [ReportFigure(game, caption, learning_panels(runs.loaded, game, runs.beside, with_seeds=runs.with_seeds))]
    if (budgets := budget_table(points, game)) is not None:
        tables.append(budgets)
        caption = f"{game}: our evaluations on published curves, whose bands are the range of their seeds."
        figures.append(ReportFigure(f"budgets_{game}", caption, budget_figure(points, game)))
    return Section(game, game, "", tuple(tables), tuple(figures))


def _by_game(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    # Once for all games: to look for each of 49 among the rows of all takes longer than to draw it.
    return {str(game): of_game for game, of_game in rows.groupby("game", sort=False)}


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
