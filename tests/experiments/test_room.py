"""Room beside other runs on one cluster: waited for, refused with their names, and never waited for in vain."""

import io
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console

from pipeline.cluster.hosts import report_host
from pipeline.cluster.placement import Demand, place
from pipeline.cluster.scheduler import ANSWER_SECONDS
from pipeline.cluster.session import Session, open_session
from pipeline.cluster.survey import later_survey
from pipeline.config.run_config import RunConfig
from pipeline.errors import PlacementError
from pipeline.experiments import room
from pipeline.experiments.room import plan_beside_others, plan_now
from tests.clocks import Clock
from tests.clusters import LIMIT_SECONDS, cluster_config, running_cluster
from tests.experiments.commands import Start
from tests.experiments.smoke_runs import smoke_config, smoke_words


def config_for(tmp_path: Path, *overrides: str, **cluster: float) -> RunConfig:
    """Two bundles on a running cluster."""
    return replace(smoke_config(tmp_path, *overrides), cluster=cluster_config("address", **cluster))


class Shared(NamedTuple):
    """Two hosts of one thread each, which another run holds."""

    ours: Session
    theirs: ExitStack
    """Closed, the other run has left."""


@pytest.fixture
def shared() -> Iterator[Shared]:
    with running_cluster(protocol="tcp", host="127.0.0.1") as cluster:
        config = cluster_config("address", address=cluster.scheduler_address)
        with open_session(config, 1, 1) as ours, ExitStack() as stack:
            theirs = stack.enter_context(open_session(config, 1, 1))
            theirs.name = "dba3c on [Pong], seed 7"
            demands = [Demand("worker-0", 1, 0), Demand("worker-1", 1, 0)]
            assert theirs.hold(place(demands, theirs.offers()), demands)
            yield Shared(ours, stack)


class LeavingConsole(Console):
    """The other run leaves when it is heard that somebody waits for it."""

    def __init__(self, theirs: ExitStack) -> None:
        self.heard = io.StringIO()
        super().__init__(file=self.heard, width=60)
        self._theirs = theirs

    def print(self, *objects: object, **settings: object) -> None:
        super().print(*objects, **settings)  # type: ignore[arg-type]
        self._theirs.close()


def test_a_run_waits_until_another_one_has_left_says_so_once_and_holds_what_it_takes(
    shared: Shared, tmp_path: Path
) -> None:
    console = LeavingConsole(shared.theirs)
    plan = plan_beside_others(config_for(tmp_path), shared.ours, console)
    assert {plan.placement[role].address for role in ("bundle-0", "bundle-1")} == set(shared.ours.hosts)
    first, second = shared.ours.hosts
    assert console.heard.getvalue() == (
        f"waiting up to {LIMIT_SECONDS:g} s for room; others have dba3c on [Pong], seed 7 "
        f"(1 thread on {first}, 1 thread on {second})\n"
    )
    with pytest.raises(PlacementError):
        _third_plan(shared, tmp_path)


def _third_plan(shared: Shared, tmp_path: Path) -> None:
    address = shared.ours.client.scheduler_info()["address"]
    with open_session(cluster_config("address", address=address), 1, 1) as third:
        plan_now(config_for(tmp_path), third)


@pytest.mark.parametrize(("overrides", "limit_seconds"), [(("plan=true",), LIMIT_SECONDS), ((), 0.1)])
def test_a_run_that_finds_no_room_names_those_who_have_it(
    overrides: tuple[str, ...], limit_seconds: float, shared: Shared, tmp_path: Path
) -> None:
    config = config_for(tmp_path, *overrides, start_timeout_seconds=limit_seconds)
    with pytest.raises(PlacementError, match=r"(?s)no host is left for bundle.*Others have dba3c on \[Pong\], seed 7 "):
        plan_beside_others(config, shared.ours, Console(file=io.StringIO()))


def test_a_run_that_would_not_fit_on_empty_hosts_either_is_refused_at_once(shared: Shared, tmp_path: Path) -> None:
    output = io.StringIO()
    with pytest.raises(PlacementError, match="offered are 2 hosts with 2 threads"):
        plan_beside_others(config_for(tmp_path, "topology.num_bundles=5"), shared.ours, Console(file=output))
    assert output.getvalue() == ""


@pytest.mark.parametrize("limit_seconds", [60.0, 600.0])
def test_a_pause_of_the_whole_process_while_it_waits_is_not_all_of_its_time(
    shared: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit_seconds: float
) -> None:
    clock = Clock()

    def pause(_: float) -> None:
        clock.sleeps.append(3600.0)
        clock.now += 3600.0
        if len(clock.sleeps) == 3:
            shared.theirs.close()

    monkeypatch.setattr(room, "time", clock)
    monkeypatch.setattr(clock, "sleep", pause)
    config = config_for(tmp_path, start_timeout_seconds=limit_seconds)
    assert plan_beside_others(config, shared.ours, Console(file=io.StringIO())).placement
    assert len(clock.sleeps) == 3


def test_the_time_in_which_hosts_do_not_answer_is_part_of_that_in_which_it_waits(
    shared: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    def survey() -> None:
        clock.now += ANSWER_SECONDS

    monkeypatch.setattr(room, "time", clock)
    monkeypatch.setattr(shared.ours, "survey_again", survey)
    with pytest.raises(PlacementError, match=r"Others have dba3c on \[Pong\], seed 7 "):
        plan_beside_others(config_for(tmp_path, start_timeout_seconds=600.0), shared.ours, Console(file=io.StringIO()))
    assert clock.now < 800.0


def test_those_who_leave_after_the_first_look_are_no_reason_to_refuse(
    shared: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers = shared.ours.offers

    def offers_before_they_leave(*, as_if_alone: bool = False) -> object:
        found = offers(as_if_alone=as_if_alone)
        shared.theirs.close()
        return found

    monkeypatch.setattr(shared.ours, "offers", offers_before_they_leave)
    plan = plan_beside_others(config_for(tmp_path), shared.ours, Console(file=io.StringIO()))
    assert {plan.placement[role].address for role in ("bundle-0", "bundle-1")} == set(shared.ours.hosts)


def test_a_plan_whose_hosts_others_take_meanwhile_is_not_carried_out(
    shared: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offers = shared.ours.offers(as_if_alone=True)
    monkeypatch.setattr(shared.ours, "offers", lambda **_: offers)
    with pytest.raises(PlacementError, match=r"others have just taken hosts of this plan: dba3c on \[Pong\]"):
        plan_now(config_for(tmp_path), shared.ours)


def test_a_run_that_lacks_hosts_names_those_that_have_come_with_other_code(shared: Shared, tmp_path: Path) -> None:
    shared.theirs.close()
    edited = report_host()
    edited.versions["code"] = "0123456789ab"
    shared.ours._hosts.survey = later_survey(edited, shared.ours.hosts)
    with pytest.raises(PlacementError, match=r"(?s)offered .*\ntcp:\S+ takes no part: it has another code of pipeline"):
        plan_now(config_for(tmp_path), shared.ours)


@pytest.mark.slow
def test_ctrl_c_ends_a_run_that_waits_for_room_in_words(shared: Shared, start: Start, tmp_path: Path) -> None:
    address = shared.ours.client.scheduler_info()["address"]
    words = [*smoke_words(tmp_path / "runs"), "cluster=address", f"cluster.address={address}"]
    command = start("-m", "pipeline.train", *words)
    command.wait_until(lambda: "waiting up to" in command.printed, "it waits")
    command.ctrl_c()
    assert command.ends() == 130
    assert command.printed.endswith("stopped by Ctrl-C\n") and "Traceback" not in command.printed
    assert not (tmp_path / "runs").exists()
