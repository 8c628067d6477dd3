"""Threads of roles as the operating system's batch work, on a real host."""

import os
import sys
import threading

import pytest

from pipeline.cluster.coordination.batch_thread import batch_thread
from pipeline.cluster.coordination.tasks import RoleAddress, run_role
from pipeline.cluster.session import Session
from tests.cluster.counting_role import NO_SERVERS, CountingRole
from tests.clusters import LIMIT_SECONDS

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="other systems know no such policy"),
    pytest.mark.skipif(
        sys.platform == "linux" and os.sched_getscheduler(0) != os.SCHED_OTHER,
        reason="the tests have a policy themselves",
    ),
]


def test_the_thread_and_those_that_it_starts_are_batch_work_until_the_end() -> None:
    with batch_thread():
        within = [os.sched_getscheduler(0)]
        thread = threading.Thread(target=lambda: within.append(os.sched_getscheduler(0)))
        thread.start()
        thread.join()
    assert within == [os.SCHED_BATCH] * 2
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_the_policy_is_put_back_after_an_error() -> None:
    with pytest.raises(OSError, match="of the role"), batch_thread():
        raise OSError("of the role")
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_a_thread_that_somebody_has_given_a_policy_keeps_it() -> None:
    seen: list[int] = []

    def idle() -> None:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        with batch_thread():
            seen.append(os.sched_getscheduler(0))
        seen.append(os.sched_getscheduler(0))

    # In a thread of its own: without privileges there is no way back from idle.
    thread = threading.Thread(target=idle)
    thread.start()
    thread.join()
    assert seen == [os.SCHED_IDLE] * 2


class RememberingRole(CountingRole):
    """Writes down what policy its steps ran under."""

    seen: set[int] = set()  # noqa: RUF012  # shared on purpose: the test and the role live in one process

    def step(self) -> None:
        """Count, and look."""
        super().step()
        self.seen.add(os.sched_getscheduler(0))


def test_a_role_is_batch_work_and_the_host_s_thread_is_not_afterwards(threads_session: Session) -> None:
    host = min(threads_session.hosts)
    address = RoleAddress("batch", "counter-0", 1, LIMIT_SECONDS)
    task = threads_session.submit(
        run_role, RememberingRole, ("counter-0", 3), NO_SERVERS, address, host=host, name="counter-0"
    )
    assert task.result(timeout=LIMIT_SECONDS).progress.num_steps == 3
    assert RememberingRole.seen == {os.SCHED_BATCH}
    after = threads_session.submit(os.sched_getscheduler, 0, host=host, name="after")
    assert after.result(timeout=LIMIT_SECONDS) == os.SCHED_OTHER
