"""Run folders for the tests of `pipeline.results`, written row by row as a run writes them."""

import csv
import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.rows import ROW_FILES, ActorCriticUpdateRow, EpisodeRow, EvaluationRow, Row, UpdateRow


def episode(score: float, total_frames: int = 1000, **changes: Any) -> EpisodeRow:
    row = EpisodeRow("bundle-0", 0, 250, total_frames, score, 250, False, 0.5, 7, total_frames / 100)
    return dataclasses.replace(row, **changes)


def update(**changes: Any) -> UpdateRow:
    row = UpdateRow(
        "bundle-0", 10, 8, 1, 1, 0, 8, 160, 0.25, 1.5, 0.75, float("nan"), 0.5, 2, 0.9, 400.0, 100.0, 5000, 0.5, 1.25
    )
    return dataclasses.replace(row, **changes)


def actor_critic_update(**changes: Any) -> ActorCriticUpdateRow:
    row = ActorCriticUpdateRow(
        "worker-0", 10, 8, 1, 0, 1, 8, 1600, 0.25, 0.5, 1.375, 0.5, 1.5, 2.0, 1.0, 0.0, 0,
        400.0, 20.0, 0.125, 0.25, 0.0, 1.25,
    )  # fmt: skip
    return dataclasses.replace(row, **changes)


def evaluation(score: float, number: int = 0, version: int = 100, **changes: Any) -> EvaluationRow:
    row = EvaluationRow(
        "noop_starts", "checkpoint", version, 4000, number, 70 + number, 0, score, 800, False,
        0.05, False, 0, 4, 4, 0.0, 30, 18_000, False, True, "none", "", 60.0,
    )  # fmt: skip
    return dataclasses.replace(row, **changes)


def append_rows(folder: Path, rows: Iterable[Row]) -> None:
    for row in rows:
        values: Mapping[str, object] = dataclasses.asdict(row)
        path = folder / ROW_FILES[type(row)]
        is_new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, values.keys(), lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(values)


def write_run(
    tmp_path: Path, rows: Iterable[Row], experiment: str = "gorila", game: str = "Pong", seed: int = 0, **facts: object
) -> Path:
    """Write the run folder `<tmp_path>/runs/<experiment>/<game>/<seed>/`; `facts` go into its run.json."""
    folder = tmp_path / "runs" / experiment / game / str(seed)
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(f"experiment: {experiment}\n")
    (folder / "run.json").write_text(json.dumps({"experiment": experiment, "game": game, "seed": seed} | facts))
    append_rows(folder, rows)
    return folder
