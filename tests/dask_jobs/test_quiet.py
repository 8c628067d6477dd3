"""What hosts in the process of a command log, and what not; and what Dask warns of."""

import asyncio
import logging
import time
import warnings
from socket import socket
from typing import Any

import pytest
from distributed import Client, Scheduler
from distributed.diskutils import WorkSpace

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


def test_a_slow_disk_and_a_taken_port_end_nothing_where_warnings_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnASlowDisk(WorkSpace):
        def __init__(self, base_dir: str) -> None:
            super().__init__(base_dir)
            time.sleep(1.1)

    monkeypatch.setattr("distributed.core.WorkSpace", OnASlowDisk)
    with socket() as taken, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)  # tornado's, of a socket for the taken port
        before = list(warnings.filters)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            settled(SETTINGS),
            start_here(1, 1, processes=False, dashboard_address=f"127.0.0.1:{port}") as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            assert client.submit(len, "abc").result(timeout=30) == 3
            with pytest.raises(UserWarning, match="of another kind"):
                warnings.warn("of another kind", stacklevel=1)
        assert list(warnings.filters) == before
    told = " ".join(str(warning.message) for warning in seen)
    assert "scratch directories" in told and f"Port {port} is already in use" in told


def test_filters_that_the_program_has_put_back_meanwhile_stay() -> None:
    before = list(warnings.filters)
    with settled(SETTINGS):
        warnings.filters[:] = before  # type: ignore[index]
    assert list(warnings.filters) == before
