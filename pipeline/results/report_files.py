"""A report as files: tables as CSV, Markdown and LaTeX, figures as PNG, SVG and PDF, and one page with all of it.

    <output>/tables/*.csv *.md *.tex   <output>/figures/*.png *.svg *.pdf   <output>/report.html

The page holds its figures and its style, and asks for nothing from outside.
Not here: what stands in a report (`pipeline.results.report`).
"""

import functools
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import jinja2
import numpy as np

from pipeline.results.formats import MISSING, ReportTable, write_table
from pipeline.results.imports import NOTHING, Imported
from pipeline.results.load import LoadedRuns
from pipeline.results.report import GameRuns, Report, game_runs, game_section, make_report
from pipeline.results.report_parts import Section
from pipeline.results.report_sections import games_of
from pipeline.results.run_scores import entries, rliable_scores
from pipeline.results.style import as_svg, inline_svg, save_figure, settle
from pipeline.whole_file import whole_arrays

_OPEN_GAMES = 6
"""With more games than this, their sections are closed until one opens them."""

_GAMES_PER_PROCESS = 8
"""Fewer are drawn sooner than another process has started."""


Progress = Callable[[int, int], object]
"""Takes the number of games that are drawn, and that of all."""


class PageFigure(NamedTuple):
    """A figure as the inside of a page has it."""

    caption: str
    svg: str


class PageSection(NamedTuple):
    """A section with its figures drawn."""

    anchor: str
    title: str
    text: str
    tables: tuple[ReportTable, ...]
    figures: tuple[PageFigure, ...]


class WrittenSection(NamedTuple):
    """A section for the page, and the files that were written for it."""

    page: PageSection
    paths: tuple[Path, ...]


def write_report(
    loaded: LoadedRuns,
    output_dir: Path,
    source: str = "",
    *,
    imported: Imported = NOTHING,
    with_seeds: bool = False,
    num_processes: int = 1,
    progress: Progress | None = None,
) -> list[Path]:
    """Write everything below `output_dir`; files of a former report are written anew. Returns the paths.

    `source` names the runs in the page's head. With more than one process, sections of single games are written in as
    many others, to the same files; they are started by `spawn`, so that a script needs its `__main__` guard.
    `with_seeds`: curves have a thin line for each seed. `progress` is told how many games of how many are drawn.
    """
    report = make_report(loaded, imported)
    rows = _write_rows(report, loaded, output_dir / "tables")
    runs = game_runs(loaded, report.scores, imported, with_seeds=with_seeds)
    num_processes = min(num_processes, len(runs) // _GAMES_PER_PROCESS)
    with ExitStack() as stack:
        apply: Callable[..., Iterator[WrittenSection]] = map
        if num_processes > 1:
            apply = stack.enter_context(ProcessPoolExecutor(num_processes, multiprocessing.get_context("spawn"))).map
        # Other processes begin at once, beside what comes next.
        drawn = apply(functools.partial(_write_game, output_dir), runs)
        sections = [_write_section(section, output_dir) for section in report.sections]
        games = []
        for game in drawn:
            games.append(game)
            if progress is not None:
                progress(len(games), len(runs))
    page = output_dir / "report.html"
    page.write_text(
        as_html(report, [section.page for section in sections], [game.page for game in games], source), encoding="utf-8"
    )
    return [*rows, *(path for section in (*sections, *games) for path in section.paths), page]


def as_html(report: Report, sections: Sequence[PageSection], games: Sequence[PageSection], source: str) -> str:
    """The page, with the sections of all games together and those of single games."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("pipeline.results"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return templates.get_template("report.html").render(
        report=report,
        sections=sections,
        games=games,
        games_open=len(games) <= _OPEN_GAMES,
        source=source,
        missing=MISSING,
    )


def _write_rows(report: Report, loaded: LoadedRuns, directory: Path) -> list[Path]:
    """Runs, scores and evaluation games, tidy, and the scores as arrays; training rows stay where they are."""
    directory.mkdir(parents=True, exist_ok=True)
    rows = {"runs": loaded.runs, "scores": report.scores, "evaluations": loaded.evaluations}
    for name, frame in rows.items():
        frame.to_csv(directory / f"{name}.csv", index=False)
    arrays = directory / "rliable.npz"
    games = games_of(loaded)
    # Experiments may be called anything that a keyword is.
    whole_arrays(arrays, {**rliable_scores(entries(report.scores), games), "games": np.array(games)})
    return [*(directory / f"{name}.csv" for name in rows), arrays]


def _write_game(output_dir: Path, runs: GameRuns) -> WrittenSection:
    return _write_section(game_section(runs), output_dir)


def _write_section(section: Section, output_dir: Path) -> WrittenSection:
    paths = [path for table in section.tables for path in write_table(table, output_dir / "tables")]
    figures = []
    for drawn in section.figures:
        png, svg, pdf = (output_dir / "figures" / f"{drawn.name}.{kind}" for kind in ("png", "svg", "pdf"))
        settle(drawn.figure)
        save_figure(drawn.figure, png)
        save_figure(drawn.figure, pdf)
        text = as_svg(drawn.figure)
        svg.write_text(text, encoding="utf-8")
        paths += [png, svg, pdf]
        figures.append(PageFigure(drawn.caption, inline_svg(text, drawn.name, drawn.caption)))
    page = PageSection(section.anchor, section.title, section.text, section.tables, tuple(figures))
    return WrittenSection(page, tuple(paths))
