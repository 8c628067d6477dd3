"""What the terminal says about a run, read back from a console that remembers."""

import io

import pytest
from rich.console import Console

from pipeline.cluster.glance import RunGlance
from pipeline.experiments import progress
from pipeline.experiments.progress import GamesProgress, RunProgress, games_line, line
from tests.clocks import Clock
from tests.cluster.glances import glance


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_a_line_holds_frames_speeds_learning_score_and_the_time_that_is_left() -> None:
    assert line(glance(num_frames=8_000)) == (
        "8,000 frames \u00b7 100 steps/s \u00b7 25 updates/s \u00b7 staleness 0.5 \u00b7 epsilon 0.10 \u00b7 score 3.0 "
        "\u00b7 ETA 0:00:20"
    )


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (glance(mean_staleness=None, epsilon=None), "staleness -"),
        (glance(), "staleness 0.5 \u00b7 epsilon 0.10"),
        (glance(mean_staleness=None, epsilon=None, entropy=1.75, late_share=0.25), "entropy 1.75 \u00b7 late 25%"),
        (glance(epsilon=None, entropy=1.75), "staleness 0.5 \u00b7 entropy 1.75"),
    ],
    ids=["no updates yet", "Q-learning", "synchronous actor-critic", "asynchronous actor-critic"],
)
def test_what_is_told_of_the_learning_is_its_algorithm_s(seen: RunGlance, words: str) -> None:
    assert f" updates/s \u00b7 {words} \u00b7 score 3.0 " in line(seen)


@pytest.mark.parametrize(
    ("rate", "words"),
    [(0.0, "0"), (0.134, "0.13"), (2.46, "2.5"), (9.94, "9.9"), (9.97, "10"), (1_234.5, "1,234")],
)
def test_a_slow_server_is_not_said_to_stand_still(rate: float, words: str) -> None:
    assert f" \u00b7 {words} updates/s \u00b7 " in line(glance(updates_per_second=rate))


LONG = glance(
    num_frames=1_234_567_890, mean_staleness=1.5, entropy=1.75, late_share=0.25, mean_score=12_345.6,
    eta_seconds=90_061.0, steps_per_second=12_345.0, updates_per_second=1_234.0, fraction=0.5,
)  # fmt: skip


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_a_terminal_of_any_width_shows_bar_score_and_both_times_uncut(width: int) -> None:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    with RunProgress(console, "auto") as shown:
        shown.show(LONG)
    assert isinstance(console.file, io.StringIO)
    (last,) = {part for part in console.file.getvalue().splitlines() if "score" in part}
    assert "score 12,345.6 \u00b7 ETA 1 day, 1:01:01" in last and "0:00:00" in last and "\u2026" not in last
    assert " 50% " in last and last.count("\u2501") >= 5
    assert ("frames" in last) == (width >= 120) and ("late 25%" in last) == (width >= 200)


def test_a_very_narrow_terminal_has_the_time_that_is_left() -> None:
    assert line(LONG, width=10) == "ETA 1 day, 1:01:01"


def test_many_days_are_days_alone() -> None:
    assert line(glance(eta_seconds=7e6)).endswith("ETA 81 days")


def test_what_is_not_known_yet_is_a_dash() -> None:
    assert line(glance(mean_score=None, eta_seconds=None)).endswith("score - \u00b7 ETA -")


def test_elsewhere_than_on_a_terminal_there_is_a_line_every_ten_seconds(clock: Clock) -> None:
    console = Console(file=io.StringIO(), width=200)
    with RunProgress(console, "auto") as shown:
        for clock.now in (0.0, 9.9, 10.0, 19.9, 20.0):
            shown.show(glance(num_frames=int(clock.now)))
    assert isinstance(console.file, io.StringIO)
    assert [printed.split()[0] for printed in console.file.getvalue().splitlines()] == ["10", "20"]


@pytest.mark.parametrize(
    ("environ", "is_terminal", "kind"),
    [
        ({"TERM": "xterm"}, True, "bar"),
        ({"TERM": "dumb"}, True, "lines"),  # Rich draws nothing on it
        ({"TERM": "xterm", "FORCE_COLOR": "1"}, True, "bar"),
        ({"TERM": "xterm", "FORCE_COLOR": "1"}, False, "lines"),
        ({"TERM": "xterm", "TTY_COMPATIBLE": "1"}, False, "lines"),
    ],
)
def test_a_bar_is_drawn_where_it_can_be_drawn_anew_and_nowhere_else(
    environ: dict[str, str], is_terminal: bool, kind: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    shown_to = io.StringIO()
    monkeypatch.setattr(shown_to, "isatty", lambda: is_terminal)
    with RunProgress(Console(file=shown_to, width=200), "auto") as shown:
        clock.now = 10.0
        shown.show(glance(num_frames=1_234))
    printed = shown_to.getvalue()
    assert "1,234 frames" in printed, "something is shown"
    assert ("\u2501" in printed) == (kind == "bar") and printed.startswith("1,234 frames") == (kind == "lines")


def test_nothing_is_printed_when_nothing_was_asked_for(clock: Clock) -> None:
    console = Console(file=io.StringIO())
    shown = RunProgress(console, "none")
    clock.now = 60.0
    shown.show(glance())
    assert isinstance(console.file, io.StringIO) and console.file.getvalue() == ""


@pytest.mark.parametrize("kind", ["bar", "lines", "none"])
def test_a_sentence_is_printed_as_it_is_whatever_looks_like_markup_in_it(kind: str) -> None:
    console = Console(file=io.StringIO(), width=200)
    RunProgress(console, kind).say("results in runs/[old]/0, score 1.0 [nan, nan]")
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "results in runs/[old]/0, score 1.0 [nan, nan]\n"


def test_games_of_an_evaluation_have_the_time_that_is_left() -> None:
    assert games_line("final evaluation", 0, 90, 3.0) == "final evaluation: 0 of 90 games \u00b7 ETA -"
    assert games_line("final evaluation", 30, 90, 40.0) == "final evaluation: 30 of 90 games \u00b7 ETA 0:01:20"


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_terminal_of_any_width_shows_how_many_games_are_over(width: int, clock: Clock) -> None:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    with GamesProgress(console, "auto", "final evaluation") as shown:
        clock.now = 40.0
        shown.show(30, 90)
    assert isinstance(console.file, io.StringIO)
    (last,) = {part for part in console.file.getvalue().splitlines() if "30 of 90" in part}
    assert "final evaluation: 30 of 90 games \u00b7 ETA 0:01:20" in last and " 33% " in last and "\u2026" not in last


def test_without_a_terminal_games_are_a_line_every_ten_seconds(clock: Clock) -> None:
    console = Console(file=io.StringIO(), width=200)
    with GamesProgress(console, "auto", "evaluation") as shown:
        for clock.now in (1.0, 9.0, 10.0, 19.0, 20.0):
            shown.show(int(clock.now), 90)
    assert isinstance(console.file, io.StringIO)
    assert [text.partition(" games")[0] for text in console.file.getvalue().splitlines()] == [
        "evaluation: 10 of 90",
        "evaluation: 20 of 90",
    ]
