"""The table of AdaGrad's first sums, and one real run."""

import math
import shutil
from pathlib import Path

import pandas as pd
import pytest

from pipeline.errors import DivergedError
from pipeline.roles.divergence import DivergenceGuard
from studies import first_steps, first_sums
from studies.trained_runs import TrainedRow
from tests.studies.toy import TINY


def test_first_sums_have_a_line_with_the_scores_of_all_seeds() -> None:
    rows = [
        TrainedRow(sums, seed, "Breakout", 480_000, 28_000, 2.0 * score, score, score, score, 30, 400.0, "abc")
        for sums, seed, score in (("0", 1, 2.5), ("0", 0, 1.0), ("1e-05", 0, math.nan), ("1e-05", 1, 4.0))
    ]
    table = first_sums.first_sums_table(pd.DataFrame(rows))
    assert "| Breakout | 0 | 0, 1 | 1.0, 2.5 | 1.8 | 2.0, 5.0 | abc |" in table
    assert "| Breakout | 1e-05 | 0, 1 | diverged, 4.0 |" in table


def test_scores_that_do_not_name_their_processor_are_not_added_to_and_the_command_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_sums, "train_until_it_diverges", lambda _: pytest.fail("it was trained"))
    shutil.copy(first_steps.OUTPUT / "scores.csv", tmp_path)
    told = r"scores\.csv has the columns .*, processor, .* Give them an --output of their "
    with pytest.raises(SystemExit, match=told):
        first_sums.main(["--output", str(tmp_path)])


@pytest.mark.slow
def test_a_run_that_diverges_has_a_row_without_a_score_and_is_not_rolled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def admits(guard: object, measure: float, version: int) -> bool:
        if version < 40:
            return True
        raise DivergedError("no number")

    monkeypatch.setattr(DivergenceGuard, "admits", admits)
    monkeypatch.setattr(first_sums, "SEEDS", (0,))
    monkeypatch.setattr(first_sums, "ACCUMULATORS", (0.0,))
    arguments = ["--runs-dir", str(tmp_path / "runs"), "--output", str(tmp_path), *TINY]
    first_sums.main(arguments)
    (row,) = first_sums.row_file(tmp_path).frame().to_dict("records")
    assert math.isnan(row["evaluation_mean"]) and row["num_updates"] > 0
    written = (tmp_path / "scores.csv").read_text()
    first_sums.main(arguments)
    assert (tmp_path / "scores.csv").read_text() == written


@pytest.mark.slow
def test_a_run_starts_from_its_first_sums_and_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_sums, "SEEDS", (0,))
    monkeypatch.setattr(first_sums, "ACCUMULATORS", (0.0, 1e-5))
    arguments = ["--runs-dir", str(tmp_path / "runs"), "--output", str(tmp_path), *TINY]
    first_sums.main(arguments)
    written = (tmp_path / "scores.csv").read_text()
    plain, raised = first_sums.row_file(tmp_path).frame().to_dict("records")
    assert (plain["case"], raised["case"]) == ("0", "1e-05")
    config = (tmp_path / "runs" / "1e-05" / "gorila_quick" / "Breakout" / "0" / "config.yaml").read_text()
    assert "initial_accumulator: 1.0e-05" in config and "learning_rate: 0.01" in config
    first_sums.main(arguments)
    assert (tmp_path / "scores.csv").read_text() == written
