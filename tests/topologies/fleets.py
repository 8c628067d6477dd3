"""Fleets on real clusters, for tests: started, looked at, stopped and forgotten."""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.placement import Placement, place
from pipeline.cluster.session import Session
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.snapshot import ServerSnapshot
from pipeline.roles.spec import QRoleSpec, WorkerSpec
from pipeline.rows import Row
from pipeline.topologies.config import TopologyConfig
from pipeline.topologies.fleet import Fleet, FleetSpec
from pipeline.topologies.last_wait import LastWait
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.patience import Patience
from tests.clusters import LIMIT_SECONDS, wait_until
from tests.roles.wiring import ADAGRAD, first_server

PATIENCE = Patience()
"""That of every run."""


class Run:
    """A fleet, its coordinator, and what it wrote."""

    def __init__(self, session: Session, coordinator: Coordinator, fleet: Fleet) -> None:
        self.session = session
        self.coordinator = coordinator
        self.fleet = fleet
        self.rows: list[Row] = []

    @property
    def placement(self) -> Placement:
        """Where everything stands now."""
        return self.fleet.placement

    def steps_of(self, role: str) -> int:
        """Agent steps that a role has told of."""
        progress = self.coordinator.progress().get(role)
        return 0 if progress is None else progress.num_steps

    def updates_of(self, role: str) -> int:
        """Gradients that a role has told of."""
        progress = self.coordinator.progress().get(role)
        return 0 if progress is None else progress.num_updates

    def version_of(self, role: str) -> int:
        """Version of the parameters that a role has told of."""
        progress = self.coordinator.progress().get(role)
        return 0 if progress is None else progress.version

    def only_sentence(self) -> str:
        """The one thing that the fleet has to say, but for what it only says where a machine is slow."""
        said: list[str] = []

        def found() -> bool:
            said.extend(line for line in self.fleet.supervise() if not _tells_of_slowness(line))
            return bool(said)

        wait_until(found, "the fleet said a sentence")
        (sentence,) = said
        return sentence

    def supervise_until(self, num_sentences: int) -> list[str]:
        """The first sentences that the fleet has to say."""
        said: list[str] = []

        def enough() -> bool:
            said.extend(self.fleet.supervise())
            return len(said) >= num_sentences

        wait_until(enough, f"the fleet said {num_sentences} sentences")
        return said


def _tells_of_slowness(sentence: str) -> bool:
    return sentence.startswith("nothing was heard of ") or "; waiting up to " in sentence


@contextmanager
def fleet_on(
    session: Session,
    role: QRoleSpec | WorkerSpec,
    topology: TopologyConfig,
    optimizer: OptimizerConfig = ADAGRAD,
    max_restarts: int = 1,
    num_gpus: int = 0,
    lease_seconds: float = 30.0,
    without: Sequence[str] = (),
    patience: Patience = PATIENCE,
) -> Iterator[Run]:
    """A started fleet; it is stopped and forgotten afterwards. Roles that learn want `num_gpus` each.

    Roles in `without` have no host when it starts.
    """
    needs = RoleNeeds(0, 0, 0, 0, 0, num_gpus=num_gpus)
    wanted = topology.demands(role.algorithm, role.param_server.num_shards, needs)
    placement = place([demand for demand in wanted if demand.role not in without], session.offers())
    players = topology.num_playing
    pattern = replace(role, place=replace(role.place, num_actors=players))
    spec = FleetSpec(*topology.system(pattern), optimizer, tuple(wanted), lease_seconds, max_restarts, patience)
    # A run of its own on a session that is shared.
    session.run_id = uuid.uuid4().hex[:8]
    rows: list[Row] = []
    with Coordinator(session.client, session.run_id, rows.extend) as coordinator:
        run = Run(session, coordinator, Fleet(session, coordinator, spec, placement))
        run.rows = rows
        run.fleet.start(first_server(role), {})
        try:
            yield run
        finally:
            coordinator.stop_roles()
            run.fleet.abandon(LastWait(LIMIT_SECONDS))
            run.fleet.release()


def assert_equal(ours: ServerSnapshot, by_hand: ServerSnapshot) -> None:
    """Both servers are equal bit for bit."""
    assert ours.versions == by_hand.versions
    assert ours.target_versions == by_hand.target_versions
    np.testing.assert_array_equal(ours.params, by_hand.params)
    np.testing.assert_array_equal(ours.target, by_hand.target)
    assert ours.slots.keys() == by_hand.slots.keys()
    for name, slot in ours.slots.items():
        np.testing.assert_array_equal(slot, by_hand.slots[name], err_msg=name)
