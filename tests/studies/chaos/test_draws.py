"""What is killed when, from a seed."""

import signal

import pytest

from studies.chaos.draws import chosen, draw

VICTIMS = {"host": 0.7, "scheduler": 0.15, "coordinator": 0.15}


def test_the_same_seed_run_and_number_give_the_same_kill_and_others_another_one() -> None:
    assert draw(0, 3, 1, VICTIMS) == draw(0, 3, 1, VICTIMS)
    assert len({draw(seed, run, number, VICTIMS).which for seed in (0, 1) for run in (0, 1) for number in (0, 1)}) == 8


def test_all_victims_and_both_signals_come_and_only_what_is_stopped_goes_on() -> None:
    drawn = [draw(0, run, number, VICTIMS) for run in range(40) for number in range(5)]
    assert {each.victim for each in drawn} == set(VICTIMS)
    assert {each.signal for each in drawn} == {signal.SIGKILL, signal.SIGSTOP}
    assert all((each.stop_seconds > 0) == (each.signal is signal.SIGSTOP) for each in drawn)
    assert 20 < sum(each.signal is signal.SIGSTOP for each in drawn) < 60


def test_the_first_kill_waits_for_rows_and_some_later_ones_come_at_once() -> None:
    assert all(draw(0, run, 0, VICTIMS).waits for run in range(20))
    assert not all(draw(0, run, 1, VICTIMS).waits for run in range(20))


def test_one_of_several_is_chosen_by_a_share() -> None:
    assert [chosen("abc", which) for which in (0.0, 0.34, 0.999)] == ["a", "b", "c"]
    with pytest.raises(ValueError, match="nothing to choose from"):
        chosen([], 0.5)
