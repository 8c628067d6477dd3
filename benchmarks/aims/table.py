"""Ratios that have an aim, over all that was measured: `python -m benchmarks.aims.table` writes their table anew.

It stands in results/README.md. A ratio that reached its aim once is shown with the times at which it did not.
Not here: measuring (each benchmark), aims of DBA3C (`studies.dba3c.scaling`) and beside other libraries
(`benchmarks.peers.table`).
"""

import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.rows import CHECKOUT, RESULTS, Row, read
from measuring.markdown import commits_cell, markdown, with_table

ROWS = RESULTS / "amd-epyc-2-cores.jsonl"
PAGE = CHECKOUT / "results" / "README.md"
NAME = "aims"
"""Of the marks in the page."""


class Aim(NamedTuple):
    """Of one ratio."""

    what: str
    benchmark: str
    where: Mapping[str, Any]
    """What a row of the benchmark has to say."""
    ratio: str
    """Its column."""
    bound: float
    is_least: bool
    """Whether the ratio is to be the bound or more, or else no more."""

    def missed(self, ratio: float) -> bool:
        """Whether it is on the wrong side."""
        return ratio < self.bound if self.is_least else ratio > self.bound


AIMS = (
    Aim(
        "actor with replay, without inference, over bare `AtariVectorEnv`, Pong, 16 lanes, 2 threads",
        "actor_stepping",
        {"num_threads": 2},
        "actor_over_bare",
        0.90,
        is_least=True,
    ),
    Aim("replay sample of 32 over one update", "replay_share", {}, "sample_over_update", 0.05, is_least=False),
    Aim("`gorila` in threads, 2 bundles over 1, Pong", "gorila_scaling", {}, "two_over_one", 1.8, is_least=True),
    Aim(
        "the same 2 bundles over two loops without any server",
        "gorila_scaling",
        {},
        "two_over_no_server",
        0.90,
        is_least=True,
    ),
    *(
        Aim(
            f"push + pull of 1.69 million parameters over TCP, {dtype}, over a bare socket with as many bytes",
            "server_wire",
            {"wire_dtype": dtype},
            "push_pull_over_socket",
            4.0,
            is_least=False,
        )
        for dtype in ("float32", "bfloat16")
    ),
)


def main(page: Path = PAGE, rows: Path = ROWS) -> None:
    """Write the table between its marks."""
    page.write_text(with_table(page.read_text(encoding="utf-8"), NAME, table(read(rows))), encoding="utf-8")


def table(rows: Iterable[Row], aims: Iterable[Aim] = AIMS) -> str:
    """A line for each aim that was measured: median, lowest and highest of all rows."""
    kept = list(rows)
    return markdown(line for aim in aims if (line := _line(aim, kept)) is not None)


def _line(aim: Aim, rows: Iterable[Row]) -> Mapping[str, str] | None:
    own = [
        row
        for row in rows
        if row["benchmark"] == aim.benchmark and all(row[name] == value for name, value in aim.where.items())
    ]
    if not own:
        return None
    ratios = [row[aim.ratio] for row in own]
    several = f" ({min(ratios):.3g} to {max(ratios):.3g})" if len(ratios) > 1 else ""
    num_missed = sum(map(aim.missed, ratios))
    return {
        "ratio": aim.what,
        "measured": f"{len(ratios)} time{'s' if len(ratios) > 1 else ''}",
        "median (lowest to highest)": f"{statistics.median(ratios):.3g}{several}",
        "aim": f"{'at least' if aim.is_least else 'at most'} {aim.bound:g}",
        "missed": f"{num_missed} of {len(ratios)}",
        "commits": commits_cell(row["commit"] for row in own),
    }


if __name__ == "__main__":
    main()
