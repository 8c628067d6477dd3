"""Room beside other runs on one cluster: waited for, refused with their names, and never waited for in vain."""

import io
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from distributed import LocalCluster
from rich.console import Console

from pipeline.cluster.session import Session, open_session
from pipeline.errors import PlacementError
from pipeline.experiments.config import RunConfig
from pipeline.experiments.room import plan_beside_others
from tests.clusters import LIMIT_SECONDS, cluster_config, wait_until
from tests.experiments.smoke_runs import smoke_config

_RELEASED = threading.Event()


def _until_released() -> None:
    _RELEASED.wait(LIMIT_SECONDS)


def config_for(tmp_path: Path, *overrides: str, **cluster: float) -> RunConfig:
    """Two bundles on a running cluster."""
    return replace(smoke_config(tmp_path, *overrides), cluster=cluster_config("address", **cluster))


@pytest.fixture
def session() -> Iterator[Session]:
    """Ours, on two hosts of one thread each, in which another run computes until `_RELEASED`."""
    _RELEASED.clear()
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None, memory_limit=0
    ) as cluster:
        config = cluster_config("address", address=cluster.scheduler_address)
        with open_session(config, 1, 1) as ours, open_session(config, 1, 1) as theirs:
            tasks = [theirs.submit(_until_released, host=host, name="bundle-7") for host in theirs.hosts]
            wait_until(lambda: len(ours.others()) == 2, "both hosts are taken")
            yield ours
            _RELEASED.set()
            theirs.wait_for(tasks, LIMIT_SECONDS)


def test_a_run_waits_until_another_one_has_left_and_says_so_once(session: Session, tmp_path: Path) -> None:
    output = io.StringIO()

    class ReleasingConsole(Console):
        """The other run leaves when it is heard that somebody waits for it."""

        def print(self, *objects: object, **settings: object) -> None:
            super().print(*objects, **settings)  # type: ignore[arg-type]
            _RELEASED.set()

    plan = plan_beside_others(config_for(tmp_path), session, ReleasingConsole(file=output, width=400))
    assert {plan.placement[role].address for role in ("bundle-0", "bundle-1")} == set(session.hosts)
    (line,) = output.getvalue().splitlines()
    assert line.startswith("waiting up to 60 s for threads; taken by other runs: 1 on ")
    assert line.count("(bundle-7-") == 2


@pytest.mark.parametrize(("overrides", "limit_seconds"), [(("plan=true",), LIMIT_SECONDS), ((), 0.1)])
def test_a_run_that_finds_no_room_names_those_who_have_it(
    overrides: tuple[str, ...], limit_seconds: float, session: Session, tmp_path: Path
) -> None:
    config = config_for(tmp_path, *overrides, start_timeout_seconds=limit_seconds)
    with pytest.raises(PlacementError, match=r"(?s)no host is left for bundle.*other runs: 1 on .*\(bundle-7-.*wait"):
        plan_beside_others(config, session, Console(file=io.StringIO()))


def test_those_who_leave_while_they_are_looked_for_are_no_reason_to_refuse(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = session.others
    looks: list[int] = []

    def others() -> dict[str, list[str]]:
        looks.append(1)
        if len(looks) == 2:  # the first look was that of the offers
            _RELEASED.set()
            wait_until(lambda: not look(), "the other run has left")
        return look()

    monkeypatch.setattr(session, "others", others)
    output = io.StringIO()
    plan = plan_beside_others(config_for(tmp_path), session, Console(file=output))
    assert {plan.placement[role].address for role in ("bundle-0", "bundle-1")} == set(session.hosts)
    assert output.getvalue() == ""


def test_a_run_that_would_not_fit_on_empty_hosts_either_is_refused_at_once(session: Session, tmp_path: Path) -> None:
    output = io.StringIO()
    with pytest.raises(PlacementError, match="offered are 2 hosts with 2 threads"):
        plan_beside_others(config_for(tmp_path, "topology.num_bundles=5"), session, Console(file=output))
    assert output.getvalue() == ""
