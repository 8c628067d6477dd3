"""The coordinator and real roles on real clusters: rows, stop, lease, and what becomes of what was lost on the way."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from distributed import Client

from pipeline.cluster.coordination.channel import Batch
from pipeline.cluster.coordination.coordinator import Coordinator, topic
from pipeline.cluster.coordination.tasks import RoleAddress, RoleResult, run_role
from pipeline.cluster.session import Session, Task
from pipeline.errors import PipelineError, SchedulerLostError
from pipeline.rows import EpisodeRow, Row
from tests.cluster.counting_role import NO_SERVERS, CountingRole, numbers
from tests.clusters import LIMIT_SECONDS, running_cluster, wait_until

ROLES = ("counter-0", "counter-1")


@contextmanager
def coordinated(
    session: Session, kind: type[Coordinator] = Coordinator
) -> Iterator[tuple[Coordinator, list[Row], str]]:
    """A coordinator of a run of its own on this session, and the rows that it wrote."""
    written: list[Row] = []
    run_id = f"{session.run_id}-{next(_RUNS)}"
    with kind(session.client, run_id, written.extend) as coordinator:
        yield coordinator, written, run_id


_RUNS = iter(range(1000))


def start(session: Session, run_id: str, role: str, attempt: int = 1, max_steps: int | None = None) -> Task:
    host = list(session.hosts)[ROLES.index(role)]
    address = RoleAddress(run_id, role, attempt, lease_seconds=LIMIT_SECONDS)
    return session.submit(run_role, CountingRole, (role, max_steps), NO_SERVERS, address, host=host, name=role)


def result_of(task: Task) -> RoleResult:
    result: RoleResult = task.result(timeout=LIMIT_SECONDS)
    return result


def test_rows_of_all_roles_arrive_once_and_in_order_and_a_stop_reaches_every_role(session: Session) -> None:
    with coordinated(session) as (coordinator, written, run_id):
        tasks = {role: start(session, run_id, role) for role in ROLES}
        for role in ROLES:
            wait_until(lambda role=role: len(numbers(written, role)) > 250, "rows of several batches")  # type: ignore[misc]
        coordinator.stop_roles()
        results = {role: result_of(task) for role, task in tasks.items()}
        for result in results.values():
            assert result.reason == "stopped"
            # The first batches were acknowledged, and forgotten.
            assert all(Batch.from_message(message).sequence > 1 for message in result.undelivered)
            coordinator.receive(result.undelivered)
        coordinator.finish(LIMIT_SECONDS)
        for role, result in results.items():
            assert numbers(written, role) == list(range(1, result.progress.num_steps + 1))
            assert coordinator.progress()[role] == result.progress


def test_rows_of_a_role_that_has_not_left_are_not_written_once_the_run_went_back(session: Session) -> None:
    rows = [EpisodeRow("counter-0", i, 100, 800, 12.0, 50, False, 0.5, 7, 1.25) for i in range(3)]
    with coordinated(session) as (coordinator, written, _):
        coordinator.receive([Batch("counter-0", 1, 1, (rows[0],), None).to_message()])
        taken_back: list[Row] = []

        def take_back() -> int:
            # What comes meanwhile waits: files are being written anew.
            coordinator.receive([Batch("counter-0", 1, 2, (rows[1],), None).to_message()])
            taken_back.extend(written)
            written.clear()
            return len(taken_back)

        assert coordinator.go_back(take_back) == 1 and taken_back == [rows[0]]
        coordinator.receive([Batch("counter-0", 1001, 1, (rows[2],), None).to_message()])
        coordinator.finish(LIMIT_SECONDS)
        assert written == [rows[2]]
        with pytest.raises(ValueError, match="the disk"):
            coordinator.go_back(_fails)
        coordinator.finish(LIMIT_SECONDS)


def _fails() -> int:
    raise ValueError("the disk")


def test_a_scheduler_keeps_no_messages_of_a_run_that_is_over(session: Session) -> None:
    with coordinated(session) as (coordinator, _, run_id):
        task = start(session, run_id, ROLES[0])
        wait_until(lambda: session.client.get_events(topic(run_id)), "messages have come")
        coordinator.stop_roles()
        coordinator.receive(result_of(task).undelivered)
    assert session.client.get_events(topic(run_id)) == ()


def test_a_slow_disk_leaves_the_coordinator_behind_with_what_it_has_heard(session: Session) -> None:
    disk = threading.Event()

    def write(rows: list[Row]) -> None:
        assert disk.wait(LIMIT_SECONDS)

    with Coordinator(session.client, f"{session.run_id}-{next(_RUNS)}", write) as coordinator:
        assert not coordinator.is_behind and coordinator.num_heard("counter-0", 1) == 0
        messages = [Batch("counter-0", 1, sequence, (), None).to_message() for sequence in (1, 2)]
        coordinator.receive(messages)
        wait_until(lambda: coordinator.num_heard("counter-0", 1) == 1, "the first batch is read")
        assert coordinator.is_behind
        disk.set()
        coordinator.finish(LIMIT_SECONDS)
        assert coordinator.num_heard("counter-0", 1) == 2 and coordinator.num_heard("counter-0", 2) == 0
        wait_until(lambda: not coordinator.is_behind, "all is written")


class DeafCoordinator(Coordinator):
    """No event ever reaches it."""

    def _on_event(self, event: Any) -> None:
        pass


def test_rows_whose_events_were_all_lost_arrive_with_the_result(session: Session) -> None:
    with coordinated(session, DeafCoordinator) as (coordinator, written, run_id):
        result = result_of(start(session, run_id, "counter-0", max_steps=80))
        assert result.reason == "done" and written == []
        assert len(result.undelivered) > 1
        coordinator.receive(result.undelivered)
        coordinator.finish(LIMIT_SECONDS)
        assert numbers(written, "counter-0") == list(range(1, 81))


def test_rows_that_come_both_ways_are_written_once(session: Session) -> None:
    with coordinated(session) as (coordinator, written, run_id):
        result = result_of(start(session, run_id, "counter-0", max_steps=80))
        wait_until(lambda: written, "the first rows")
        coordinator.receive([*result.undelivered, *result.undelivered])
        coordinator.finish(LIMIT_SECONDS)
        assert numbers(written, "counter-0") == list(range(1, 81))


class MutedCoordinator(Coordinator):
    """Its lease is never renewed."""

    def _renew(self) -> None:
        pass


def test_a_role_whose_coordinator_has_no_beat_any_more_leaves_by_itself(session: Session) -> None:
    with coordinated(session, MutedCoordinator) as (_, _, run_id):
        address = RoleAddress(run_id, "counter-0", 1, lease_seconds=1.0)
        host = min(session.hosts)
        task = session.submit(
            run_role, CountingRole, ("counter-0", None), NO_SERVERS, address, host=host, name="counter-0"
        )
        assert result_of(task).reason == "lease lapsed"


def test_a_role_that_never_hears_of_a_coordinator_leaves_by_itself(session: Session) -> None:
    address = RoleAddress("nobody", "counter-0", 1, lease_seconds=0.5)
    host = min(session.hosts)
    task = session.submit(run_role, CountingRole, ("counter-0", None), NO_SERVERS, address, host=host, name="counter-0")
    result = result_of(task)
    assert result.reason == "lease lapsed"
    rows = [row for message in result.undelivered for row in Batch.from_message(message).rows]
    assert numbers(rows, "counter-0") == list(range(1, result.progress.num_steps + 1))


def test_a_start_that_counts_as_lost_and_goes_on_leaves_while_the_one_in_its_place_stays(session: Session) -> None:
    with coordinated(session) as (coordinator, _, run_id):
        first = start(session, run_id, "counter-0")
        other = start(session, run_id, "counter-1")
        wait_until(lambda: {"counter-0", "counter-1"} <= coordinator.progress().keys(), "both play")
        coordinator.dismiss("counter-0", 1)
        assert result_of(first).reason == "dismissed"
        second = start(session, run_id, "counter-0", attempt=2)
        wait_until(lambda: coordinator.num_heard("counter-0", 2) > 2, "it plays on")
        assert not second.done() and not other.done()
        coordinator.stop_roles()
        assert [result_of(task).reason for task in (second, other)] == ["stopped", "stopped"]


def test_roles_can_be_started_again_after_a_stop(session: Session) -> None:
    with coordinated(session) as (coordinator, written, run_id):
        first = start(session, run_id, "counter-0")
        wait_until(lambda: written, "the first rows")
        coordinator.stop_roles()
        coordinator.receive(result_of(first).undelivered)
        coordinator.finish(LIMIT_SECONDS)
        before = len(written)
        coordinator.let_roles_run({})
        second = start(session, run_id, "counter-0", attempt=2)
        wait_until(lambda: len(written) > before + 60, "rows of the second attempt")
        coordinator.stop_roles()
        result = result_of(second)
        coordinator.receive(result.undelivered)
        coordinator.finish(LIMIT_SECONDS)
        assert numbers(written[before:], "counter-0") == list(range(1, result.progress.num_steps + 1))


def test_rows_of_the_coordinator_s_own_are_written_in_turn_with_those_of_roles(threads_session: Session) -> None:
    first, own, last = (EpisodeRow(role, 0, 1, 4, 1.0, 1, False, 0.0, 0, 0.5) for role in ("first", "own", "last"))
    with coordinated(threads_session) as (coordinator, written, _):
        coordinator.receive([Batch("counter-0", 1, 1, (first,), None).to_message()])
        coordinator.write([own])
        coordinator.write([])
        coordinator.receive([Batch("counter-0", 1, 2, (last,), None).to_message()])
        coordinator.finish(LIMIT_SECONDS)
        assert written == [first, own, last]


def test_a_disk_that_is_full_is_reported_by_the_next_check(threads_session: Session) -> None:
    def write(rows: list[Row]) -> None:
        raise OSError("no space left")

    with Coordinator(threads_session.client, "full-disk", write) as coordinator:
        coordinator.check()
        coordinator.receive([Batch("counter-0", 1, 1, (), None).to_message()])
        with pytest.raises(PipelineError, match="rows could not be written: no space left"):
            coordinator.finish(LIMIT_SECONDS)
        with pytest.raises(PipelineError, match="no space left"):
            coordinator.check()


def test_a_batch_that_never_came_is_an_error_at_the_end(threads_session: Session) -> None:
    with coordinated(threads_session) as (coordinator, _, _):
        coordinator.receive([Batch("counter-0", 1, 2, (), None).to_message()])
        with pytest.raises(PipelineError, match="batches of counter-0/1 never arrived"):
            coordinator.finish(LIMIT_SECONDS)


def test_a_coordinator_whose_client_has_given_up_the_scheduler_ends_without_an_error_of_its_own() -> None:
    with running_cluster(num_hosts=1) as cluster:
        client = Client(cluster, set_as_default=False)
        written: list[Row] = []
        with Coordinator(client, "given-up", written.extend) as coordinator:
            client.close()
            assert client.scheduler is None
            with pytest.raises(SchedulerLostError, match="the scheduler does not answer any more"):
                coordinator.let_roles_run({})
            coordinator.stop_roles()
