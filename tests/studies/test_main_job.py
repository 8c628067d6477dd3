"""The study of `make train` at a toy size, and what is made of its rows."""

import csv
from pathlib import Path

import pandas as pd
import pytest

from measuring.processor import processor
from pipeline.config.overrides import compose
from studies import main_job
from studies.main_job import CASES, MAKE_TRAIN, MainJobRow, make_train_table, settings_table
from tests.studies.toy import TINY


def row(case: str = MAKE_TRAIN, seed: int = 0, beside: str = "nothing", low: float = 4.9) -> MainJobRow:
    return MainJobRow(
        case, seed, "avx2, float32", beside, 480_000, 27_000, 5.25, 6.0, 6.0, low, 7.0, 1.5, 1.9, "abcdef0123"
    )


def frame(*rows: MainJobRow) -> pd.DataFrame:
    return pd.DataFrame([vars(one) | {"cpu": "AMD EPYC", "num_cores": 2} for one in rows])


def test_a_run_has_its_margin_where_its_interval_ends_three_points_above_random_play() -> None:
    table = make_train_table(frame(row(low=4.9), row(seed=1, low=4.8), row("nature", low=9.0)))
    assert [line.split(" | ")[-2:] for line in table.splitlines()[2:]] == [
        ["yes", "abcdef0 |"],
        ["no", "abcdef0 |"],
    ]
    assert (
        "| avx2, float32, AMD EPYC, 2 cores | nothing | 0 | 480,000 | 5.2 | 6.0 | 6.0 [4.9, 7.0] | 1.9 | yes |" in table
    )


def test_runs_of_the_same_frames_have_a_table_of_their_own() -> None:
    table = settings_table(frame(row(), row("nature", seed=1)))
    assert len(table.splitlines()) == 3 and "| `nature` | 1 |" in table


def test_cases_of_the_same_frames_have_no_minutes() -> None:
    for case, words in CASES.items():
        budget = compose(["experiment=gorila_quick", "game=Breakout", *words]).budget
        assert (budget.minutes is None) == (case != MAKE_TRAIN)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_row_says_the_precision_that_its_run_is_asked_to_compute_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    found: list[str] = []

    def run(chosen: object, case: str, seed: int, used: str) -> MainJobRow:
        found.append(used)
        return row(seed=seed)

    monkeypatch.setattr(main_job, "_run", run)
    main_job.main(["--seeds", "0", "--output", str(tmp_path), "--overrides", f"precision={precision}"])
    assert found == [processor(ordinary=False, precision=precision)]


@pytest.mark.slow
def test_a_run_is_made_once_with_what_an_ordinary_processor_has(tmp_path: Path) -> None:
    arguments = ["--seeds", "3", "--ordinary", "--beside", "loop", "--runs-dir", str(tmp_path / "runs")]
    arguments += ["--output", str(tmp_path), "--overrides", *TINY]
    main_job.main(arguments)
    written = (tmp_path / "runs.csv").read_text()
    (found,) = csv.DictReader(written.splitlines())
    assert (found["case"], found["seed"], found["beside"]) == (MAKE_TRAIN, "3", "loop")
    assert found["processor"] == processor(ordinary=True)
    assert int(found["frames"]) >= 4_000 and int(found["updates"]) > 0
    assert float(found["minutes"]) > float(found["training_minutes"]) > 0
    main_job.main(arguments)
    assert (tmp_path / "runs.csv").read_text() == written
