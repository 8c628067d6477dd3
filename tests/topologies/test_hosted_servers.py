"""What becomes of a server whose host is lost while it is created."""

from concurrent.futures import Future
from typing import Any, cast

import numpy as np
import pytest

from pipeline.cluster.session import Session
from pipeline.errors import RemoteLostError
from pipeline.param_server.snapshot import first_snapshot
from pipeline.topologies.hosted_servers import HostedServers
from tests.param_server.configs import server_config
from tests.roles.wiring import ADAGRAD

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
    servers = HostedServers(session, server_config(), ADAGRAD, None, (), 0, lambda _: HOST)
    with pytest.raises(error):
        servers.start(first_snapshot(np.zeros(8, np.float32)))
