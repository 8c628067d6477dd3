"""The ledger's file: what is kept, what is refused, what a reader sees meanwhile."""

import os
from pathlib import Path

import pytest

from dask_jobs.ledger import (
    DONE,
    FAILED,
    LEDGER,
    RUNNING,
    Ledger,
    LedgerError,
    LedgerRow,
    is_held,
    read_ledger,
)

ROWS = [
    LedgerRow(0, "game=Pong seed=1", DONE, 1, "tcp://a:1", "2026-01-01T00:00:00+00:00", "", 1.5, '{"score": 1}', ""),
    LedgerRow(1, 'name="with, comma" +x=1', FAILED, 2, reason='he said "no"'),
]


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "new" / "sweep")
    ledger.write(*reversed(ROWS))
    assert read_ledger(tmp_path / "new" / "sweep") == ROWS == ledger.rows
    ledger.close()


def test_what_is_long_can_be_read_again(tmp_path: Path) -> None:
    row = LedgerRow(0, "game=Pong", FAILED, reason="x" * 200_000)
    ledger = Ledger.open(tmp_path)
    ledger.write(row)
    ledger.close()
    assert read_ledger(tmp_path) == [row]


def test_rows_of_other_commands_are_kept(tmp_path: Path) -> None:
    first = Ledger.open(tmp_path)
    first.write(*ROWS)
    first.close()
    second = Ledger.open(tmp_path)
    second.write(ROWS[1]._replace(status=RUNNING), LedgerRow(2, "game=Qbert"))
    assert read_ledger(tmp_path) == [ROWS[0], ROWS[1]._replace(status=RUNNING), LedgerRow(2, "game=Qbert")]
    second.close()


def test_a_job_has_a_number_that_no_other_has(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    ledger.write(*ROWS)
    assert [ledger.free_number(wanted) for wanted in (0, 1, 2, 7)] == [2, 2, 2, 7]
    ledger.close()


def test_it_can_be_asked_whether_a_command_has_it(tmp_path: Path) -> None:
    assert not is_held(tmp_path)
    ledger = Ledger.open(tmp_path)
    assert is_held(tmp_path)
    ledger.close()
    assert not is_held(tmp_path)
    Ledger.open(tmp_path).close()


def test_a_second_writer_is_refused_with_the_process_and_what_to_do(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    with pytest.raises(LedgerError, match=rf"process {os.getpid()} on .*\): wait for its end, or end it with Ctrl-C"):
        Ledger.open(tmp_path)
    ledger.close()
    Ledger.open(tmp_path).close()


def whole_file(folder: Path) -> str:
    ledger = Ledger.open(folder)
    ledger.write(*ROWS)
    ledger.close()
    return (folder / LEDGER).read_text()


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: "", "is no whole ledger with the columns job, overrides"),
        (lambda text: text[:20], "is no whole ledger"),
        (lambda text: text[:-1], "is no whole ledger"),
        (lambda text: "game,score\nPong,21\n", "is no whole ledger"),
        (lambda text: text + "2,x\n", "row 4: 2 of 10 columns"),
        (lambda text: text.replace("failed", "fine"), "row 3: status 'fine' is none of waiting, running, done"),
        (lambda text: text.replace("1.5", "soon"), "row 2: could not convert"),
        (lambda text: text.replace('{""score"": 1}', "{score"), "row 2: Expecting property name"),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_and_left_as_it_is(tmp_path: Path, damage, complaint) -> None:  # type: ignore[no-untyped-def]
    text = damage(whole_file(tmp_path))
    (tmp_path / LEDGER).write_text(text)
    with pytest.raises(LedgerError, match=complaint):
        Ledger.open(tmp_path)
    assert (tmp_path / LEDGER).read_text() == text


def test_there_is_no_ledger_where_nobody_wrote_one(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger of a sweep"):
        read_ledger(tmp_path)


def test_a_reader_never_sees_half_a_ledger(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    ledger.write(*ROWS)
    with (tmp_path / LEDGER).open() as before:
        ledger.write(LedgerRow(2, "game=Qbert"))
        assert len(before.read().splitlines()) == 3
    assert len(read_ledger(tmp_path)) == 3
    ledger.close()
