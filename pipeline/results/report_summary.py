"""What a report says on the terminal: what it is of, and where it is.

Not here: the report itself (`pipeline.results.report`), its files (`pipeline.results.report_files`).
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import pandas as pd


def found(runs: pd.DataFrame) -> str:
    """What there is to report: "12 runs of 3 experiments, 2 games, seeds 0 to 2"."""
    seeds = sorted(runs["seed"].unique())
    of_seeds = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    parts = [_counted(runs["experiment"].nunique(), "experiment"), _counted(runs["game"].nunique(), "game"), of_seeds]
    return f"{_counted(len(runs), 'run')} of {', '.join(parts)}"


def written(paths: Sequence[Path]) -> str:
    """Where to look: the page first, then how many files are in which folder."""
    page = next(path for path in paths if path.suffix == ".html")
    lines = [str(page)]
    for folder in dict.fromkeys(path.parent for path in paths if path != page):
        kinds = Counter(path.suffix.removeprefix(".") for path in paths if path.parent == folder)
        lines.append(f"{folder}: {', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}")
    return "\n".join(lines)


def left_over(paths: Sequence[Path]) -> str | None:
    """That files of another report lie beside these, in words; None: there are none."""
    beside = {path.parent: {other for other in path.parent.iterdir() if other.is_file()} for path in paths}
    page = next(path for path in paths if path.suffix == ".html")
    del beside[page.parent]  # that one holds what it likes
    others = sorted(set().union(*beside.values()) - set(paths))
    if not others:
        return None
    name = others[0].relative_to(page.parent)
    which = (
        f"1 file is not of this report ({name})"
        if len(others) == 1
        else f"{len(others)} files are not of this report ({name}, …)"
    )
    return f"warning: {which}: an earlier one may have left it"


@contextlib.contextmanager
def drawing(stream: TextIO) -> Iterator[Callable[[int, int], None]]:
    """A line that says how many games are drawn, and is gone at the end; nothing where nobody looks."""
    if not stream.isatty():
        yield lambda num_drawn, num_all: None
        return

    def show(num_drawn: int, num_all: int) -> None:
        stream.write(f"\r{num_drawn} of {_counted(num_all, 'game')} drawn")
        stream.flush()

    try:
        stream.write("the sections of all games are drawn …")
        stream.flush()
        yield show
    finally:
        stream.write("\r\033[K")


def _counted(count: int, noun: str) -> str:
    """ "1 run", "2 runs"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
