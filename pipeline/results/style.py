"""How every figure looks, and how it is written: PNG, SVG and PDF files, and SVG inside a light or dark page.

Not here: what a figure shows (`pipeline.results.curves` and others), the page (`pipeline.results.report_files`).
"""

import io
import re
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito 2008, told apart by colour-blind readers; one per experiment, then again from the front."""

LINES = ("-", "--", ":", "-.")
"""One per seed of an experiment, then again from the front."""

MARKERS = ("o", "s", "^", "D")
"""One per round through COLOURS or LINES, where a figure has more of either."""

PAPER, INK, FAINT = "#ffffff", "#24292f", "#8c959f"
"""Background, text, and what stands behind: the grid, and scores that are there for comparison."""

_ON_PAGE = {PAPER: "var(--paper)", INK: "var(--ink)", FAINT: "var(--faint)"} | {
    colour.lower(): f"var(--series-{index})" for index, colour in enumerate(COLOURS)
}
"""Colour of a file -> variable of the page's style sheet, which has a light and a dark value for each."""

# matplotlib has a type for the names of its settings, but only since a later version than the oldest that we allow.
STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": PAPER,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "figure.dpi": 150,
    "figure.facecolor": PAPER,
    "grid.alpha": 0.35,
    "grid.color": FAINT,
    "legend.frameon": False,
    "savefig.facecolor": PAPER,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    # Text stays text: smaller, searchable, read aloud.
    "svg.fonttype": "none",
    # Type 3 fonts, matplotlib's default, are refused by many journals.
    "pdf.fonttype": 42,
    # Else the names inside are random, and the same runs would give another file each time.
    "svg.hashsalt": "pipeline",
}
"""Settings of matplotlib while a figure is made: `with matplotlib.rc_context(STYLE): …`."""

NAMES_STYLE: Any = STYLE | {"text.parse_math": False}
"""The same for a figure with names that others gave: "$" in them is no mathematics. Ticks need a formatter of their own
on logarithmic axes, where those of matplotlib write formulas."""

_NO_WIDTH = "\u200b"


def legend_label(name: str) -> str:
    """A label that begins with a name that others gave: matplotlib leaves out what begins with an underscore."""
    return _NO_WIDTH + name if name.startswith("_") else name


def settle(figure: Figure) -> None:
    """Work out the layout, and leave it: else each file that is written works it out again, twice."""
    if figure.get_layout_engine() is not None:
        with matplotlib.rc_context(STYLE):
            figure.draw_without_rendering()
        figure.set_layout_engine("none")


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the suffix gives the format (.png, .svg, .pdf). A settled one gives the same file each time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".svg":
        path.write_text(as_svg(figure), encoding="utf-8")
        return
    # A PDF has the date of its making, unless one says that there is none.
    without_date: Any = {"metadata": {"CreationDate": None}} if path.suffix == ".pdf" else {}
    with matplotlib.rc_context(STYLE):
        figure.savefig(path, **without_date)


def as_svg(figure: Figure) -> str:
    """A figure as the text of an SVG file, without the date."""
    text = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return text.getvalue()


def inline_svg(svg: str, name: str, label: str) -> str:
    """An `as_svg` for the inside of a page: the page's colours, ids of its own, and `label` for who cannot see it."""
    element = svg[svg.index("<svg") :]
    # A page holds many figures, and in each the first axes are called axes_1.
    element = re.sub(r'(\bid="|href="#|url\(#)', lambda start: f"{start[1]}{name}-", element)
    element = re.sub("|".join(_ON_PAGE), lambda match: _ON_PAGE[match[0].lower()], element, flags=re.IGNORECASE)
    quoted = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return element.replace("<svg", f'<svg role="img" aria-label="{quoted}"', 1)


def look(index: int) -> tuple[str, str]:
    """Line and colour of the agent with this number, from 0 on: another line for each round through COLOURS."""
    return LINES[index // len(COLOURS) % len(LINES)], COLOURS[index % len(COLOURS)]
