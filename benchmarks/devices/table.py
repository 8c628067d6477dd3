"""The tables of docs/clusters/gpus.md, from rows: `python -m benchmarks.devices.table` writes them anew.

A line is of one commit and one kind of machine: processor, cores and GPU.
Not here: measuring (`benchmarks.devices.__main__`).
"""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.rows import CHECKOUT, RESULTS, Row, read
from measuring.markdown import commits_cell, markdown, with_tables

ROWS = RESULTS / "nvidia-h200.jsonl"
DOCUMENT = CHECKOUT / "docs" / "clusters" / "gpus.md"


def main(document: Path = DOCUMENT, rows: Path = ROWS) -> None:
    """Write the tables between their marks."""
    document.write_text(with_tables(document.read_text(encoding="utf-8"), tables(read(rows))), encoding="utf-8")


class _Where(NamedTuple):
    """What the figures of a line were measured with: a GPU beside one processor and beside another are two."""

    commit: str
    cpu: str
    num_cores: int
    gpu: str
    """ "" where none was measured."""

    @property
    def machine(self) -> str:
        """All but the code."""
        return f"{self.cpu}, {self.num_cores} cores" + (f", {self.gpu}" if self.gpu else "")


class _Line(NamedTuple):
    """What stands in one line."""

    size: tuple[Any, ...]
    """Experiment, and what else was set."""
    where: _Where
    rows: list[Row]


def tables(rows: Iterable[Row]) -> Mapping[str, str]:
    """By their names: of steps and of runs. Raises ValueError without rows of either."""
    kinds: dict[str, list[Row]] = {"devices_step": [], "devices_run": []}
    for row in rows:
        kinds[row["benchmark"]].append(row)
    return {
        "steps": _table(_lines(kinds["devices_step"], "batch_size"), _cells_of_steps),
        "runs": _table(_lines(kinds["devices_run"], "cluster", "num_playing"), _cells_of_runs),
    }


def _table(lines: Sequence[_Line], cells: Callable[[_Line], Mapping[str, str]]) -> str:
    """A column names the machines if there are several."""
    processors = {(line.where.cpu, line.where.num_cores) for line in lines}
    gpus = {line.where.gpu for line in lines} - {""}
    has_several = len(processors) > 1 or len(gpus) > 1
    return markdown(
        {
            **cells(line),
            **({"machine": line.where.machine} if has_several else {}),
            "commit": commits_cell([line.where.commit]),
        }
        for line in lines
    )


def _lines(rows: Sequence[Row], *names: str) -> Sequence[_Line]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        size = row["experiment"], *(row[name] for name in names)
        groups.setdefault((size, row["commit"], row["cpu"], row["num_cores"]), []).append(row)
    lines = []
    for (size, commit, cpu, num_cores), alike in groups.items():
        for gpu in dict.fromkeys(row["device_name"] for row in alike if row["device"] == "cuda") or [""]:
            # Rows of a processor do not say which GPU was beside it: they stand beside each.
            own = [row for row in alike if row["device"] == "cpu" or row["device_name"] == gpu]
            lines.append(_Line(size, _Where(commit, cpu, num_cores, gpu), own))
    # Commits and machines have no order of their own: that of the file stands.
    return sorted(lines, key=lambda line: (line.size[0] != "gorila", line.size[1] == "processes", *line.size[1:]))


def _cells_of_steps(line: _Line) -> Mapping[str, str]:
    experiment, batch_size = line.size
    times = {(row["device"], row["dtype"]): f"{row['gradient_ms']:.1f}" for row in line.rows}
    return {
        "": f"`{experiment}`",
        "minibatch": str(batch_size),
        "a core, float32": times.get(("cpu", "float32"), ""),
        "a core, bfloat16": times.get(("cpu", "bfloat16"), ""),
        "GPU, float32": times.get(("cuda", "float32"), ""),
        "GPU, bfloat16": times.get(("cuda", "bfloat16"), ""),
    }


def _cells_of_runs(line: _Line) -> Mapping[str, str]:
    experiment, cluster, count = line.size
    rates, admitted = (
        {
            device: statistics.median(values)
            for device in ("cpu", "cuda")
            if (values := [row[name] for row in line.rows if row["device"] == device and name in row])
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
    }


if __name__ == "__main__":
    main()
