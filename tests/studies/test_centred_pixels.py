"""The table of centred pixels, and a real pair of runs."""

from pathlib import Path

import pandas as pd
import pytest

from studies import centred_pixels
from studies.scored_runs import ScoredRow

TINY = (
    "budget.frames=2_000",
    "network.hidden_units=16",
    "topology.num_lanes=2",
    "algorithm.batch_size=10",
    "evaluation.num_episodes=2",
    "progress=none",
)


def test_a_score_says_where_it_is_apart_from_the_random_player_s() -> None:
    bowling, random = ("Bowling", 0, 2_000_000), (22.5, 20.6, 24.4)
    rows = [
        ScoredRow("no", *bowling, 0.05, 3.7, 2.9, 4.9, 23.0, 21.0, 24.7, *random, "avx2", "abc"),
        ScoredRow("yes", *bowling, 0.95, 40.0, 35.0, 45.0, 26.0, 24.0, 28.0, *random, "avx2", "abc"),
    ]
    _, _, plain, centred = centred_pixels.centred_table(pd.DataFrame(rows)).splitlines()
    assert "| no | 0 | 5% | 3.7 [2.9, 4.9], below | 23.0 [21.0, 24.7] | 22.5 [20.6, 24.4] | abc |" in plain
    assert "| yes | 0 | 95% | 40.0 [35.0, 45.0], above | 26.0 [24.0, 28.0] |" in centred


@pytest.mark.slow
def test_each_way_has_a_row_and_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["--games", "Bowling", "--runs-dir", str(tmp_path / "runs"), "--output", str(tmp_path), *TINY]
    centred_pixels.main(arguments)
    written = (tmp_path / "centred_pixels.csv").read_text()
    plain, centred = centred_pixels.centred_rows(tmp_path).frame().to_dict("records")
    assert (plain["case"], centred["case"]) == ("no", "yes")
    assert all(0 < row["active_filters"] <= 1 and row["drawn_low"] <= row["drawn"] for row in (plain, centred))
    centred_pixels.main(arguments)
    assert (tmp_path / "centred_pixels.csv").read_text() == written
