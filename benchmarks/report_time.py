"""Time of a report over a whole sweep: `python -m benchmarks report_time`.

49 games x 3 seeds of run folders as long runs leave them, with made-up numbers: 3,000 training games, 2,000 groups of
updates, 30 evaluation games and as many of the random player in each. `python -m pipeline.report` over them is a
process of its own, so that the time is what a user waits for, imports included. CPU seconds are those of all processes
that it starts, together.
Not here: what stands in a report (`tests/results`).
"""

import dataclasses
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from measuring.provenance import report
from measuring.rounds import seconds
from pipeline.games import ATARI49
from pipeline.results.protocols import DQN, NOOP_STARTS
from pipeline.results.published import load_published
from pipeline.rows import ROW_FILES, EpisodeRow, EvaluationRow, Row, UpdateRow


@dataclasses.dataclass(frozen=True)
class Size:
    """Rows of one run folder."""

    num_episodes: int = 3_000
    num_updates: int = 2_000
    num_evaluation_games: int = 30
    """Of the last parameters, and again of the random player."""


def main(games: Sequence[str] = ATARI49, num_seeds: int = 3, size: Size = Size()) -> None:
    """Write the folders, report over them, and print one JSON line."""
    with tempfile.TemporaryDirectory() as place:
        runs, output = Path(place) / "runs", Path(place) / "report"
        for game in games:
            for seed in range(num_seeds):
                write_run(runs, game, seed, size)
        command = [sys.executable, "-m", "pipeline.report", f"results_dir={runs}", f"output_dir={output}"]
        cpu_before = _cpu_seconds_of_children()
        wall = seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))
        report(
            "report_time",
            num_folders=len(games) * num_seeds,
            input_bytes=_num_bytes(runs),
            output_bytes=_num_bytes(output),
            report_seconds=wall,
            cpu_seconds=_cpu_seconds_of_children() - cpu_before,
        )


def write_run(runs: Path, game: str, seed: int, size: Size) -> Path:
    """Write the folder `<runs>/gorila/<game>/<seed>/`; the same arguments give the same rows."""
    folder = runs / "gorila" / game / str(seed)
    folder.mkdir(parents=True)
    facts = {"experiment": "gorila", "game": game, "seed": seed, "commit": "0" * 40, "end_reason": "budget"}
    (folder / "run.json").write_text(json.dumps(facts, indent=2), encoding="utf-8")
    (folder / "config.yaml").write_text(f"experiment: gorila\ngame: {game}\nseed: {seed}\n", encoding="utf-8")
    published = load_published().loc[game]
    random, dqn = published[NOOP_STARTS.random], published[NOOP_STARTS.agents[DQN]]
    rng = np.random.default_rng((ATARI49.index(game), seed))
    learnt = np.linspace(0, 1, size.num_episodes) + rng.normal(scale=0.2, size=size.num_episodes)
    episodes = {"score": (random + (dqn - random) * learnt).round(), **_progress(size.num_episodes)}
    _append(folder, EpisodeRow, size.num_episodes, rng, episodes)
    _append(folder, UpdateRow, size.num_updates, rng, _progress(size.num_updates))
    for agent, score in (("checkpoint", dqn), ("random", random)):
        scores = score * rng.normal(1.0, 0.2, size=size.num_evaluation_games)
        games = {**(NOOP_STARTS.played or {}), "protocol": NOOP_STARTS.key, "agent": agent, "score": scores}
        _append(folder, EvaluationRow, size.num_evaluation_games, rng, games | {"version": 700_000})
    return folder


def _progress(num_rows: int) -> dict[str, Any]:
    """Columns of rows of two bundles that were written as a run of 12 million frames went on."""
    done = np.linspace(0, 1, num_rows)
    return {
        "role": np.resize(["bundle-0", "bundle-1"], num_rows),
        "total_frames": (12_000_000 * done).astype(int),
        "version": (700_000 * done).astype(int),
        "wall_seconds": 10_000 * done,
    }


def _append(
    folder: Path, row_type: type[Row], num_rows: int, rng: np.random.Generator, columns: Mapping[str, Any]
) -> None:
    """Add rows with these columns, and anything of the right type in the others."""
    anything: dict[Any, Any] = {
        int: rng.integers(1_000_000, size=num_rows),
        float: rng.random(num_rows),
        bool: False,
        str: "anything",
    }
    rows = pd.DataFrame({field.name: anything[field.type] for field in dataclasses.fields(row_type)} | {**columns})
    path = folder / ROW_FILES[row_type]
    rows.to_csv(path, mode="a", header=not path.exists(), index=False)


def _cpu_seconds_of_children() -> float:
    """Of all processes that this one started and that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _num_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
