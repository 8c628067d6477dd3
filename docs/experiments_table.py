"""The table of docs/experiments.md, from conf/ and results/reference_runs: `python docs/experiments_table.py`.

A row for each experiment, but for the smoke ones: what it is, what it asks for, what it was seen to score. Nothing is
trained. Not here: the placing itself (`pipeline.experiments.plan`), the scores (`pipeline.results.our_agents`).
"""

import itertools
import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from measuring.markdown import counted, markdown, with_tables
from pipeline.api import compose
from pipeline.config.composition import Files, config_directory
from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import COORDINATOR_BYTES, host_demands, network_of
from pipeline.results.formats import cell
from pipeline.results.load import load_runs
from pipeline.results.our_agents import frames_cell, our_agents
from pipeline.results.run_scores import run_scores

CHECKOUT = Path(__file__).parent.parent
PAGE = CHECKOUT / "docs" / "experiments.md"
_ANY_GAME = "Breakout"
_SMOKE = "smoke_"


def main(page: Path = PAGE) -> None:
    """Write the table between its marks."""
    page.write_text(with_tables(page.read_text(encoding="utf-8"), {"experiments": table()}), encoding="utf-8")


def table() -> str:
    """The rows as Markdown."""
    seen = our_agents(run_scores(load_runs(CHECKOUT / "results" / "reference_runs")))
    names = [name for name in Files().options("experiment") if not name.startswith(_SMOKE)]
    return markdown(_row(name, compose([f"experiment={name}", f"game={_ANY_GAME}"]), seen) for name in names)


def _row(name: str, run: RunConfig, seen: pd.DataFrame) -> Mapping[str, str]:
    hosts = host_demands(run)
    memory = COORDINATOR_BYTES + sum(host.memory_bytes for host in hosts)
    topology, replay = run.topology, run.replay
    return {
        "experiment": f"`{name}`",
        "what it is": _described(name),
        "topology": f"{topology.kind}, {topology.num_playing} x {topology.num_lanes} games",
        "replay, steps": "-" if replay is None else f"{replay.capacity or 0:,}",
        "network, parameters": f"{network_of(run).num_parameters:,}",
        "budget": _budget(run),
        "threads": str(sum(host.num_threads for host in hosts)),
        "memory": f"{memory / 2**30:.1f} GiB",
        "seen": _seen(seen[seen["entry"] == name]),
    }


def _described(name: str) -> str:
    """The first sentence at the head of its file."""
    _, *lines = (config_directory() / "experiment" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    head = itertools.takewhile(lambda line: line.startswith("# "), lines)
    sentence, *_ = re.split(r"(?<!et al)\. ", " ".join(line.removeprefix("# ") for line in head))
    return sentence.removesuffix(".")


def _budget(run: RunConfig) -> str:
    frames, minutes = run.budget.frames, run.budget.minutes
    parts = [None if frames is None else f"{frames / 1e6:g} M frames", None if minutes is None else f"{minutes:g} min"]
    return " or ".join(part for part in parts if part)


def _seen(rows: pd.DataFrame) -> str:
    told = [
        f"{row['game']} {cell(row['score'], 1)} ({counted(int(row['seeds']), 'seed')}, "
        f"{frames_cell(rows.loc[[index]], 1)} frames, {row['hours']:.1f} h, `{row['protocol']}`)"
        for index, row in zip(rows.index, rows.to_dict("records"), strict=True)
    ]
    return "; ".join(told)


if __name__ == "__main__":
    main()
