"""The tables of docs/clusters/gpus.md, from rows: `python -m benchmarks.devices.table` writes them anew.

Not here: measuring (`benchmarks.devices.__main__`).
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.rows import CHECKOUT, RESULTS, Row, read
from measuring.markdown import commits_cell, markdown, with_tables

ROWS = RESULTS / "nvidia-h200.jsonl"
DOCUMENT = CHECKOUT / "docs" / "clusters" / "gpus.md"


def main(document: Path = DOCUMENT, rows: Path = ROWS) -> None:
    """Write the tables between their marks."""
    document.write_text(with_tables(document.read_text(), tables(read(rows))))


def tables(rows: Iterable[Row]) -> Mapping[str, str]:
    """By their names: of steps and of runs. Raises ValueError without rows of either."""
    kinds: dict[str, list[Row]] = {"devices_step": [], "devices_run": []}
    for row in rows:
        kinds[row["benchmark"]].append(row)
    return {
        "steps": markdown(_line_of_steps(key, alike) for key, alike in _grouped(kinds["devices_step"], "batch_size")),
        "runs": markdown(
            _line_of_runs(key, alike) for key, alike in _grouped(kinds["devices_run"], "cluster", "num_playing")
        ),
    }


def _grouped(rows: Sequence[Row], *names: str) -> Iterable[tuple[tuple[Any, ...], list[Row]]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["experiment"], *(row[name] for name in names), row["commit"]), []).append(row)
    # Commits have no order of their own: that of the file stands.
    return sorted(groups.items(), key=lambda item: (item[0][0] != "gorila", item[0][1] == "processes", *item[0][1:-1]))


def _line_of_steps(key: tuple[Any, ...], rows: Sequence[Row]) -> Mapping[str, str]:
    experiment, batch_size, commit = key
    times = {(row["device"], row["dtype"]): f"{row['gradient_ms']:.1f}" for row in rows}
    return {
        "": f"`{experiment}`",
        "minibatch": str(batch_size),
        "a core, float32": times.get(("cpu", "float32"), ""),
        "a core, bfloat16": times.get(("cpu", "bfloat16"), ""),
        "GPU, float32": times.get(("cuda", "float32"), ""),
        "GPU, bfloat16": times.get(("cuda", "bfloat16"), ""),
        "commit": commits_cell([commit]),
    }


def _line_of_runs(key: tuple[Any, ...], rows: Sequence[Row]) -> Mapping[str, str]:
    experiment, cluster, count, commit = key
    rates, admitted = (
        {
            device: statistics.median(values)
            for device in ("cpu", "cuda")
            if (values := [row[name] for row in rows if row["device"] == device and name in row])
        }
        for name in ("steps_per_second", "admitted_share")
    )
    both = len(rates) == 2
    return {
        "": f"`{experiment}`",
        "cluster": cluster,
        "bundles or workers": str(count),
        "processor, steps/s": f"{rates['cpu']:,.0f}" if "cpu" in rates else "",
        "GPU, steps/s": f"{rates['cuda']:,.0f}" if "cuda" in rates else "",
        "GPU / processor": f"{rates['cuda'] / rates['cpu']:.2f}" if both else "",
        "gradients admitted": ", ".join(f"{100 * share:.0f} %" for share in admitted.values()),
        "commit": commits_cell([commit]),
    }


if __name__ == "__main__":
    main()
