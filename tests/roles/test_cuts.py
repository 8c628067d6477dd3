"""Where a role and its coordinator meet: whoever waits is let go, and a role that has left can still be seen."""

import threading

import pytest

from pipeline.errors import CallTimeoutError
from pipeline.roles.cuts import Cut, CutDesk, StartState, desk_of
from pipeline.roles.progress import RoleProgress
from tests.clusters import wait_until


def cut(num_steps: int) -> Cut:
    return Cut("bundle-0", RoleProgress(num_steps, 0, 0, 0.0, 0, 0.0), {}, {}, {})


def test_a_role_stands_from_its_cut_until_it_is_released() -> None:
    desk, steps, stop = CutDesk(), [0], threading.Event()

    def play() -> None:
        while not stop.is_set():
            steps[0] += 1
            desk.pass_by(lambda: cut(steps[0]))

    role = threading.Thread(target=play)
    role.start()
    for _ in range(3):
        seen = desk.take(10.0).progress.num_steps
        assert steps[0] == seen
        desk.release()
    stop.set()
    role.join(10.0)
    assert not role.is_alive()


def test_a_role_that_has_left_is_seen_as_it_left() -> None:
    desk = CutDesk()
    desk.leave(cut(7))
    assert desk.take(0.0).progress.num_steps == 7
    desk.release()


def test_a_role_that_does_not_come_is_not_waited_for_for_ever_and_passes_later() -> None:
    desk = CutDesk()
    with pytest.raises(CallTimeoutError, match=r"within 0\.01 s"):
        desk.take(0.01)
    desk.pass_by(lambda: cut(1))


def test_a_cut_that_is_wanted_before_the_role_has_begun_is_taken_at_its_first_step() -> None:
    desk, taken = CutDesk(), list[Cut]()
    coordinator = threading.Thread(target=lambda: taken.append(desk.take(10.0)))
    coordinator.start()
    wait_until(lambda: desk._is_wanted, "it is asked for")
    desk.arrive()
    role = threading.Thread(target=desk.pass_by, args=(lambda: cut(1),))
    role.start()
    coordinator.join()
    desk.release()
    role.join(10.0)
    assert [one.progress.num_steps for one in taken] == [1] and not role.is_alive()


def test_a_start_is_handed_out_once() -> None:
    desk = CutDesk()
    desk.start = StartState({}, {}, lambda name, reader: None)
    assert desk_of(desk.key) is desk
    assert desk.arrive() is not None and desk.arrive() is None
