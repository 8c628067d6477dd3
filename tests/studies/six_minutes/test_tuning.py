"""How a case is chosen, what its table says, and real runs of one game."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest

from pipeline.games import ATARI49, GAMES
from studies import row_file
from studies.row_file import RowFile
from studies.scored_runs import ScoredRow
from studies.six_minutes import atari49, tuning
from studies.six_minutes.tuning import CASES, DBA3C, GORILA, chosen_case, mean_ranks, tuning_table
from tests.studies.six_minutes.toy import TINY, row

CASES_OF_GORILA = list(CASES[GORILA])


def rows_of(scores: Mapping[str, tuple[float, ...]]) -> pd.DataFrame:
    """A row for each case and game, in the order of both."""
    return pd.DataFrame(
        [row(case, game, score) for case, of in scores.items() for game, score in zip(tuning.GAMES, of, strict=False)]
    )


def test_settings_are_tried_on_games_that_are_none_of_the_49() -> None:
    assert len(tuning.GAMES) >= 5
    assert set(tuning.GAMES) <= set(GAMES) - set(ATARI49)


def test_a_case_ranks_by_each_game_alike_however_large_its_scores_are() -> None:
    first, second, third = CASES_OF_GORILA
    rows = rows_of({first: (1.0, 9_000.0, 3.0), second: (2.0, 100.0, 3.0), third: (3.0, 200.0, 1.0)})
    ranks = mean_ranks(rows, GORILA)
    assert ranks[first] == pytest.approx((3 + 1 + 1.5) / 3)
    assert ranks[second] == pytest.approx((2 + 3 + 1.5) / 3)
    assert ranks[third] == pytest.approx((1 + 2 + 3) / 3)


def test_a_game_that_a_case_lacks_does_not_count() -> None:
    first, second, third = CASES_OF_GORILA
    assert mean_ranks(rows_of({first: (1.0, 5.0), second: (2.0, 6.0), third: (3.0,)}), GORILA)[third] == 1.0


def test_the_best_mean_rank_is_chosen_and_the_first_case_of_several() -> None:
    first, second, third = CASES_OF_GORILA
    better = {first: (1.0,) * 5, second: (2.0,) * 5, third: (2.0, 2.0, 2.0, 2.0, 3.0)}
    assert chosen_case(rows_of(better), GORILA) == third
    assert chosen_case(rows_of(dict.fromkeys(CASES_OF_GORILA, (1.0,) * 5)), GORILA) == first


def test_nothing_is_chosen_while_a_run_is_missing() -> None:
    rows = rows_of(dict.fromkeys(CASES_OF_GORILA, (1.0,) * 5))
    with pytest.raises(SystemExit, match=r"gorila are not chosen yet; .* missing: gorila on Pooyan$"):
        chosen_case(rows[(rows["case"] != "gorila") | (rows["game"] != "Pooyan")], GORILA)


def test_the_table_says_where_a_case_is_to_random_play_and_what_is_not_there_yet() -> None:
    rows = pd.DataFrame(
        [row("gorila", "AirRaid", 500.0), row("gorila", "Berzerk", 1.0), row("dba3c", "AirRaid", 100.0)]
    )
    _, _, gorila, dba3c = tuning_table(rows).splitlines()
    assert gorila.startswith("| gorila | missing | 1, 1 of 2 | 500.0 [490.0, 510.0], above | 1.0 [-9.0, 11.0], below |")
    assert "| not yet |" in gorila
    assert dba3c.startswith("| dba3c | missing | 0, 0 of 1 | 100.0 [90.0, 110.0] |")


def test_the_rows_of_berzerk_that_were_kept_to_avx2_say_so_as_the_page_does() -> None:
    folder = Path(__file__).resolve().parents[3] / tuning.OUTPUT
    berzerk = tuning.tuning_rows(folder).frame().query("game == 'Berzerk'")
    assert berzerk["processor"].tolist() == ["avx2, float32"] * 2 + ["avx2 (restricted), float32"] * 4
    page = " ".join((folder / "README.md").read_text().split())
    assert 'kept to it ("restricted") for the last four rows of Berzerk' in page


@pytest.mark.parametrize("rows_of", [tuning.tuning_rows, atari49.atari49_rows])
def test_a_row_of_another_processor_is_refused_where_it_would_be_ranked_or_pooled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_of: Callable[[Path], RowFile[ScoredRow]]
) -> None:
    file = rows_of(tmp_path)
    file.append(row("gorila", "AirRaid", 1.0))
    monkeypatch.setattr(row_file, "processor_here", lambda precision: "abacus, float32")
    with pytest.raises(SystemExit, match=r"was measured on avx2, float32, .*, and this is abacus, float32, "):
        file.has("dba3c", "AirRaid", 0)
    if rows_of is tuning.tuning_rows:
        assert not file.has("gorila", "Berzerk", 0), "ranks are within a game"
    else:
        with pytest.raises(SystemExit, match="was measured on avx2"):
            file.has("gorila", "Berzerk", 0)


def test_a_game_whose_cases_had_several_processors_is_not_ranked_and_says_so() -> None:
    first, second, third = CASES_OF_GORILA
    rows = rows_of({first: (1.0, 9.0), second: (2.0, 8.0), third: (3.0, 7.0)}).assign(cpu="AMD EPYC", num_cores=2)
    rows.loc[(rows["case"] == third) & (rows["game"] == tuning.GAMES[1]), "processor"] = "avx512, bfloat16"
    assert mean_ranks(rows, GORILA).to_dict() == {first: 3.0, second: 2.0, third: 1.0}
    _, _, line, *_ = tuning_table(rows).splitlines()
    assert "9.0 [-1.0, 19.0], below, not ranked |" in line


@pytest.mark.slow
def test_each_case_of_both_systems_has_a_row_and_is_not_trained_again(tmp_path: Path) -> None:
    words = [*TINY, "budget.frames=16_000"]
    arguments = ["--games", "Carnival", "--runs-dir", str(tmp_path / "runs"), "--output", str(tmp_path), *words]
    tuning.main(arguments)
    rows = tuning.tuning_rows(tmp_path).frame()
    assert list(rows["case"]) == [*CASES[GORILA], *CASES[DBA3C]]
    assert rows[rows["case"].isin(CASES[GORILA])]["drawn"].isna().all()
    assert rows[rows["case"].isin(CASES[DBA3C])][["drawn", "active_filters"]].notna().all().all()
    config = (tmp_path / "runs" / "gorila-three_steps" / "gorila_quick" / "Carnival" / "0" / "config.yaml").read_text()
    assert "n_step: 3" in config and "centred_pixels: false" in config
    written = (tmp_path / "tuning.csv").read_text()
    tuning.main(arguments)
    assert (tmp_path / "tuning.csv").read_text() == written


def test_a_row_has_the_columns_of_its_file() -> None:
    assert list(pd.DataFrame([row("gorila", "Pong", 1.0)]).columns) == list(ScoredRow.__dataclass_fields__)
