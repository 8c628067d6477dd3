"""What hosts in the process of a command log, and what not."""

import asyncio
import logging
from typing import Any

import pytest
from distributed import Client, Scheduler

from dask_jobs.quiet import leave_out_broken_connections
from dask_jobs.scheduler import SETTINGS, settled, start_here


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the answer that never comes
def test_a_heartbeat_that_is_under_way_when_the_command_closes_its_hosts_is_no_error(
    dask_log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []

    async def heartbeat(scheduler: Scheduler, **words: Any) -> None:
        heard.append(words["address"])
        await asyncio.sleep(60)

    monkeypatch.setattr(Scheduler, "heartbeat_worker", heartbeat)
    with (
        settled(SETTINGS),
        start_here(1, 1, processes=False, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        while not heard:
            assert client.submit(len, "abc", pure=False).result(timeout=30) == 3
    assert "heartbeat" not in dask_log.text


def test_all_other_errors_of_hosts_are_logged(dask_log: pytest.LogCaptureFixture) -> None:
    leave_out_broken_connections()
    leave_out_broken_connections()
    logger = logging.getLogger("distributed.worker")
    assert len(logger.filters) == 1
    for error in (ValueError("a bug"), ConnectionResetError("gone")):
        try:
            raise error
        except type(error):
            logger.exception("of a host")
    logger.error("Compute Failed")
    assert "a bug" in dask_log.text and "gone" not in dask_log.text and "Compute Failed" in dask_log.text
    with settled(SETTINGS):
        leave_out_broken_connections()
    assert logger.filters == [], "it would leave out those of the caller's own hosts"
