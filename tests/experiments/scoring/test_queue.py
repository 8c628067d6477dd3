"""What an evaluation queue decides, look by look. Hosts that really die: `test_at_the_end`."""

import pytest

from pipeline.experiments.scoring.queue import (
    AskForHosts,
    EvaluationQueue,
    Fail,
    FailWithoutHosts,
    Fate,
    GiveBack,
    HandOver,
    Instruction,
    Seen,
    Start,
    fate_of,
)


class Looked:
    """A queue of three evaluations, two losses allowed, that is looked at every second."""

    def __init__(self, num_evaluations: int = 3, max_restarts: int = 2, host_timeout_seconds: float = 60.0) -> None:
        self.queue = EvaluationQueue(num_evaluations, max_restarts, host_timeout_seconds)
        self.now = 100.0
        self._fates: dict[str, Fate] = {}

    def look(self, *open_hosts: str, has_hosts: bool = True, **fates: Fate) -> list[Instruction]:
        """What it says when these hosts are open and these evaluations, by host, are no longer played."""
        self.now += 1.0
        seen = Seen(has_hosts, open_hosts, self._fates | fates)
        todo = self.queue.look(seen, self.now)
        for one in todo:
            match one:
                case Start(_, host, _):
                    self._fates[host] = Fate.PLAYING
                case HandOver(_, host) | GiveBack(_, host, _):
                    del self._fates[host]
        return todo

    def refuse(self, *open_hosts: str) -> list[Instruction]:
        """What it says at a look after which nothing can be started."""
        todo = self.look(*open_hosts)
        for one in todo:
            assert isinstance(one, Start)
            del self._fates[one.host]
            self.queue.not_started(one)
        return todo


@pytest.mark.parametrize(
    ("is_present", "is_ended", "is_cancelled", "fate"),
    [
        pytest.param(True, False, False, Fate.PLAYING, id="under way"),
        pytest.param(True, True, False, Fate.ENDED, id="over"),
        pytest.param(False, True, False, Fate.ENDED, id="over, and then its host went"),
        pytest.param(False, False, False, Fate.LOST, id="its host is gone"),
        pytest.param(True, True, True, Fate.LOST, id="Dask has missed its host before anybody else"),
        pytest.param(True, False, True, Fate.LOST, id="its parameters are gone"),
    ],
)
def test_the_fate_of_a_task_is_told_by_its_host_and_by_dask(
    is_present: bool, is_ended: bool, is_cancelled: bool, fate: Fate
) -> None:
    told = {"is_present": is_present, "is_ended": is_ended, "is_cancelled": is_cancelled}
    assert fate_of(**told, is_silent=False, is_heard=False) == fate
    # What has ended needs to say nothing more.
    is_playing = fate is Fate.PLAYING
    assert fate_of(**told, is_silent=True, is_heard=True) == (Fate.SILENT if is_playing else fate)
    assert fate_of(**told, is_silent=True, is_heard=False) == (Fate.UNHEARD if is_playing else fate)


def test_the_first_evaluations_start_on_the_first_hosts_one_on_each() -> None:
    looked = Looked()
    assert looked.look("fast", "slow") == [Start(0, "fast", 0), Start(1, "slow", 0)]
    assert looked.look("fast", "slow") == [], "they play"
    assert looked.queue.wants_hosts and not looked.queue.is_empty


def test_a_host_that_is_done_hands_over_and_gets_the_next_at_once() -> None:
    looked = Looked()
    looked.look("fast", "slow")
    assert looked.look("fast", "slow", slow=Fate.ENDED) == [HandOver(1, "slow"), Start(2, "slow", 0)]
    assert not looked.queue.wants_hosts


def test_a_queue_is_empty_once_all_are_handed_over() -> None:
    looked = Looked(num_evaluations=1)
    looked.look("host")
    assert not looked.queue.is_empty
    looked.look(host=Fate.ENDED)
    assert looked.queue.is_empty
    assert Looked(num_evaluations=0).queue.is_empty


def test_what_was_lost_is_given_back_and_starts_elsewhere_before_those_behind_it() -> None:
    looked = Looked()
    looked.look("fast", "slow")
    assert looked.look("slow", "new", fast=Fate.LOST) == [GiveBack(0, "fast", Fate.LOST), Start(0, "new", 1)]
    assert looked.look("slow", "new", slow=Fate.ENDED) == [HandOver(1, "slow"), Start(2, "slow", 1)]


def test_what_was_lost_waits_where_no_host_is_open() -> None:
    looked = Looked(num_evaluations=2)
    looked.look("fast", "slow")
    assert looked.look(fast=Fate.LOST) == [GiveBack(0, "fast", Fate.LOST)]
    assert looked.look("slow") == [], "the other one plays on"
    assert looked.look("slow", slow=Fate.ENDED) == [HandOver(1, "slow"), Start(0, "slow", 1)]


def test_as_many_losses_as_restarts_are_borne_and_one_more_is_not() -> None:
    looked = Looked(num_evaluations=1, max_restarts=1)
    looked.look("first")
    assert looked.look("second", first=Fate.LOST) == [GiveBack(0, "first", Fate.LOST), Start(0, "second", 1)]
    assert looked.look("third", second=Fate.LOST) == [
        GiveBack(0, "second", Fate.LOST),
        Fail(
            "second was lost during an evaluation, or fell silent, the 2. host: cluster.max_restarts=1 allows no more"
        ),
    ]


def test_losses_of_all_evaluations_are_counted_together_and_games_that_are_there_are_taken_first() -> None:
    looked = Looked(max_restarts=1)
    looked.look("a", "b", "c")
    *todo, last = looked.look(a=Fate.LOST, b=Fate.ENDED, c=Fate.LOST)
    assert todo == [GiveBack(0, "a", Fate.LOST), HandOver(1, "b"), GiveBack(2, "c", Fate.LOST)]
    assert isinstance(last, Fail) and last.message.startswith(
        "c was lost during an evaluation, or fell silent, the 2. host"
    )


def test_one_that_could_not_be_started_keeps_its_place_and_costs_no_restart() -> None:
    looked = Looked(num_evaluations=2, max_restarts=0)
    assert looked.refuse("taken", "dead") == [Start(0, "taken", 0), Start(1, "dead", 0)]
    assert looked.look("free", "taken") == [Start(0, "free", 0), Start(1, "taken", 0)]


def test_while_a_host_is_open_nobody_gives_up_though_others_are_faster_every_time() -> None:
    looked = Looked(num_evaluations=1, host_timeout_seconds=3.0)
    assert [looked.refuse("wanted") for _ in range(10)] == [[Start(0, "wanted", 0)]] * 10


def test_games_that_do_not_arrive_are_lost_with_their_host() -> None:
    looked = Looked(num_evaluations=1, max_restarts=1)
    looked.look("mute")
    (ended,) = looked.look(mute=Fate.ENDED)
    assert isinstance(ended, HandOver)
    looked.queue.not_handed_over(ended)
    assert not looked.queue.is_empty and looked.look("other") == [Start(0, "other", 1)]
    (ended,) = looked.look(other=Fate.ENDED)
    assert isinstance(ended, HandOver)
    looked.queue.not_handed_over(ended)
    (failed,) = looked.look("third")
    assert isinstance(failed, Fail) and failed.message.startswith("other was lost")


def test_where_there_is_no_host_others_are_asked_for_at_every_look_until_one_comes() -> None:
    looked = Looked()
    assert looked.look(has_hosts=False) == looked.look(has_hosts=False) == [AskForHosts()]
    assert looked.look("new") == [Start(0, "new", 0)]


def test_where_others_have_all_hosts_they_are_waited_for_and_none_is_asked_for() -> None:
    looked = Looked(host_timeout_seconds=3.0)
    assert looked.look() == []


def test_nobody_waits_for_longer_than_it_takes_a_host_to_come() -> None:
    looked = Looked(host_timeout_seconds=3.0)
    assert [looked.look() for _ in range(4)] == [[], [], [], []]
    assert looked.look() == [
        FailWithoutHosts("no host is left for 3 evaluation(s), and none has come within 3 s")
    ]  # fmt: skip


def test_a_host_that_comes_in_time_begins_the_wait_anew() -> None:
    looked = Looked(num_evaluations=1, host_timeout_seconds=3.0)
    for _ in range(4):
        looked.look()
    assert looked.look("late") == [Start(0, "late", 0)]
    assert looked.look(late=Fate.LOST) == [GiveBack(0, "late", Fate.LOST)]
    assert [looked.look() for _ in range(3)] == [[], [], []]
    assert isinstance(looked.look()[-1], FailWithoutHosts)


def test_while_one_plays_the_others_wait_for_as_long_as_it_takes() -> None:
    looked = Looked(host_timeout_seconds=3.0)
    looked.look("only")
    assert [looked.look() for _ in range(10)] == [[]] * 10


def test_a_host_that_says_nothing_is_not_started_on_at_the_same_look() -> None:
    looked = Looked()
    looked.look("silent")
    assert looked.look("silent", silent=Fate.SILENT) == [GiveBack(0, "silent", Fate.SILENT)]
    # What it keeps of its host is known now: it has another thread.
    assert looked.look("silent") == [Start(0, "silent", 1)]


def test_hosts_where_nothing_was_ever_heard_are_no_lost_ones_and_come_last() -> None:
    looked = Looked(num_evaluations=3, max_restarts=1)
    looked.look("a", "b", "c")
    unheard = looked.look("a", "b", "c", "d", a=Fate.UNHEARD, b=Fate.UNHEARD, c=Fate.UNHEARD)
    backs = [GiveBack(number, host, Fate.UNHEARD) for number, host in enumerate("abc")]
    assert unheard == [*backs, Start(0, "d", 3)], "three, and max_restarts is one"
    assert looked.look("a", "d", d=Fate.ENDED) == [HandOver(0, "d"), Start(1, "d", 3), Start(2, "a", 3)]


def test_an_evaluation_of_which_nothing_is_heard_again_and_again_ends_all() -> None:
    looked = Looked(num_evaluations=1, max_restarts=1)
    looked.look("a")
    assert looked.look("a", a=Fate.UNHEARD) == [GiveBack(0, "a", Fate.UNHEARD)]
    assert looked.look("a") == [Start(0, "a", 1)]
    *_, last = looked.look("a", a=Fate.UNHEARD)
    assert last == Fail(
        "nothing was heard of an evaluation on a: other programs have their threads, or they stand still; "
        "cluster.max_restarts=1 allows no more tries"
    )
