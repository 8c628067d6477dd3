"""Calls to hosts that are dead. Calls that arrive: `test_shards`, `test_quorum`."""

import contextlib
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import cast

import pytest
from distributed import Actor

from pipeline.cluster.remotes.calls import CONNECT_SECONDS, Remote, RemoteCall
from pipeline.cluster.session import Session
from pipeline.errors import CallTimeoutError, UnreachableError


@pytest.fixture
def dead_address() -> Iterator[str]:
    """Of a host that nobody can connect to, and whose machine does not say so, as if it had no power."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        # What waits to be accepted fills its queue, and whoever comes later is not answered.
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"


def test_a_dead_host_is_given_up_long_before_the_call_s_own_deadline(
    processes_session: Session, dead_address: str
) -> None:
    client = processes_session.client
    pool, before = client.rpc, client.rpc.timeout
    # As hosts that others have started have it, whose limit is not ours.
    pool.timeout = 60.0
    try:
        actor = cast(Actor, SimpleNamespace(_address=dead_address, key="shard-0"))
        begun = time.monotonic()
        call = Remote("shard-0", actor, connect_seconds=0.5)._call("snapshot")
        with pytest.raises(UnreachableError, match="snapshot of shard-0: its host is gone or cannot be reached"):
            call.result(30.0)
        assert time.monotonic() - begun < 10
    finally:
        pool.timeout = before


def test_a_time_that_was_over_there_is_not_waited_for_here() -> None:
    failed: Future[int] = Future()
    failed.set_exception(TimeoutError("of a lock that was held"))
    begun = time.monotonic()
    with pytest.raises(CallTimeoutError, match=r"push of shard-0 did not answer within 30.0 s"):
        RemoteCall("push of shard-0", failed).result(30.0)
    assert time.monotonic() - begun < 10


def test_that_is_within_ten_seconds() -> None:
    assert CONNECT_SECONDS <= 10
