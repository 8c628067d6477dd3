"""Rows that a long benchmark finds again when it goes on."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from measuring.processor import named_here, processor_here
from measuring.provenance import provenance
from studies import row_file
from studies.row_file import RowFile, RowsRefused, kinds_of


@dataclass(frozen=True)
class Row:
    """One measurement."""

    name: str
    round: int
    sync: bool
    value: float


def rows_of(path: Path) -> RowFile[Row]:
    """A file whose rows differ by name, round and sync."""
    return RowFile(path, Row, settings=("name", "round", "sync"))


def test_a_file_that_is_not_there_has_no_rows_but_columns(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "folder" / "rows.csv")
    assert not rows.has("a", 0, True)
    assert list(rows.frame().columns) == ["name", "round", "sync", "value"]
    assert len(rows.frame()) == 0


def test_rows_are_added_to_those_that_are_there_and_found_by_their_settings(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "rows.csv"
    rows_of(path).append(Row("a", 0, True, 1.5))
    rows_of(path).append(Row("a", 1, True, 2.5), Row("b", 0, False, 1 / 3))
    rows = rows_of(path)
    assert rows.has("a", 1, True) and rows.has("b", 0, False)
    assert not rows.has("a", 1, False) and not rows.has("b", 1, False)
    assert rows.frame()["value"].tolist() == [1.5, 2.5, 0.33333]


def test_every_row_says_what_it_was_measured_on(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "rows.csv")
    rows.append(Row("a", 0, True, 1.5))
    frame = rows.frame()
    assert {"commit", "cpu", "num_cores", "python", "torch", "numpy"} <= set(frame.columns)
    assert not frame.isna().any(axis=None)


def test_rows_of_before_a_name_changed_are_read_and_found_by_the_name_of_today(tmp_path: Path) -> None:
    rows_of(tmp_path / "rows.csv").append(Row("dba3c", 0, True, 1.0), Row("other", 0, True, 2.0))
    renamed = RowFile(tmp_path / "rows.csv", Row, ("name", "round", "sync"), renamed={"dba3c": "dba3c_authors"})
    assert renamed.frame()["name"].tolist() == ["dba3c_authors", "other"]
    assert renamed.has("dba3c_authors", 0, True) and not renamed.has("dba3c", 0, True)
    assert renamed.frame()["value"].tolist() == [1.0, 2.0]


def test_rows_are_put_in_place_of_those_with_the_same_settings_and_beside_all_others(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "rows.csv")
    rows.append(Row("a", 0, True, 1.5), Row("a", 0, True, 2.5), Row("b", 0, True, 3.5))
    rows.put(Row("a", 0, True, 4.5), Row("c", 0, True, 5.5))
    assert rows.frame()[["name", "value"]].to_numpy().tolist() == [["b", 3.5], ["a", 4.5], ["c", 5.5]]
    before = (tmp_path / "rows.csv").read_text()
    rows.put(Row("c", 0, True, 5.5))
    assert (tmp_path / "rows.csv").read_text() == before


def test_more_cores_are_another_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, facts = tmp_path / "rows.csv", provenance()
    speeds_of(path).append(Row("a", 0, True, 1.5))
    monkeypatch.setattr(row_file, "provenance", lambda: facts | {"num_cores": 96})
    with pytest.raises(RowsRefused, match=r" cores, and this is .*, 96 cores: nothing was measured"):
        speeds_of(path).has("a", 1, True)


def test_rows_are_not_added_below_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("name,round\na,0\n")
    with pytest.raises(RowsRefused, match="has the columns name, round; these rows have name, round, sync, "):
        rows_of(path).append(Row("a", 1, True, 1.5))
    assert path.read_text() == "name,round\na,0\n"
    with pytest.raises(RowsRefused, match="has the columns name, round; "):
        rows_of(path).has("a", 1, True)
    path.write_text("name,round\n")
    with pytest.raises(RowsRefused, match="has the columns name, round; "):
        rows_of(path).append(Row("a", 1, True, 1.5))


def speeds_of(path: Path) -> RowFile[Row]:
    """The same, of one kind of processor."""
    return RowFile(path, Row, ("name", "round", "sync"), one_processor_within=())


def test_speeds_of_another_processor_are_found_and_not_added_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(row_file, "processor_here", lambda precision: "abacus, float32")
        speeds_of(path).append(Row("a", 0, True, 1.5))
        assert not speeds_of(path).has("a", 1, True)
    assert kinds_of(speeds_of(path).frame()).tolist() == [named_here("abacus, float32")]
    assert speeds_of(path).has("a", 0, True)
    for add in (lambda: speeds_of(path).has("a", 1, True), speeds_of(path).check_addable):
        with pytest.raises(RowsRefused, match=r"rows\.csv was measured on abacus, float32, .* move it away"):
            add()


def test_speeds_say_which_processor_they_are_of_and_more_of_it_are_added(tmp_path: Path) -> None:
    rows = speeds_of(tmp_path / "rows.csv")
    rows.append(Row("a", 0, True, 1.5))
    assert not rows.has("a", 1, True)
    rows.append(Row("a", 1, True, 2.5))
    assert kinds_of(rows.frame()).tolist() == [named_here(processor_here())] * 2


def test_speeds_that_do_not_name_their_processor_are_found_and_not_added_to(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows_of(path).append(Row("a", 0, True, 1.5))
    assert speeds_of(path).has("a", 0, True)
    for add in (lambda: speeds_of(path).has("a", 1, True), lambda: speeds_of(path).append(Row("a", 1, True, 2.5))):
        with pytest.raises(RowsRefused, match="these rows have name, round, sync, value, processor, "):
            add()


def test_what_is_compared_within_a_file_is_of_one_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RowFile(tmp_path / "rows.csv", Row, ("name", "round", "sync"), one_processor_within=("name",))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(row_file, "processor_here", lambda precision: "abacus, float32")
        rows.append(Row("a", 0, True, 1.5))
    with pytest.raises(RowsRefused, match=r"^name a in .*rows\.csv was measured on abacus, float32, .*, and this is "):
        rows.has("a", 1, True)
    assert not rows.has("b", 0, True)
    rows.append(Row("b", 0, True, 2.5))
    assert not rows.has("b", 1, True)


def test_a_row_says_the_precision_that_its_run_computed_in(tmp_path: Path) -> None:
    rows = speeds_of(tmp_path / "rows.csv")
    rows.made_with(precision="float32").append(Row("a", 0, True, 1.5))
    assert rows.frame()["processor"].tolist() == [processor_here("float32")]
    assert not rows.made_with(precision="float32").has("a", 1, True)


def test_rows_of_runs_with_more_settings_are_not_those_of_the_study_nor_added_to_them(tmp_path: Path) -> None:
    plain, changed = rows_of(tmp_path / "plain.csv"), rows_of(tmp_path / "changed.csv")
    plain.append(Row("a", 0, True, 1.5))
    changed.made_with(["optimizer=adam", "seed=1"]).append(Row("a", 0, True, 2.5))
    assert plain.has("a", 0, True) and plain.made_with([]).has("a", 0, True)
    assert changed.made_with(["optimizer=adam", "seed=1"]).has("a", 0, True)
    assert not changed.made_with(["optimizer=adam", "seed=1"]).has("a", 1, True)
    for rows, said in (
        (plain.made_with(["optimizer=adam"]), "with no more settings, and these have optimizer=adam: nothing"),
        (changed, "with optimizer=adam seed=1, and these have no more settings: nothing"),
        (changed.made_with(["seed=1"]), "with optimizer=adam seed=1, and these have seed=1: nothing"),
    ):
        with pytest.raises(RowsRefused, match=rf"\.csv has rows of runs {said} was measured\. Give them an --output"):
            rows.has("a", 0, True)
    assert changed.frame()["value"].tolist() == [2.5]


@pytest.mark.parametrize("commit", ["3111465", "12e3456", "0012345"])
def test_a_commit_and_a_name_that_look_like_numbers_stay_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commit: str
) -> None:
    monkeypatch.setattr(row_file, "provenance", lambda: {"commit": commit, "num_cores": 2})
    rows = rows_of(tmp_path / "rows.csv")
    rows.append(Row("007", 0, True, 1.5))
    (row,) = rows.frame().to_dict("records")
    assert row == {"name": "007", "round": 0, "sync": True, "value": 1.5, "commit": commit, "num_cores": 2}
