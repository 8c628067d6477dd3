"""A topology of anybody's is tried before any work: what goes wrong with one's own is told in a sentence."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pipeline.algorithms.config import AlgorithmConfig
from pipeline.cluster.placement import Demand
from pipeline.config.run_config import RunConfig
from pipeline.config.sweep_jobs import SweepJob
from pipeline.errors import ConfigError
from pipeline.experiments.specs import check_roles, role_spec
from pipeline.experiments.sweeps.plan import plan_jobs
from pipeline.roles.spec import RoleSpec
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.system import System
from pipeline.topologies.trial import faults_of_topology
from tests.experiments.smoke_runs import smoke_config
from tests.own.mylab.twins import TwinsConfig

OURS = ("smoke_gorila", "smoke_dqn", "smoke_apex", "smoke_dba3c", "smoke_pqn")
Demands = Callable[[list[Demand]], list[Demand]]
Systems = Callable[[System], System]


@dataclass(frozen=True)
class ToyConfig(TwinsConfig):
    """The twins, changed."""

    of_demands: Demands = list
    of_system: Systems = System._replace

    def demands(self, algorithm: AlgorithmConfig, num_shards: int, needs: RoleNeeds) -> list[Demand]:
        """What is left of theirs."""
        return self.of_demands(super().demands(algorithm, num_shards, needs))

    def system(self, role: RoleSpec) -> System:
        """The same."""
        return self.of_system(super().system(role))


def run_of(of_demands: Demands = list, of_system: Systems = System._replace) -> RunConfig:
    run = smoke_config(Path("runs"))
    topology = run.topology
    toy = ToyConfig(
        f"{__name__}.ToyConfig", topology.num_lanes, topology.shards, topology.compute_threads, of_demands, of_system
    )
    return replace(run, topology=toy)


@pytest.mark.parametrize("experiment", OURS)
def test_ours_have_no_faults(experiment: str, tmp_path: Path) -> None:
    run = smoke_config(tmp_path, experiment=experiment)
    assert faults_of_topology(run.topology, run.algorithm, lambda: role_spec(run, 1), run.param_server.num_shards) == []


def test_twins_have_none() -> None:
    check_roles(run_of())


def _raises(*_: object) -> list[Demand]:
    raise ZeroDivisionError("division by zero")


def _without_first(system: System) -> System:
    return system._replace(roles=system.roles[1:])


def _as_castor(system: System) -> System:
    return system._replace(roles=tuple(replace(plan, name="castor") for plan in system.roles))


@pytest.mark.parametrize(
    ("of_demands", "of_system", "fault"),
    [
        (_raises, System._replace, "cannot say what its roles want: `demands` raises ZeroDivisionError: division by"),
        (list, _raises, "cannot say which roles it has: `system` raises ZeroDivisionError: division by zero"),
        (lambda found: found + found[:1], System._replace, "demands a host for castor twice: each role has a name of"),
        (lambda found: found[1:], System._replace, "has shard-0 stand beside castor, which no demand before it names"),
        (lambda found: found[:2], System._replace, "starts shard-0, for which `demands` asks no host"),
        (list, _without_first, "asks in `demands` for castor, which nothing starts"),
        (list, _as_castor, "has two roles named castor: each has a name of its own"),
        (list, lambda system: system._replace(roles=()), "has no role in its `system`"),
    ],
)  # fmt: skip
def test_what_cannot_be_started_is_told_before_any_work(of_demands: Demands, of_system: Systems, fault: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_roles(run_of(of_demands, of_system))
    (line,) = refused.value.mistakes
    assert line.startswith(f"topology.kind={__name__}.ToyConfig {fault}")


@pytest.mark.parametrize("of_demands", [_raises, lambda found: found[1:]])
def test_hosts_that_cannot_be_counted_are_a_mistake_among_others(of_demands: Demands) -> None:
    run = run_of(of_demands)
    (line,) = replace(run, cluster=replace(run.cluster, num_hosts=2)).mistakes()
    assert line.startswith(f"topology.kind={__name__}.ToyConfig has no sound `demands`: ")


@dataclass(frozen=True)
class Uncounted(ToyConfig):
    """One that cannot say how many play."""

    @property
    def num_playing(self) -> int:
        """Raises."""
        raise ZeroDivisionError


def test_a_property_that_fails_is_told_as_well() -> None:
    run = run_of()
    with pytest.raises(ConfigError, match=r"ToyConfig cannot say which roles it has: `system` raises ZeroDivision"):
        check_roles(replace(run, topology=Uncounted(**vars(run.topology))))


def test_a_sweep_s_plan_tells_the_same() -> None:
    with pytest.raises(ConfigError, match="which no demand before it names"):
        plan_jobs([SweepJob((), run_of(lambda found: found[1:]))], lambda _: None)
