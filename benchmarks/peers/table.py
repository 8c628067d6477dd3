"""The table of docs/performance.md, from rows: `python -m benchmarks.peers.table` writes it anew.

With the names of files it prints the table of their rows instead.

Of each processor, by class and model, the newest session, a line for each contender: medians over its rounds, and
for ours the median of the ratios within single rounds to the fastest peer of that round that learns in the same way.
Not here: measuring (`benchmarks.peers.__main__`).
"""

import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.rows import PERFORMANCE, RESULTS, Row, read
from measuring.markdown import commits_cell, markdown, with_table
from measuring.processor import kind_of

ROWS = RESULTS / "peers.jsonl"
NAME = "peers"
"""Of the marks in the document."""


def main(document: Path = PERFORMANCE, rows: Path = ROWS) -> None:
    """Write the table between its marks."""
    document.write_text(with_table(document.read_text(encoding="utf-8"), NAME, table(read(rows))), encoding="utf-8")


def table(rows: Iterable[Row]) -> str:
    """Markdown; without rows a sentence that says so."""
    sessions: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        sessions.setdefault(kind_of(row), {}).setdefault(row["session"], []).append(row)
    lines = [
        line
        for processor, of_processor in sorted(sessions.items())
        for line in _lines(processor, of_processor[max(of_processor)])
    ]
    return markdown(lines) if lines else "Not measured yet."


def best_peers(rows: Iterable[Row]) -> dict[tuple[int, str], float]:
    """(round, kind) -> steps per second of the fastest library beside ours."""
    best: dict[tuple[int, str], float] = {}
    for row in rows:
        if not row["ours"] and "steps_per_second" in row:
            key = row["round"], row["kind"]
            best[key] = max(best.get(key, 0.0), row["steps_per_second"])
    return best


def ratios(rows: Sequence[Row], name: str) -> list[float]:
    """Of one of ours to the best peer of each round that has both."""
    best = best_peers(rows)
    return [
        row["steps_per_second"] / best[row["round"], row["kind"]]
        for row in rows
        if row["contender"] == name and "steps_per_second" in row and (row["round"], row["kind"]) in best
    ]


def _lines(processor: str, rows: Sequence[Row]) -> Iterable[Mapping[str, str]]:
    names = dict.fromkeys(row["contender"] for row in sorted(rows, key=lambda row: row["kind"] != "q_learner"))
    for name in names:
        of_name = [row for row in rows if row["contender"] == name]
        measured = [row for row in of_name if "steps_per_second" in row]
        # Why the others have no figures; the same reason once.
        reasons = ", ".join(dict.fromkeys(row["reason"] for row in of_name if row["reason"]))
        found = ratios(rows, name) if of_name[0]["ours"] else []
        yield {
            "processor": processor,
            "": f"**`{name}`**" if of_name[0]["ours"] else of_name[-1].get("library", "") + f" `{name}`",
            "cores": str(of_name[0]["num_cores_used"]),
            "rounds": f"{len(measured)} of {len(of_name)}" + (f": {reasons}" if reasons else ""),
            "steps/s": _spread([row["steps_per_second"] for row in measured], 0),
            "updates/s": _spread([row["updates_per_second"] for row in measured], 1),
            "memory, GB": f"{max(row['peak_rss_gb'] for row in measured):.2f}" if measured else "",
            "against the best peer of the round": _spread(found, 2),
            "commit": commits_cell(row["commit"] for row in of_name),
        }


def _spread(values: Sequence[float], decimals: int) -> str:
    if not values:
        return ""
    low, middle, high = (f"{value:,.{decimals}f}" for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})" if len(values) > 1 else middle


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(table([row for file in sys.argv[1:] for row in read(Path(file))]))
    else:
        main()
