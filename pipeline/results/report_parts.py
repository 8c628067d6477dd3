"""What a report is made of: figures and sections.

Not here: which ones (`pipeline.results.report_sections`, `.report`).
"""

from typing import NamedTuple

from matplotlib.figure import Figure

from pipeline.results.formats import ReportTable


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
