"""A cluster of processes that are started again, and closed whatever they do."""

from collections.abc import Iterator
from typing import Any

import pytest
from distributed import Scheduler
from distributed.deploy.spec import ProcessInterface

from pipeline.cluster import whole
from pipeline.cluster.whole import WholeCluster
from tests.clusters import wait_until


class Refused(ProcessInterface):
    """Cannot be started as often as it is told, and says how often that was tried."""

    def __init__(self, scheduler: str, name: str, refusals: list[str], tries: list[str]) -> None:
        super().__init__(scheduler, name)  # type: ignore[no-untyped-call]
        self.refusals, self.tries = refusals, tries

    async def start(self) -> None:
        self.tries.append("")
        if self.refusals:
            raise RuntimeError(self.refusals.pop())
        await super().start()  # type: ignore[no-untyped-call]


@pytest.fixture
def cluster() -> Iterator[WholeCluster]:
    with WholeCluster(scheduler={"cls": Scheduler, "options": {"dashboard": False, "host": "127.0.0.1"}}) as cluster:
        yield cluster


def start(cluster: WholeCluster, refusals: list[str], tries: list[str]) -> None:
    """Ask it for one more process."""
    options: dict[str, Any] = {"refusals": refusals, "tries": tries}
    cluster.worker_spec["host"] = {"cls": Refused, "options": options}
    cluster.scale(1)


def test_what_could_not_be_started_is_tried_again_however_often_that_fails(
    cluster: WholeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "RETRY_SECONDS", 0.0)
    refusals, tries = ["no room"] * 3, list[str]()
    start(cluster, refusals, tries)
    wait_until(lambda: cluster.scale(1) or len(tries) == 4, "it is started", limit_seconds=10)
    wait_until(lambda: cluster.workers["host"].status.name == "running", "it runs", limit_seconds=10)
    for _ in range(3):
        cluster.scale(1)
    cluster.sync(cluster._start_missing)  # type: ignore[no-untyped-call]
    assert len(tries) == 4, "what runs is left alone"


def test_whoever_asks_all_the_time_does_not_have_it_tried_all_the_time(
    cluster: WholeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    refusals, tries = ["no room"] * 100, list[str]()
    start(cluster, refusals, tries)
    for _ in range(20):
        cluster.sync(cluster._start_missing)  # type: ignore[no-untyped-call]
    assert len(tries) == 2
    assert "no other host could be started: RuntimeError: no room" in caplog.messages
