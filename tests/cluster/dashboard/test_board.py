"""Messages in, series out: bounded, resumed, doubled, lost and foreign ones."""

import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from dask_jobs.progress import TOPIC as SWEEP_TOPIC
from pipeline.cluster.dashboard import board as board_module
from pipeline.cluster.dashboard.board import MAX_POINTS, MAX_RUNS, MAX_SWEEPS, Board, ShownRuns
from pipeline.cluster.glance import TOPIC as RUN_TOPIC
from tests.clocks import Clock
from tests.cluster.glances import glance, newest


def seen(*walls: float, board: Board | None = None, folder: str = "/run", **more: Any) -> Board:
    """A board after glances at these wall times, a thousand frames for each second."""
    board = board or Board()
    for wall in walls:
        found = glance(folder, wall_seconds=wall, num_frames=int(1000 * wall), **more)
        board.receive(RUN_TOPIC, found.to_message())
    return board


def walls(board: Board, folder: str = "/run") -> list[float]:
    return [point.wall_seconds for point in board.runs[folder].points]


def progress(job: int, details: Mapping[str, object], sweep: str = "s") -> dict[str, object]:
    return {
        "sweep": sweep,
        "kind": "progress",
        "job": job,
        "fraction": 0.5,
        "rate": 1.0,
        "unit": "x",
        "details": details,
    }


def test_each_glance_is_a_point_and_the_newest_is_kept_whole() -> None:
    board = seen(1.0, 2.0, 3.0)
    assert walls(board) == [1.0, 2.0, 3.0]
    assert [point.num_frames for point in board.runs["/run"].points] == [1000, 2000, 3000]
    assert board.runs["/run"].newest == glance("/run", wall_seconds=3.0, num_frames=3000)


def test_two_runs_have_series_of_their_own_and_keep_their_order() -> None:
    board = seen(1.0)
    seen(5.0, board=board, folder="/other", game="Pong")
    seen(2.0, board=board)
    assert (walls(board), walls(board, "/other")) == ([1.0, 2.0], [5.0])
    assert [run.label for run in newest(board, 2)] == ["Breakout · gorila · seed 0", "Pong · gorila · seed 0"]
    assert [run.newest.folder for run in newest(board, 1)] == ["/run"]


def test_a_message_that_comes_twice_adds_nothing_and_a_lost_one_leaves_a_gap() -> None:
    assert walls(seen(1.0, 2.0, 2.0, 4.0)) == [1.0, 2.0, 4.0]


def test_a_resumed_run_goes_on_from_its_checkpoint_and_what_it_gave_up_is_gone() -> None:
    assert walls(seen(1.0, 2.0, 3.0, 4.0, 2.5, 3.5)) == [1.0, 2.0, 2.5, 3.5]


def test_a_long_run_keeps_its_whole_way_evenly_in_bounded_memory() -> None:
    steps = [float(step) for step in range(20 * MAX_POINTS)]
    kept = walls(seen(*steps))
    gaps = [after - before for before, after in itertools.pairwise(kept)]
    assert MAX_POINTS / 4 < len(kept) <= MAX_POINTS
    assert kept[0] == 0.0 and kept[-1] == steps[-1]
    assert max(gaps) < 6 * steps[-1] / len(kept)


def test_of_too_many_runs_and_sweeps_the_longest_silent_go() -> None:
    board = Board()
    for index in range(MAX_RUNS):
        seen(1.0, board=board, folder=f"/{index}")
    seen(2.0, board=board, folder="/0")
    seen(1.0, board=board, folder="/new")
    assert len(board.runs) == MAX_RUNS and "/0" in board.runs and "/1" not in board.runs
    for index in range(MAX_SWEEPS + 1):
        board.receive(SWEEP_TOPIC, progress(0, {}, sweep=str(index)))
    assert list(board.sweeps) == [str(index) for index in range(1, MAX_SWEEPS + 1)]


def test_a_run_is_live_until_it_is_silent_or_has_spent_its_budget() -> None:
    clock = Clock()
    board = seen(1.0, board=Board(clock.monotonic))
    seen(1.0, board=board, folder="/spent", fraction=1.0)
    assert [run.newest.folder for run in board.live_runs()] == ["/run"]
    clock.now += board_module._SILENT_SECONDS
    assert board.live_runs() == []
    seen(2.0, board=board)
    assert [run.newest.folder for run in board.live_runs()] == ["/run"]


def test_a_job_of_a_sweep_is_a_run_too_and_only_one_if_it_speaks_on_both_topics() -> None:
    board = seen(1.0)
    board.receive(SWEEP_TOPIC, progress(3, glance("/run", wall_seconds=1.0).to_message()))
    board.receive(SWEEP_TOPIC, progress(3, glance("/run", wall_seconds=2.0).to_message()))
    assert walls(board) == [1.0, 2.0]
    sweep = board.newest_sweep()
    assert sweep is not None and sweep.jobs[3].glance == glance("/run", wall_seconds=2.0)


def test_the_newest_sweep_is_the_one_that_began_last_whoever_spoke_last() -> None:
    board = Board()
    for name in ("first", "second", "first"):
        board.receive(SWEEP_TOPIC, progress(0, {}, sweep=name))
    assert board.newest_sweep() is board.sweeps["second"]
    assert Board().newest_sweep() is None


def test_trials_of_a_search_are_called_by_what_was_asked_of_each() -> None:
    board = Board()
    rates = ("0.001", "0.00025")
    same = ["game=Boxing", "seed=0", "budget.frames=1000"]
    jobs = [
        {"job": job, "overrides": [*same, f"optimizer.learning_rate={rate}"], "status": "running"}
        for job, rate in enumerate(rates)
    ]
    board.receive(SWEEP_TOPIC, {"sweep": "s", "kind": "jobs", "jobs": jobs})
    for job in range(2):
        board.receive(SWEEP_TOPIC, progress(job, glance(f"/trials/{job}/0", game="Boxing").to_message()))
    seen(1.0, board=board, folder="/other")
    assert list(board.labels(newest(board, 3)).values()) == [
        "Boxing · gorila · seed 0 · learning_rate=0.001",
        "Boxing · gorila · seed 0 · learning_rate=0.00025",
        "Breakout · gorila · seed 0",
    ]


def test_runs_that_nobody_tells_apart_are_called_by_their_folders() -> None:
    folders = ("/data/old/gorila/Breakout/0", "/data/new/gorila/Breakout/0", "/data/new/gorila/Breakout/0/again")
    board = Board()
    for folder in folders:
        seen(1.0, board=board, folder=folder)
    assert list(board.labels(newest(board, 3)).values()) == [
        f"Breakout · gorila · seed 0 · {part}" for part in ("old/gorila/Breakout/0", "new/gorila/Breakout/0",
                                                            "new/gorila/Breakout/0/again")
    ]  # fmt: skip
    two = board.labels([board.runs[folder] for folder in folders[:2]])
    assert list(two.values()) == ["Breakout · gorila · seed 0 · old", "Breakout · gorila · seed 0 · new"]


def test_what_is_shown_stays_while_it_trains_and_its_place_is_the_newest_other_s_then() -> None:
    clock = Clock()
    board, shown = Board(clock.monotonic), ShownRuns(3)

    def folders() -> list[str]:
        return sorted(run.newest.folder for run in shown.among(board.runs.values(), board.live_runs()))

    for folder in "abc":
        seen(1.0, board=board, folder=folder)
    for wall in range(2, 5):
        for folder in "defabc" if wall % 2 else "abcdef":
            seen(float(wall), board=board, folder=folder)
            assert folders() == ["a", "b", "c"]
    seen(9.0, board=board, folder="b", fraction=1.0)
    assert folders() == ["a", "b", "c"], "nothing newer"
    seen(9.0, board=board, folder="e")
    assert folders() == ["a", "c", "e"]


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        ("pipeline-1234", glance().to_message()),
        (RUN_TOPIC, "hello"),
        (RUN_TOPIC, {"folder": "/run"}),
        (SWEEP_TOPIC, None),
        (SWEEP_TOPIC, ["jobs"]),
        (SWEEP_TOPIC, {"kind": "jobs", "jobs": []}),
        (SWEEP_TOPIC, {"sweep": "s", "kind": "jobs", "jobs": 49}),
        (SWEEP_TOPIC, {"sweep": "s", "kind": "party"}),
        (SWEEP_TOPIC, {"sweep": "s", "kind": "status", "job": 0, "status": "asleep", "attempt": 1}),
        (SWEEP_TOPIC, {"sweep": "s", "kind": "progress", "job": -1, "fraction": 0.5, "details": {}}),
    ],
)
def test_a_foreign_message_is_ignored(topic: str, message: object) -> None:
    board = Board()
    board.receive(topic, message)
    assert not board.runs and not board.sweeps
