"""Dask's log of tasks that failed on a real host: with errors of ours, and with others."""

import logging
from collections.abc import Iterator

import pytest

from dask_jobs.quiet import LEVELS
from pipeline.cluster.coordination.host_logs import leave_dask_out, leave_out_told_failures
from pipeline.cluster.session import Session, open_session
from pipeline.errors import PipelineError, UnreachableError
from tests.clusters import LIMIT_SECONDS, cluster_config


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_session(cluster_config("threads"), num_hosts=1, threads_per_host=1) as session:
        yield session


def fail(error: Exception) -> None:
    """As a role does."""
    leave_out_told_failures()
    raise error


@pytest.mark.parametrize(
    ("error", "is_logged"),
    [(UnreachableError("shard-1 is gone"), False), (PipelineError("no"), False), (ValueError("a bug"), True)],
)
def test_a_task_that_fails_is_logged_unless_the_coordinator_tells_of_it(
    session: Session, dask_log: pytest.LogCaptureFixture, error: Exception, is_logged: bool
) -> None:
    task = session.submit(fail, error, host=next(iter(session.hosts)), name="failing")
    with pytest.raises(type(error)):
        task.result(timeout=LIMIT_SECONDS)
    assert ("Compute Failed" in dask_log.text) == is_logged


def test_it_is_left_out_once(dask_log: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        leave_out_told_failures()
    kinds = [type(known).__name__ for known in logging.getLogger("distributed.worker").filters]
    assert kinds.count("_ToldFailures") == 1


@pytest.mark.parametrize(
    ("name", "is_heard"),
    [("distributed.client", False), ("distributed.scheduler", False), ("asyncio", False), ("distributed.worker", True)],
)
def test_a_command_leaves_out_what_dask_has_to_say_but_for_tasks_that_failed(name: str, is_heard: bool) -> None:
    named = (*LEVELS, "distributed.worker")
    levels = {logger: logging.getLogger(logger).level for logger in named}
    try:
        leave_dask_out()
        assert logging.getLogger(name).isEnabledFor(logging.ERROR) == is_heard
        # Of clients that are gone a scheduler logs even that as critical.
        assert not logging.getLogger("distributed.scheduler").isEnabledFor(logging.CRITICAL)
    finally:
        for logger, level in levels.items():
            logging.getLogger(logger).setLevel(level)
