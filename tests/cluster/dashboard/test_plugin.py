"""The page on real schedulers: it answers, it is in Dask's own bar, it comes once, and its absence is one sentence."""

import urllib.request
from collections.abc import Iterator
from urllib.parse import urljoin

import pytest
from bokeh.server.tornado import BokehTornado
from distributed import Client, LocalCluster, Scheduler, get_worker

from dask_jobs.progress import TOPIC as SWEEP_TOPIC
from pipeline.cluster.dashboard.board import Board
from pipeline.cluster.dashboard.plugin import DASKS_PAGE, PAGE, PagePlugin, register
from pipeline.cluster.glance import TOPIC, publish
from pipeline.cluster.session import Session
from tests.cluster.glances import glance
from tests.clusters import LIMIT_SECONDS, wait_until


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """A scheduler with a dashboard and no hosts."""
    with LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as cluster:
        yield cluster


def scheduler_of(cluster: LocalCluster) -> Scheduler:
    assert isinstance(cluster.scheduler, Scheduler)
    return cluster.scheduler


def address(cluster: LocalCluster, page: str) -> str:
    return f"http://127.0.0.1:{scheduler_of(cluster).services['dashboard'].port}/{page}"


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=LIMIT_SECONDS) as answer:
        assert answer.status == 200
        return str(answer.read().decode())


def board_of(cluster: LocalCluster) -> Board:
    plugin = scheduler_of(cluster).plugins[PagePlugin.name]
    assert isinstance(plugin, PagePlugin)
    return plugin.board


def test_the_page_answers_and_stands_in_the_bar_of_every_page(cluster: LocalCluster) -> None:
    with Client(cluster) as client:
        assert register(client)
    page = get(address(cluster, PAGE))
    assert "Bokeh" in page and 'href="pipeline"' in page and 'href="status"' in page
    assert 'href="pipeline"' in get(address(cluster, "status"))
    assert 'href="pipeline"' in get(address(cluster, "tasks"))


def test_registered_twice_it_is_there_once_and_keeps_what_it_has(cluster: LocalCluster) -> None:
    for folder in ("/first", "/second"):
        with Client(cluster) as client:
            assert register(client)
            publish(client, glance(folder))
    assert list(board_of(cluster).runs) == ["/first", "/second"]
    served = [app for app in scheduler_of(cluster).http_application.applications if isinstance(app, BokehTornado)]
    assert len(served) == 2  # Dask's own, and ours
    assert get(address(cluster, "status")).count('href="pipeline"') == 1


def test_events_from_before_it_came_are_taken_too(cluster: LocalCluster) -> None:
    with Client(cluster) as client:
        client.log_event(TOPIC, glance().to_message())
        client.log_event(TOPIC, "a foreign message")
        client.log_event(SWEEP_TOPIC, {"sweep": "s", "kind": "jobs", "jobs": []})
        assert register(client)
    board = board_of(cluster)
    assert [run.newest for run in board.runs.values()] == [glance()] and list(board.sweeps) == ["s"]


def test_a_host_s_events_reach_the_board_of_its_session_s_dashboard(threads_session: Session) -> None:
    assert register(threads_session.client)
    host = min(threads_session.hosts)
    threads_session.submit(_log, host=host, name="log").result(timeout=LIMIT_SECONDS)
    assert isinstance(threads_session.client.cluster, LocalCluster)
    board = board_of(threads_session.client.cluster)
    wait_until(lambda: "s" in board.sweeps, "the host's event is on the board")
    assert "Bokeh" in get(urljoin(threads_session.dashboard_url, PAGE))


def _log() -> None:
    get_worker().log_event(SWEEP_TOPIC, {"sweep": "s", "kind": "jobs", "jobs": []})


def test_a_scheduler_without_a_dashboard_is_one_sentence_and_no_error() -> None:
    said: list[str] = []
    without = {"dashboard": False}
    with (
        LocalCluster(
            n_workers=0, processes=False, dashboard_address="127.0.0.1:0", scheduler_kwargs=without
        ) as cluster,
        Client(cluster) as client,
    ):
        assert register(client, said.append) == ()
    assert said == ["the dashboard has no page of the pipeline: the scheduler was started without a dashboard"]


def test_a_scheduler_that_lacks_what_the_page_needs_is_one_sentence_and_no_error(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start(*_: object) -> None:
        raise ImportError("No module named 'bokeh'\nand much more")

    said: list[str] = []
    monkeypatch.setattr(PagePlugin, "start", start)
    with Client(cluster) as client:
        assert register(client, said.append) == (DASKS_PAGE,)
        assert client.scheduler_info()["id"]  # it goes on
    assert said == ["the dashboard has no page of the pipeline: No module named 'bokeh'"]
