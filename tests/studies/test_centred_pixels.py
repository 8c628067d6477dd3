"""The table of centred pixels, and a real pair of runs."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from studies import centred_pixels, row_file, trained_runs
from studies.scored_runs import ScoredRow
from tests.studies.six_minutes.toy import row

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
    assert "| no | 0 | 5% | 3.7 [2.9, 4.9], below | 23.0 [21.0, 24.7] | 22.5 [20.6, 24.4] | avx2 | abc |" in plain
    assert "| yes | 0 | 95% | 40.0 [35.0, 45.0], above | 26.0 [24.0, 28.0] |" in centred


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that would have been trained, in their order: "no Bowling", ..."""
    found: list[str] = []

    def train_and_score(case: str, words: Sequence[str]) -> ScoredRow:
        (game,) = [word.removeprefix("game=") for word in words if word.startswith("game=")]
        assert f"network.centred_pixels={case == 'yes'}" in words
        found.append(f"{case} {game}")
        if case == "yes" and "progress=none" in words:
            raise SystemExit("stopped")
        return row(case, game, 1.0)

    monkeypatch.setattr(centred_pixels, "train_and_score", train_and_score)
    return found


def test_the_rows_of_a_game_come_together_or_not_at_all(tmp_path: Path, trained: list[str]) -> None:
    arguments = ["--games", "Bowling", "Pong", "--output", str(tmp_path)]
    with pytest.raises(SystemExit, match="stopped"):
        centred_pixels.main([*arguments, "progress=none"])
    assert trained == ["no Bowling", "yes Bowling"] and not (tmp_path / "centred_pixels.csv").exists()
    centred_pixels.main(arguments)
    assert trained[2:] == ["no Bowling", "yes Bowling", "no Pong", "yes Pong"]
    centred_pixels.main(arguments)
    assert len(trained) == 6


def test_the_partner_of_a_row_is_trained_on_the_same_kind_of_processor_alone(
    tmp_path: Path, trained: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--games", "Pong", "Bowling", "--output", str(tmp_path)]
    centred_pixels.centred_rows(tmp_path).append(row("no", "Bowling", 1.0))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(row_file, "processor_here", lambda precision: "abacus, float32")
        with pytest.raises(SystemExit, match=r"game Bowling, seed 0 in .* on avx2, float32, .*, and this is abacus, "):
            centred_pixels.main(arguments)
        assert trained == [], "before any other game"
        centred_pixels.main(["--games", "Pong", "--output", str(tmp_path)])
    monkeypatch.setattr(row_file, "processor_here", lambda precision: "avx2, float32")
    centred_pixels.main(arguments)
    assert trained == ["no Pong", "yes Pong", "yes Bowling"]


def test_the_row_that_is_committed_waits_for_a_partner_of_its_kind() -> None:
    folder = Path(__file__).resolve().parents[2] / centred_pixels.OUTPUT
    file = centred_pixels.centred_rows(folder)
    assert file.has("no", "Bowling", 0)
    rows = file.frame()
    assert row_file.kinds_of(rows[rows["game"] == "Bowling"]).iloc[0] == "avx2, float32, AMD EPYC, 2 cores"


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
    (tmp_path / "centred_pixels.csv").unlink()
    centred_pixels.main(arguments)
    assert len(centred_pixels.centred_rows(tmp_path).frame()) == 2, "runs that were trained here have their rows"
    (tmp_path / "centred_pixels.csv").unlink()
    monkeypatch.setattr(trained_runs, "processor_here", lambda precision: "abacus, float32")
    with pytest.raises(SystemExit, match=r"no/dba3c_quick/Bowling/0 was trained on .*, and this is abacus, "):
        centred_pixels.main(arguments)
    assert not (tmp_path / "centred_pixels.csv").exists()
