"""What the terminal says about a run, read back from a console that remembers."""

import io

import pytest
from rich.console import Console

from pipeline.experiments import progress
from pipeline.experiments.config import BudgetConfig
from pipeline.experiments.progress import RunProgress
from pipeline.roles.progress import RoleProgress
from pipeline.rows import ActorCriticUpdateRow, EpisodeRow, Row, UpdateRow

EPISODE = EpisodeRow("bundle-0", 0, 1, 4, 3.0, 1, False, 0.25, 0, 0.0)
UPDATE = UpdateRow("bundle-0", 9, 9, 0, 0, 0, 9, 4, 0.5, 1.5, 0.1, 0.2, 0.3, 2, 0.25, 600.0, 150.0, 90, 0.0, 1.5)
GRADIENTS = ActorCriticUpdateRow(
    "worker-0", 20, 15, 5, 0, 0, 9, 4, 0.1, 0.2, 1.75, 0.5, 1.5, 0.3, 0.25, 1, 600.0, 4.0, 0.5, 0.0, 1.5
)


def role(num_steps: int, version: int = 0, wall_seconds: float = 0.0) -> RoleProgress:
    return RoleProgress(num_steps, version, version, 0.25, 0, wall_seconds)


class Clock:
    """Stands where the module looks for the time."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def lines(shown: RunProgress, console: Console, clock: Clock, *states: dict[str, RoleProgress]) -> list[str]:
    for roles in states:
        clock.now += 10.0
        shown.show(roles)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def make(budget: BudgetConfig) -> tuple[RunProgress, Console]:
    console = Console(file=io.StringIO(), width=200)
    return RunProgress(console, "auto", budget, frame_skip=4), console


def test_a_line_holds_frames_speeds_score_and_the_time_that_is_left(clock: Clock) -> None:
    shown, console = make(BudgetConfig(frames=16_000, minutes=None, score=None))
    shown.see([EPISODE, UPDATE])
    last = lines(shown, console, clock, {"bundle-0": role(1000, 0)}, {"bundle-0": role(2000, 250)})[-1]
    assert last == (
        "8,000 frames \u00b7 100 steps/s \u00b7 25 updates/s \u00b7 staleness 0.3 \u00b7 epsilon 0.25 \u00b7 score 3.0 "
        "\u00b7 ETA 0:00:20"
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], "staleness -"),
        ([UPDATE], "staleness 0.3 \u00b7 epsilon 0.25"),
        ([GRADIENTS], "entropy 1.75 \u00b7 late 25%"),
    ],
    ids=["no updates yet", "Q-learning", "actor-critic"],
)
def test_what_is_told_of_the_learning_is_its_algorithm_s(clock: Clock, rows: list[Row], words: str) -> None:
    shown, console = make(BudgetConfig(frames=16_000, minutes=None, score=None))
    shown.see(rows)
    (line,) = lines(shown, console, clock, {"worker-0": role(1000)})
    assert f" updates/s \u00b7 {words} \u00b7 score - " in line


def test_steps_of_a_role_that_is_heard_of_for_the_first_time_are_no_speed(clock: Clock) -> None:
    shown, console = make(BudgetConfig(frames=10_000_000, minutes=None, score=None))
    one, both = {"bundle-0": role(100_000)}, {"bundle-0": role(101_000), "bundle-1": role(100_000)}
    later = {"bundle-0": role(102_000), "bundle-1": role(101_000)}
    speeds = [line.split(" \u00b7 ")[1] for line in lines(shown, console, clock, {}, one, both, later)]
    assert speeds == ["0 steps/s", "0 steps/s", "0 steps/s", "200 steps/s"]


def test_the_nearer_of_two_budgets_decides_what_is_left(clock: Clock) -> None:
    shown, console = make(BudgetConfig(frames=1_000_000_000, minutes=1.0, score=None))
    states = [{"bundle-0": role(100, wall_seconds=seconds)} for seconds in (20.0, 30.0)]
    assert lines(shown, console, clock, *states)[-1].endswith("ETA 0:00:30")


def test_nothing_is_printed_when_nothing_was_asked_for(clock: Clock) -> None:
    console = Console(file=io.StringIO())
    shown = RunProgress(console, "none", BudgetConfig(frames=100, minutes=None, score=None), frame_skip=4)
    assert lines(shown, console, clock, {"bundle-0": role(1)}, {"bundle-0": role(2)}) == []
