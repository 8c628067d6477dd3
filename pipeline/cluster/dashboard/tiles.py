"""Where each job of a sweep stands in the grid: one row a game, one column for all else that was asked.

    game          experiment=gorila   experiment=dba3c   |   game          experiment=gorila   experiment=dba3c
    Alien         [              ]    [             ]    |   Kangaroo      [              ]    [             ]
    ...                                                  |   ...

Rows are wrapped into blocks side by side while the columns are few. A sweep that is no table of games (a search over
parameters, another program's jobs) has one row for each job and one column.
Not here: colours and drawing (`pipeline.cluster.dashboard.sweep_figure`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pipeline.cluster.dashboard.sweep import FAILED, INTERRUPTED, Job

MAX_COLUMNS = 12
"""More than these would be too narrow for a score."""
_MAX_WIDTH = 10.0
"""In columns; another block of rows is begun only where all blocks together stay below."""
_MAX_ROW_LABEL, _MAX_COLUMN_LABEL = 66, 16
"""Letters."""


class Tile(NamedTuple):
    """One job in the grid. x and y count columns and rows, y downwards; tiles are 1 wide, labels stand before them."""

    x: float
    y: int
    job: int
    text: str
    """Score and share of the budget, as far as they are known."""


class Label(NamedTuple):
    """A word in the grid. Of a row: its right end at (x, y); of a column: its middle at x, above row 0 at y -1."""

    x: float
    y: int
    text: str


class Grid(NamedTuple):
    """The whole grid; its rows begin at y 0."""

    tiles: tuple[Tile, ...]
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    width: float
    height: int


def arrange(jobs: Mapping[int, Job]) -> Grid:
    """The grid of these jobs, rows and columns in the order of the jobs."""
    cells = _cells(jobs)
    rows, columns = (_numbered(cell[side] for cell in cells.values()) for side in (0, 1))
    # In columns; a column has room for some fifteen letters.
    label_width = max(map(len, rows), default=0) / 15 + 0.15
    block_width = label_width + len(columns)
    num_rows = -(-len(rows) // max(1, int(_MAX_WIDTH / block_width)))
    num_blocks = -(-len(rows) // max(num_rows, 1))

    def corner(row: str) -> tuple[float, int]:
        block, y = divmod(rows[row], num_rows)
        return block * block_width + label_width, y

    tiles = []
    for number, (row, column) in cells.items():
        x, y = corner(row)
        tiles.append(Tile(x + columns[column], y, number, text_of(jobs[number])))
    heads = [
        Label(block * block_width + label_width + index + 0.5, -1, _short(column, _MAX_COLUMN_LABEL))
        for block in range(num_blocks)
        for column, index in columns.items()
    ]
    return Grid(
        tuple(tiles), tuple(Label(*corner(row), row) for row in rows), tuple(heads), num_blocks * block_width, num_rows
    )


def text_of(job: Job) -> str:
    """The score of a job's newest training games and how far it is, "31.4 · 20%"; its final score; that it failed."""
    score = job.glance.mean_score if job.glance is not None and job.final_score is None else job.final_score
    words = [] if score is None else [f"{score:,.1f}" if abs(score) < 1000 else f"{score:,.0f}"]
    if job.status in (FAILED, INTERRUPTED):
        words = [job.status]
    if job.fraction is not None and job.fraction < 1:
        words.append(f"{job.fraction:.0%}")
    return " · ".join(words)


def _cells(jobs: Mapping[int, Job]) -> dict[int, tuple[str, str]]:
    """Job -> its row and its column."""
    asked = {number: settings_of(job) for number, job in jobs.items()}
    shared = _shared(list(asked.values()))
    cells = {number: _cell(settings, shared) for number, settings in asked.items()}
    games = {number: cell for number, cell in cells.items() if cell is not None}
    columns = {column for _, column in games.values()}
    # Columns of long names that begin alike would all look the same.
    are_told_apart = len({_short(column, _MAX_COLUMN_LABEL) for column in columns}) == len(columns) <= MAX_COLUMNS
    if len(games) == len(jobs) == len(set(games.values())) and are_told_apart:
        return games
    return {number: (_by_number(number, settings, shared), "") for number, settings in asked.items()}


def settings_of(job: Job) -> dict[str, str]:
    """What a job was asked, by the names of the settings."""
    if not job.overrides and job.glance is not None:
        return {"experiment": job.glance.experiment, "game": job.glance.game, "seed": str(job.glance.seed)}
    return dict(override.lstrip("+").partition("=")[::2] for override in job.overrides)


def differing(asked: Sequence[Mapping[str, str]]) -> list[str]:
    """Of each job's settings those that tell it from the others, in words."""
    shared = _shared(asked)
    return [_words(settings, shared) for settings in asked]


def _shared(asked: Sequence[Mapping[str, str]]) -> set[str]:
    """Settings that tell no job from another."""
    values: dict[str, set[str | None]] = {name: set() for settings in asked for name in settings}
    for settings in asked:
        for name, seen in values.items():
            seen.add(settings.get(name))
    return {name for name, seen in values.items() if len(seen) == 1}


def _cell(settings: Mapping[str, str], shared: set[str]) -> tuple[str, str] | None:
    if "game" not in settings:
        return None
    words = [settings["experiment"]] if "experiment" in settings else []
    rest = {name: value for name, value in settings.items() if name not in {"game", "experiment"} | shared}
    words += [f"{_last_part(name)} {value}" for name, value in rest.items()]
    return settings["game"], " · ".join(words)


def _by_number(number: int, settings: Mapping[str, str], shared: set[str]) -> str:
    words = _words(settings, shared)
    return _short(f"job {number}" + (": " if words else "") + words, _MAX_ROW_LABEL)


def _words(settings: Mapping[str, str], shared: set[str]) -> str:
    return " ".join(f"{_last_part(name)}={_rounded(value)}" for name, value in settings.items() if name not in shared)


def _rounded(value: str) -> str:
    """A number that somebody has drawn, with four digits."""
    try:
        return f"{float(value):.4g}" if "." in value else value
    except ValueError:
        return value


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _numbered(words: Iterable[str]) -> dict[str, int]:
    """Word -> its place among all, in the order of their first appearance."""
    return {word: index for index, word in enumerate(dict.fromkeys(words))}


def _short(text: str, num_letters: int) -> str:
    return text if len(text) <= num_letters else text[: num_letters - 1] + "…"
