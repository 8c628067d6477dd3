"""Rows, stop and lease between a role and its coordinator, as pushed messages and a clock in hand."""

from dataclasses import replace

import pytest

from pipeline.cluster.coordination.channel import (
    POLL_SECONDS,
    RESEND_SECONDS,
    Batch,
    Control,
    Inbox,
    Outbox,
    poll_seconds_of,
)
from pipeline.roles.progress import RoleProgress
from pipeline.rows import EpisodeRow

EPISODE = EpisodeRow("bundle-0", 3, 100, 800, 12.0, 50, False, 0.5, 7, 1.25)
PROGRESS = RoleProgress(100, 25, 7, 0.5, 90, 1.25)


class Wire:
    """What a role published, what it reads, and what time it is."""

    def __init__(self) -> None:
        self.now = 0.0
        self.published: list[Batch] = []
        self.control: dict[str, object] | None = Control(1, False, {}, {}).to_message()

    def outbox(self, lease_seconds: float = 30.0, poll_seconds: float = POLL_SECONDS) -> Outbox:
        return Outbox(
            "bundle-0",
            1,
            lease_seconds,
            publish=lambda message: self.published.append(Batch.from_message(message)),
            read_control=lambda: self.control,
            poll_seconds=poll_seconds,
            clock=lambda: self.now,
        )

    def wait(self, outbox: Outbox, seconds: float = POLL_SECONDS) -> bool:
        self.now += seconds
        return outbox.should_stop()


def batch(sequence: int, attempt: int = 1, score: float = 0.0) -> dict[str, object]:
    row = replace(EPISODE, score=score)
    return Batch("bundle-0", attempt, sequence, (row,), PROGRESS).to_message()


def test_a_batch_survives_the_journey_as_plain_values() -> None:
    sent = Batch("bundle-0", 2, 5, (EPISODE,), PROGRESS)
    assert Batch.from_message(sent.to_message()) == sent


def test_rows_travel_together_at_the_next_poll_and_not_before() -> None:
    wire = Wire()
    outbox = wire.outbox()
    outbox.emit(EPISODE)
    outbox.emit(replace(EPISODE, lane=4))
    assert not wire.wait(outbox, POLL_SECONDS / 2) and wire.published == []
    assert not wire.wait(outbox) and [len(b.rows) for b in wire.published] == [2]


def test_a_batch_is_sent_again_until_it_is_acknowledged() -> None:
    wire = Wire()
    outbox = wire.outbox()
    outbox.emit(EPISODE)
    wire.wait(outbox)
    wire.wait(outbox, RESEND_SECONDS)
    assert [b.sequence for b in wire.published] == [1, 1]
    wire.control = Control(2, False, {"bundle-0/1": 1}, {}).to_message()
    wire.wait(outbox)
    wire.wait(outbox, RESEND_SECONDS)
    assert [b.sequence for b in wire.published] == [1, 1]
    assert outbox.drain() == []


def test_while_nothing_is_acknowledged_no_more_is_sent_again_than_is_new() -> None:
    wire = Wire()
    outbox = wire.outbox()
    for beat in range(2, 602):
        wire.control = Control(beat, False, {}, {}).to_message()
        outbox.emit(EPISODE)
        assert not wire.wait(outbox)
    assert [b.sequence for b in wire.published if b.sequence > 590] == list(range(591, 601))
    assert 600 < len(wire.published) <= 2 * 600


def test_whatever_was_lost_on_the_way_comes_soon_after_the_way_is_whole_again() -> None:
    wire, inbox = Wire(), Inbox()
    outbox = wire.outbox()
    num_seen = 0
    for beat in range(2, 142):
        outbox.emit(EPISODE)
        wire.wait(outbox)
        # A connection that is broken for 50 seconds.
        for batch_ in wire.published[num_seen:] if beat > 100 else ():
            inbox.receive(batch_.to_message())
        num_seen = len(wire.published)
        wire.control = Control(beat, False, inbox.acknowledged(), {}).to_message()
    assert inbox.num_arrived("bundle-0", 1) == 140 and inbox.gaps() == []


def test_many_roles_speak_less_often_each_and_never_more_often_together() -> None:
    assert poll_seconds_of(1) == poll_seconds_of(125) == POLL_SECONDS
    assert [num_roles / poll_seconds_of(num_roles) for num_roles in (125, 250, 1000, 4000)] == [250] * 4


def test_a_role_of_many_waits_for_its_turn_and_longer_until_it_repeats_itself() -> None:
    wire = Wire()
    outbox = wire.outbox(poll_seconds=4.0)
    outbox.emit(EPISODE)
    assert not wire.wait(outbox, 3.5) and wire.published == []
    for num_polls in range(1, 5):
        # The first after which the coordinator may have said that it arrived is the third.
        assert not wire.wait(outbox, 4.0) and len(wire.published) == 1, num_polls
    wire.wait(outbox, 4.0)
    assert [b.sequence for b in wire.published] == [1, 1]


def test_what_was_not_acknowledged_leaves_with_the_result() -> None:
    wire = Wire()
    outbox = wire.outbox()
    outbox.emit(EPISODE)
    wire.wait(outbox)
    outbox.report(PROGRESS)
    assert [Batch.from_message(m).sequence for m in outbox.drain()] == [1, 2]


def test_a_stop_is_obeyed_at_the_next_poll() -> None:
    wire = Wire()
    outbox = wire.outbox()
    wire.control = Control(2, True, {}, {}).to_message()
    assert wire.wait(outbox)
    assert outbox.stop_reason == "stopped"


@pytest.mark.parametrize("silent", [True, False], ids=["scheduler silent", "beat stands still"])
def test_a_role_leaves_when_its_coordinator_has_been_silent_for_the_lease(silent: bool) -> None:
    wire = Wire()
    outbox = wire.outbox(lease_seconds=30.0)
    wire.wait(outbox)
    if silent:
        wire.control = None
    assert not any(wire.wait(outbox, 1.0) for _ in range(29))
    assert wire.wait(outbox, 2.0)
    assert outbox.stop_reason == "lease lapsed"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_role_that_was_itself_stopped_for_an_hour_looks_twice_before_it_leaves(is_there: bool) -> None:
    wire = Wire()
    outbox = wire.outbox(lease_seconds=30.0)
    wire.wait(outbox)
    assert not wire.wait(outbox, 3600.0)
    if is_there:
        wire.control = Control(2, False, {}, {}).to_message()
    assert not any(wire.wait(outbox, 1.0) for _ in range(15))
    assert wire.wait(outbox, 1.0) is not is_there


@pytest.mark.parametrize(
    ("dismissed", "reason"),
    [({"bundle-0": 1}, "dismissed"), ({"bundle-0": 2}, "dismissed"), ({"bundle-0": 0, "bundle-1": 9}, None)],
)
def test_a_start_that_counts_as_lost_leaves_when_it_hears_of_it(dismissed: dict[str, int], reason: str | None) -> None:
    wire = Wire()
    outbox = wire.outbox()
    wire.control = Control(2, False, {}, dismissed).to_message()
    assert wire.wait(outbox) is (reason is not None)
    assert outbox.stop_reason == reason


def test_a_beating_coordinator_keeps_its_roles_for_ever() -> None:
    wire = Wire()
    outbox = wire.outbox(lease_seconds=30.0)
    for beat in range(2, 40):
        wire.control = Control(beat, False, {}, {}).to_message()
        assert not wire.wait(outbox, 20.0)


def test_the_inbox_puts_batches_in_order_and_lets_each_through_once() -> None:
    inbox = Inbox()
    scores = [[row.score for row in inbox.receive(batch(s, score=float(s)))] for s in (2, 3, 1, 2, 1, 4)]  # type: ignore[union-attr]
    assert scores == [[], [], [1.0, 2.0, 3.0], [], [], [4.0]]
    assert inbox.acknowledged() == {"bundle-0/1": 4}


def test_a_missing_batch_is_a_gap_until_it_comes() -> None:
    inbox = Inbox()
    inbox.receive(batch(1))
    inbox.receive(batch(3))
    assert inbox.gaps() == ["bundle-0/1"]
    inbox.receive(batch(2))
    assert inbox.gaps() == []


def test_a_restarted_role_numbers_its_batches_anew() -> None:
    inbox = Inbox()
    inbox.receive(batch(1, attempt=1))
    assert len(inbox.receive(batch(1, attempt=2))) == 1
    assert inbox.acknowledged() == {"bundle-0/1": 1, "bundle-0/2": 1}


def test_of_an_earlier_start_rows_count_and_progress_does_not() -> None:
    inbox = Inbox()
    inbox.receive(batch(1, attempt=1))
    inbox.begin("bundle-0", 2)
    ghost, own = (PROGRESS._replace(num_steps=num_steps) for num_steps in (900, 200))
    for attempt, sequence, progress, told in ((1, 2, ghost, PROGRESS), (2, 1, own, own), (1, 3, ghost, own)):
        assert len(inbox.receive(Batch("bundle-0", attempt, sequence, (EPISODE,), progress).to_message())) == 1
        assert inbox.progress == {"bundle-0": told}


def test_who_goes_back_hears_no_more_of_how_far_earlier_starts_were() -> None:
    inbox = Inbox()
    inbox.receive(batch(1))
    inbox.go_back({"bundle-0": PROGRESS._replace(num_steps=40)})
    inbox.receive(batch(2))
    assert inbox.progress["bundle-0"].num_steps == 40
    inbox.receive(batch(1, attempt=1001))
    assert inbox.progress["bundle-0"] == PROGRESS


def test_of_what_was_taken_back_nothing_counts_that_comes_late() -> None:
    inbox = Inbox()
    assert inbox.receive(batch(1)) and inbox.receive(batch(3)) == []
    assert inbox.gaps() == ["bundle-0/1"]
    inbox.end_all()
    assert inbox.gaps() == [], "nobody waits for what is of no use"
    assert inbox.receive(batch(2)) == [] and inbox.receive(batch(4)) == []
    assert inbox.receive(batch(1, attempt=1001)), "of the next generation all counts"
    assert inbox.gaps() == []


def test_who_was_not_started_between_two_ways_back_is_heard_when_it_is() -> None:
    # An evaluator beside the training: its starts are numbered one by one, and it may have none in a generation.
    inbox = Inbox()
    inbox.receive(batch(1))
    for _ in range(3):
        inbox.end_all()
        inbox.go_back({})
    assert inbox.receive(batch(2)) == [] and inbox.progress == {}
    assert inbox.receive(batch(1, attempt=2)) and inbox.progress["bundle-0"] == PROGRESS
    assert inbox.num_arrived("bundle-0", 2) == 1


def test_what_is_told_to_all_does_not_grow_with_the_restarts_of_a_role() -> None:
    inbox = Inbox()
    for attempt in range(1, 101):
        inbox.receive(batch(1, attempt=attempt))
    assert inbox.acknowledged() == {"bundle-0/99": 1, "bundle-0/100": 1}
    # An older one that speaks again is known, and told nothing more.
    assert inbox.receive(batch(1, attempt=7)) == []
    assert inbox.acknowledged() == {"bundle-0/99": 1, "bundle-0/100": 1}
