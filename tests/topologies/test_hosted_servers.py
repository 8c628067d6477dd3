"""How long servers may take to be created, and what becomes of one whose host is lost meanwhile."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, cast

import numpy as np
import pytest

from pipeline.cluster.session import Session
from pipeline.envs.episodes import never
from pipeline.errors import RemoteLostError
from pipeline.param_server.snapshot import first_snapshot
from pipeline.roles.replay_server import ReplayServerSpec
from pipeline.topologies.hosted_servers import HostedServers
from tests.param_server.configs import server_config
from tests.roles.wiring import ADAGRAD, bundle_spec

HOST = "tcp://10.0.0.1:4000"


class NoValidWorkerError(Exception):
    """As Dask's, for a task whose only host has been gone for a while."""


class SessionThatLosesIt:
    """A session of whose tasks none is ever carried out."""

    run_id = "run"

    def __init__(self, present: set[str]) -> None:
        self._present = present

    def send(self, *_: object) -> None:
        pass

    def submit(self, *_: object, **__: object) -> Future[Any]:
        task: Future[Any] = Future()
        task.set_exception(NoValidWorkerError("no host fits"))
        return task

    def present_hosts(self) -> set[str]:
        return self._present


@pytest.mark.parametrize(("present", "error"), [(set[str](), RemoteLostError), ({HOST}, NoValidWorkerError)])
def test_a_server_that_its_host_was_lost_for_is_lost_and_an_error_of_its_own_stays_one(
    present: set[str], error: type[Exception]
) -> None:
    session = cast(Session, SessionThatLosesIt(present))
    servers = HostedServers(session, server_config(), ADAGRAD, None, (), 0, lambda _: HOST, load_seconds=0.0)
    with pytest.raises(error):
        servers.start(first_snapshot(np.zeros(8, np.float32)), never)


class SessionThatLoads(SessionThatLosesIt):
    """Shards are there at once, replays after so many looks at the first of them."""

    def __init__(self, num_looks: int, leaves_after: int = 1_000_000) -> None:
        super().__init__({HOST})
        self._num_looks = num_looks
        self._leaves_after = leaves_after
        self.begun: list[str] = []
        """Servers, and a look in between."""
        self._loading: list[Future[Any]] = []

    def submit(self, *_: object, **named: object) -> Future[Any]:
        name = str(named["name"])
        self.begun.append(name)
        task: Future[Any] = Future()
        if name.startswith("replay"):
            self._loading.append(task)
        else:
            task.set_result(name)
        return task

    def wait_for(self, tasks: Sequence[Future[Any]], seconds: float) -> None:
        self.begun.append("look")
        if self.begun.count("look") == self._num_looks:
            for task in self._loading:
                task.set_result("there")

    def present_hosts(self) -> set[str]:
        return {HOST} if self.begun.count("look") < self._leaves_after else set()


def loaded(session: SessionThatLoads, load_seconds: float = 900.0, stop: Callable[[], bool] = never) -> HostedServers:
    """A shard and two replays, started on it; a call has no time worth to speak of."""
    config = server_config(num_shards=1, timeout_seconds=1e-6)
    replays = [ReplayServerSpec(bundle_spec(), f"replay-{i}", num_writers=1) for i in range(2)]
    servers = HostedServers(
        cast(Session, session), config, ADAGRAD, None, replays, 0, lambda _: HOST, load_seconds=load_seconds
    )
    servers.start(first_snapshot(np.zeros(8, np.float32)), stop)
    return servers


def test_replays_load_side_by_side_for_longer_than_a_call_may_take() -> None:
    session = SessionThatLoads(num_looks=200)
    servers = loaded(session)
    assert [address.actor for address in servers.addresses.replays] == ["there", "there"]
    assert session.begun[:4] == ["shard-0", "replay-0", "replay-1", "look"]
    assert servers.names == ("shard-0", "replay-0", "replay-1")


def test_a_replay_whose_host_goes_while_it_loads_is_lost_at_once_and_one_that_never_ends_in_time() -> None:
    with pytest.raises(RemoteLostError, match=f"replay-0 was lost with its host {HOST} while it was created"):
        loaded(SessionThatLoads(num_looks=1_000_000, leaves_after=3))
    with pytest.raises(RemoteLostError, match=r"replay-0 was not created within 0\.02 s"):
        loaded(SessionThatLoads(num_looks=1_000_000_000), load_seconds=0.02)


def test_a_replay_that_loads_keeps_no_run_that_stop() -> None:
    session = SessionThatLoads(num_looks=1_000_000)
    with pytest.raises(RemoteLostError, match="replay-0 is not waited for"):
        loaded(session, stop=lambda: session.begun.count("look") == 5)
