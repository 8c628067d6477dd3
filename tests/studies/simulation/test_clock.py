"""The simulated clock, and cores that are shared."""

from collections.abc import Callable
from functools import partial

import pytest

from studies.simulation.clock import Clock, Cores, OwnCore, SharedCores


def ends(make: Callable[[Clock], Cores], *jobs: tuple[float, float]) -> list[float]:
    """When each job (begins at, takes a core so long) is done."""
    clock = Clock()
    cores = make(clock)
    done: dict[int, float] = {}
    for index, (begins_at, seconds) in enumerate(jobs):

        def begin(index: int = index, seconds: float = seconds) -> None:
            cores.run(seconds, lambda: done.setdefault(index, clock.now))

        clock.after(begins_at, begin)
    clock.run_until(lambda: len(done) == len(jobs))
    return [done[index] for index in range(len(jobs))]


def test_events_happen_in_the_order_of_time_and_at_one_time_in_the_order_of_their_announcement() -> None:
    clock = Clock()
    happened: list[str] = []

    def note(name: str) -> None:
        happened.append(f"{name} at {clock.now:g}")

    for seconds, name in ((2.0, "c"), (1.0, "a"), (1.0, "b")):
        clock.after(seconds, partial(note, name))
    clock.run_until(lambda: len(happened) == 3)
    assert happened == ["a at 1", "b at 1", "c at 2"]


def test_a_clock_without_anything_to_happen_says_so_instead_of_standing_still() -> None:
    clock = Clock()
    clock.after(3.0, lambda: None)
    with pytest.raises(RuntimeError, match="after 3 simulated seconds all wait"):
        clock.run_until(lambda: False)


def test_a_core_of_ones_own_takes_what_it_takes() -> None:
    assert ends(OwnCore, (1.0, 2.0)) == [3.0]


def test_two_jobs_share_one_core_evenly() -> None:
    assert ends(lambda clock: SharedCores(clock, 1), (0.0, 1.0), (0.0, 1.0)) == [2.0, 2.0]


def test_a_job_that_comes_later_slows_the_first_from_then_on() -> None:
    # Alone until 1, then at half speed: the first has 1 left then, as the second has.
    assert ends(lambda clock: SharedCores(clock, 1), (0.0, 2.0), (1.0, 1.0)) == [3.0, 3.0]


def test_a_job_that_ends_leaves_its_share_to_the_others() -> None:
    # Half speed until 2, when the first is done and the second has 2 of its 3 left.
    assert ends(lambda clock: SharedCores(clock, 1), (0.0, 1.0), (0.0, 3.0)) == [2.0, 4.0]


def test_three_jobs_on_two_cores_advance_at_two_thirds() -> None:
    assert ends(lambda clock: SharedCores(clock, 2), *[(0.0, 1.0)] * 3) == [1.5, 1.5, 1.5]


def test_two_jobs_on_two_cores_do_not_meet() -> None:
    assert ends(lambda clock: SharedCores(clock, 2), (0.0, 1.0), (0.5, 1.0)) == [1.0, 1.5]


def test_a_core_is_slower_while_the_other_one_is_busy() -> None:
    half = [(0.0, 1.0), (0.0, 1.0)]
    assert ends(lambda clock: SharedCores(clock, 2, full_speed=0.5), *half) == [2.0, 2.0]
    assert ends(lambda clock: SharedCores(clock, 2, full_speed=0.5), (0.0, 1.0)) == [1.0]
