"""A report as files: tables as CSV, Markdown and LaTeX, figures as PNG and SVG, and one page with all of it.

    <output>/tables/*.csv *.md *.tex   <output>/figures/*.png *.svg   <output>/report.html

The page holds its figures and its style, and asks for nothing from outside.
Not here: what stands in a report (`pipeline.results.report`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jinja2

from pipeline.results.formats import MISSING, ReportTable, write_table
from pipeline.results.load import LoadedRuns
from pipeline.results.report import Report, ReportFigure, Section, game_sections, make_report
from pipeline.results.style import as_svg, inline_svg, save_figure, settle

_OPEN_GAMES = 6
"""With more games than this, their sections are closed until one opens them."""


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


def write_report(loaded: LoadedRuns, output_dir: Path, source: str = "") -> list[Path]:
    """Write everything below `output_dir`; files of a former report are written anew. Returns the paths.

    `source` names the runs in the page's head.
    """
    report = make_report(loaded)
    written = _write_rows(report, loaded, output_dir / "tables")
    sections = [_write_section(section, output_dir, written) for section in report.sections]
    games = [_write_section(section, output_dir, written) for section in game_sections(loaded, report.scores)]
    page = output_dir / "report.html"
    page.write_text(as_html(report, sections, games, source))
    return [*written, page]


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
    """Runs, their scores and their evaluation games, tidy; training rows stay where they are, they are many."""
    directory.mkdir(parents=True, exist_ok=True)
    rows = {"runs": loaded.runs, "scores": report.scores, "evaluations": loaded.evaluations}
    for name, frame in rows.items():
        frame.to_csv(directory / f"{name}.csv", index=False)
    return [directory / f"{name}.csv" for name in rows]


def _write_section(section: Section, output_dir: Path, written: list[Path]) -> PageSection:
    """Write a section's files, and add their paths to `written`."""
    for table in section.tables:
        written += write_table(table, output_dir / "tables")
    figures = tuple(_write_figure(drawn, output_dir / "figures", written) for drawn in section.figures)
    return PageSection(section.anchor, section.title, section.text, section.tables, figures)


def _write_figure(drawn: ReportFigure, directory: Path, written: list[Path]) -> PageFigure:
    png, svg = directory / f"{drawn.name}.png", directory / f"{drawn.name}.svg"
    settle(drawn.figure)
    save_figure(drawn.figure, png)
    text = as_svg(drawn.figure)
    svg.write_text(text)
    written += [png, svg]
    return PageFigure(drawn.caption, inline_svg(text, drawn.name, drawn.caption))
