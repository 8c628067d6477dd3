"""What has an aim, over all rows of its benchmark: `python -m benchmarks.aims.table` writes their table anew.

It stands in results/README.md. What reached its aim once is shown with the times at which it did not.
Not here: measuring (each benchmark), aims of DBA3C (`studies.dba3c.scaling`) and beside other libraries
(`benchmarks.peers.table`).
"""

import statistics
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.rows import CHECKOUT, RESULTS, Row, read
from measuring.markdown import commits_cell, markdown, with_table

EPYC = "amd-epyc-2-cores.jsonl"
WIRE = "gradient_wire.jsonl"
PAGE = CHECKOUT / "results" / "README.md"
NAME = "aims"
"""Of the marks in the page."""


class Aim(NamedTuple):
    """Of one figure."""

    what: str
    """With its unit, unless it is a ratio."""
    benchmark: str
    where: Mapping[str, Any]
    """What a row of the benchmark has to say."""
    measured: Callable[[Row], float]
    bound: float
    is_least: bool
    """Whether the figure is to be the bound or more, or else no more."""
    files: tuple[str, ...] = (EPYC,)
    """That its rows are in, in the order in which they were measured."""

    def missed(self, figure: float) -> bool:
        """Whether it is on the wrong side."""
        return figure < self.bound if self.is_least else figure > self.bound


def over_socket(row: Row) -> float:
    """Push and pull over TCP to a bare socket, round by round; of rows without that ratio the quotient of medians."""
    ratio: float | None = row.get("push_pull_over_socket")
    return (row["push_tcp_ms"] + row["pull_tcp_ms"]) / row["socket_ms"] if ratio is None else ratio


AIMS = (
    Aim(
        "actor with replay, without inference, over bare `AtariVectorEnv`, Pong, 16 lanes, 2 threads",
        "actor_stepping",
        {"num_threads": 2},
        itemgetter("actor_over_bare"),
        0.90,
        is_least=True,
    ),
    Aim(
        "replay sample of 32 over one update",
        "replay_share",
        {},
        itemgetter("sample_over_update"),
        0.05,
        is_least=False,
    ),
    Aim(
        "`gorila` in threads, 2 bundles over 1, Pong",
        "gorila_scaling",
        {},
        itemgetter("two_over_one"),
        1.8,
        is_least=True,
    ),
    Aim(
        "the same 2 bundles over two loops without any server",
        "gorila_scaling",
        {},
        itemgetter("two_over_no_server"),
        0.90,
        is_least=True,
    ),
    *(
        Aim(
            f"push + pull of 1.69 million parameters over TCP, {dtype}, over a bare socket with as many bytes",
            "server_wire",
            {"wire_dtype": dtype},
            over_socket,
            4.0,
            is_least=False,
            files=(EPYC, WIRE),
        )
        for dtype in ("float32", "bfloat16")
    ),
    Aim(
        "steps into a global replay over TCP, 64 in a message: bytes of one over those of its frame and scalars",
        "replay_wire",
        {"chunk_transitions": 64},
        itemgetter("add_bytes_over_frame_and_scalars"),
        1.1,
        is_least=False,
    ),
    Aim(
        "512 transitions by priority from 1 million, frames included, one core, ms",
        "replay_prioritised",
        {"data": "frames", "capacity": 1_000_000, "num_draws": 512},
        itemgetter("ours_ms"),
        5.0,
        is_least=False,
    ),
    Aim(
        "report of 49 games x 3 runs, 121 MB of rows, seconds",
        "report_time",
        {"num_folders": 147},
        itemgetter("report_seconds"),
        20.0,
        is_least=False,
    ),
)


def main(page: Path = PAGE, folder: Path = RESULTS) -> None:
    """Write the table between its marks."""
    page.write_text(with_table(page.read_text(encoding="utf-8"), NAME, table(folder)), encoding="utf-8")


def table(folder: Path = RESULTS, aims: Iterable[Aim] = AIMS) -> str:
    """A line for each aim that was measured: median, lowest and highest of all its rows in a folder."""
    return markdown(line for aim in aims if (line := _line(aim, folder)) is not None)


def _line(aim: Aim, folder: Path) -> Mapping[str, str] | None:
    own = [
        row
        for file in aim.files
        for row in read(folder / file)
        if row["benchmark"] == aim.benchmark and all(row[name] == value for name, value in aim.where.items())
    ]
    if not own:
        return None
    figures = [aim.measured(row) for row in own]
    several = f" ({min(figures):.3g} to {max(figures):.3g})" if len(figures) > 1 else ""
    num_missed = sum(map(aim.missed, figures))
    return {
        "what": aim.what,
        "measured": f"{len(figures)} time{'s' if len(figures) > 1 else ''}",
        "median (lowest to highest)": f"{statistics.median(figures):.3g}{several}",
        "aim": f"{'at least' if aim.is_least else 'at most'} {aim.bound:g}",
        "missed": f"{num_missed} of {len(figures)}",
        "commits": commits_cell(row["commit"] for row in own),
    }


if __name__ == "__main__":
    main()
