"""What is summed up of a sweep, and what of it is shown, at times that the test chooses."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from dask_jobs.board import Board, labelled
from dask_jobs.display import Display, ending
from dask_jobs.ledger import DONE, FAILED, RUNNING, WAITING, LedgerRow
from dask_jobs.terminal import can_redraw

ROWS = [
    LedgerRow(0, "game=Pong n=1", DONE, 1, "tcp://a:1", seconds=60.0, return_value="1.5"),
    LedgerRow(1, "game=Qbert n=1", WAITING),
    LedgerRow(2, "game=Asterix n=1", WAITING),
    LedgerRow(3, "game=Alien n=1", FAILED, 2, "tcp://a:1", reason="ValueError: no"),
]


@pytest.fixture
def board() -> Board:
    board = Board({row.job: row.overrides.split() for row in ROWS}, ROWS)
    board.change(ROWS[1]._replace(status=RUNNING, attempts=1, host="tcp://a:1"), now=100.0)
    return board


def progress(job: int, fraction: float | None, rate: float | None, unit: str = "steps/s") -> dict[str, object]:
    return {"job": job, "fraction": fraction, "rate": rate, "unit": unit, "details": {}}


def test_labels_leave_out_what_all_jobs_have_in_common() -> None:
    assert labelled([["game=Pong", "n=1"], ["game=Qbert", "n=1"]]) == ["game=Pong", "game=Qbert"]
    assert labelled([["game=Pong", "n=1"]]) == ["game=Pong n=1"]
    assert labelled([["n=1"], ["n=1"]]) == ["n=1", "n=1"]


def test_jobs_are_counted_by_their_state(board: Board) -> None:
    assert board.counts() == "1 done · 1 running · 1 failed · 1 waiting"


def test_jobs_that_are_still_to_come_count_as_left(board: Board) -> None:
    board.num_to_come = 3
    assert board.counts() == "1 done · 1 running · 1 failed · 1 waiting · 3 to come"
    # A job takes 60 s; one waits, three are to come, one runs.
    assert board.eta_seconds(100.0) == 300.0


def test_rates_of_running_jobs_are_added_up_by_their_unit(board: Board) -> None:
    board.change(ROWS[2]._replace(status=RUNNING), now=100.0)
    board.progress(progress(1, 0.5, 1000.0), now=100.0)
    board.progress(progress(2, None, 234.0), now=100.0)
    assert board.rates() == "1,234 steps/s"
    board.progress(progress(2, None, 3.0, "updates/s"), now=100.0)
    board.progress(progress(0, 0.5, 7.0), now=100.0)
    assert board.rates() == "1,000 steps/s · 3 updates/s", "a job that does not run has no rate"
    board.change(ROWS[2]._replace(status=DONE), now=110.0)
    assert board.rates() == "1,000 steps/s"


def test_the_time_left_follows_from_jobs_that_are_done_and_from_the_parts_of_those_that_run(board: Board) -> None:
    # A job takes 60 s; one waits, one runs.
    assert board.eta_seconds(100.0) == 120.0
    # The one that runs would take 20 s in all: jobs take 40 s, and one and a half of them are left.
    board.progress(progress(1, 0.0, None), now=101.0)
    board.progress(progress(1, 0.5, None), now=110.0)
    assert board.eta_seconds(110.0) == 60.0
    board.progress(progress(1, 7.0, None), now=160.0)
    assert board.eta_seconds(160.0) == 60.0


def test_what_an_earlier_attempt_has_done_makes_no_job_shorter() -> None:
    rows = [LedgerRow(0, "a=0", DONE, 2, seconds=5.0), LedgerRow(1, "a=1"), LedgerRow(2, "a=2")]
    board = Board({row.job: [row.overrides] for row in rows}, rows)
    board.change(rows[1]._replace(status=RUNNING, attempts=2), now=0.0)
    board.progress(progress(1, 0.6, None), now=10.0)
    assert board.eta_seconds(10.0) is None
    board.progress(progress(1, 0.7, None), now=20.0)
    # A tenth of it took 10 s: 100 s a job, and 1.3 of them are left.
    assert board.eta_seconds(20.0) == pytest.approx(130.0)


def test_jobs_that_had_nothing_left_to_do_make_no_job_shorter() -> None:
    rows = [LedgerRow(number, f"a={number}") for number in range(4)]
    board = Board({row.job: [row.overrides] for row in rows}, rows)
    for row in rows[:2]:
        board.change(row._replace(status=RUNNING, attempts=1), now=1.0)
        board.change(row._replace(status=DONE, attempts=1, seconds=2.0), now=2.0)
    board.change(rows[2]._replace(status=RUNNING, attempts=1), now=2.0)
    assert board.eta_seconds(3.0) == 4.0, "nobody has said how far it is: jobs may be short"
    board.progress(progress(2, 0.0, None), now=4.0)
    board.progress(progress(2, 0.1, None), now=12.0)
    assert board.eta_seconds(12.0) == pytest.approx(190.0)
    # One that goes on with half of a run, on its first attempt.
    board.change(rows[2]._replace(status=DONE, attempts=1, seconds=100.0), now=102.0)
    board.change(rows[3]._replace(status=RUNNING, attempts=1), now=102.0)
    board.progress(progress(3, 0.5, None), now=103.0)
    board.change(rows[3]._replace(status=DONE, attempts=1, seconds=50.0), now=152.0)
    board.change(rows[0]._replace(status=RUNNING, attempts=2), now=152.0)
    assert board.eta_seconds(152.0) == 100.0


def test_nothing_is_foretold_before_anything_is_known() -> None:
    board = Board({0: ["a=1"]}, [LedgerRow(0, "a=1")])
    assert board.eta_seconds(0.0) is None
    board.change(LedgerRow(0, "a=1", RUNNING), now=0.0)
    assert board.eta_seconds(10.0) is None


def shown(board: Board, style: str, *, terminal: bool = False) -> str:
    out = io.StringIO()
    with Display(Console(file=out, width=120, force_terminal=terminal), style, board) as display:
        display.changed(ROWS[0])
        display.changed(ROWS[3]._replace(status=WAITING, attempts=1, reason="ValueError: no; again in 5 s"))
        display.refresh()
    return out.getvalue()


def test_lines_tell_each_change() -> None:
    board = Board({row.job: row.overrides.split() for row in ROWS}, ROWS)
    assert shown(board, "auto").splitlines() == [
        "job 0 game=Pong: done in 0:01:00, returned 1.5",
        "job 3 game=Alien: attempt 1 failed: ValueError: no; again in 5 s",
    ]


def test_a_terminal_shows_a_table_of_what_runs_and_failures_above_it(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
    board.progress(progress(1, 0.5, 1000.0), now=100.0)
    text = shown(board, "auto", terminal=True)
    assert "returned 1.5" not in text
    assert "attempt 1 failed: ValueError: no; again in 5 s" in text
    assert "1 done · 1 running · 1 failed · 1 waiting · 1,000 steps/s · ETA" in text
    assert "game=Qbert" in text and "50%" in text and "a:1" in text and "game=Asterix" not in text


def test_a_terminal_that_cannot_draw_a_table_shows_lines(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert shown(board, "auto", terminal=True).splitlines() == [
        "job 0 game=Pong: done in 0:01:00, returned 1.5",
        "job 3 game=Alien: attempt 1 failed: ValueError: no; again in 5 s",
    ]


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_a_file_that_is_to_have_colours_is_no_terminal(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, "1")
    console = Console(file=io.StringIO())
    assert console.is_terminal, "Rich takes it for one"
    assert not can_redraw(console)


def test_nothing_is_shown_where_nothing_is_wanted(board: Board) -> None:
    assert shown(board, "none") == ""


def test_the_end_names_what_failed_and_where_its_output_is(board: Board) -> None:
    assert ending(board, Path("s/ledger.csv"), Path("s/logs")).splitlines() == [
        "1 done · 1 running · 1 failed · 1 waiting, in s/ledger.csv",
        "  job 3 game=Alien failed: ValueError: no; its output: s/logs/3_2.log",
    ]
