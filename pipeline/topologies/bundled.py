"""Gorila's bundled mode, and its smallest case, the single-machine baseline: who is started, who holds whose handle.

    shard-0 ... shard-S     Dask actors, one slice of the parameters each
       ^  v                 gradients up, parameters down
    bundle-0 ... bundle-N   long-running Dask tasks: actor + local replay + learner each; they never talk to each other

`topology=single` is one bundle beside one shard: the same role classes, every call within one thread.
A bundle whose host dies is started again elsewhere with an empty replay; a lost shard ends the fleet, and the run
begins a new generation from its newest checkpoint (`pipeline.experiments.run`).
Nair et al. 2015, bundled mode.
"""

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pipeline.cluster.coordinator import Coordinator
from pipeline.cluster.placement import Demand, Placement, place
from pipeline.cluster.remotes import HostedShard, RemoteShard, ShardAddress
from pipeline.cluster.session import Session, Task
from pipeline.cluster.tasks import RoleAddress, RoleResult, run_role
from pipeline.errors import CallTimeoutError, PlacementError, RemoteLostError, RoleFailedError
from pipeline.optimizers import OptimizerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.snapshot import ServerSnapshot, merge_snapshots, split_snapshot
from pipeline.roles.bundle import Bundle, BundleSpec
from pipeline.roles.progress import RoleProgress
from pipeline.topologies.config import APART, TopologyConfig


def bundle_name(index: int) -> str:
    """Role name of a bundle."""
    return f"bundle-{index}"


def shard_name(index: int) -> str:
    """Role name of a shard."""
    return f"shard-{index}"


def demands(topology: TopologyConfig, num_shards: int, bundle_bytes: int, shard_bytes: int) -> list[Demand]:
    """What the roles want of their hosts: bundles first, so that shards can stand beside them."""
    bundles = [Demand(bundle_name(i), topology.compute_threads, bundle_bytes) for i in range(topology.num_bundles)]
    apart = topology.shards == APART
    shards = [
        Demand(
            shard_name(i),
            num_threads=1 if apart else 0,
            memory_bytes=shard_bytes,
            beside=None if apart else bundle_name(i % topology.num_bundles),
            alone=apart,
        )
        for i in range(num_shards)
    ]
    return bundles + shards


@dataclass(frozen=True)
class FleetSpec:
    """Everything that a fleet is made of; `bundle` is the pattern of all bundles."""

    num_bundles: int
    bundle: BundleSpec
    optimizer: OptimizerConfig
    demands: tuple[Demand, ...]
    lease_seconds: float
    max_restarts: int


class Fleet:
    """One generation of shards and the bundles around it."""

    def __init__(self, session: Session, coordinator: Coordinator, spec: FleetSpec, placement: Placement) -> None:
        self._session = session
        self._coordinator = coordinator
        self._spec = spec
        self._placement = placement
        self._bundles = [bundle_name(i) for i in range(spec.num_bundles)]
        self._shards: list[ShardAddress] = []
        self._shard_futures: list[Task] = []
        self._tasks: dict[str, Task] = {}
        self._attempts: dict[str, int] = {}
        self._lost: dict[str, str] = {}
        """Bundles that wait for a host, and why they lost theirs."""
        self._lost_at = 0.0
        self._timeout_seconds = spec.bundle.param_server.timeout_seconds

    def start(self, snapshot: ServerSnapshot, before: Mapping[str, RoleProgress]) -> None:
        """Create the shards from `snapshot` and start the bundles where `before` (by role) says that they were."""
        layout = ParamLayout(snapshot.params.size, self._spec.bundle.param_server.num_shards)
        for index, part in enumerate(split_snapshot(snapshot, layout)):
            name, host = shard_name(index), self._placement[shard_name(index)].address
            hosted_name = f"{name}-{self._session.run_id}-{self._spec.bundle.generation}"
            future = self._session.submit(
                HostedShard,
                hosted_name,
                self._session.send(part, host),
                self._spec.optimizer,
                self._spec.bundle.param_server,
                self._spec.bundle.generation,
                host=host,
                name=name,
                actor=True,
            )
            # Dask frees an actor when its last future goes.
            self._shard_futures.append(future)
            self._shards.append(self._address_of(hosted_name, future))
        for role in self._bundles:
            self._start_bundle(role, before)

    def supervise(self) -> list[str]:
        """Look after all roles once; returns what happened, in sentences.

        Raises RemoteLostError when a shard is lost, RoleFailedError when a bundle failed by itself or too often,
        PlacementError when no host came for a lost one in time.
        """
        present = self._session.present_hosts()
        for index in range(len(self._shards)):
            if self._placement[shard_name(index)].address not in present:
                raise RemoteLostError(f"{shard_name(index)} is lost with its host")
        for role in self._tasks:
            if role not in self._lost and (reason := self._why_lost(role, present)) is not None:
                self._lose(role, reason)
        return self._restart_lost() if self._lost else []

    def finished(self) -> bool:
        """True once every bundle has left."""
        return not self._lost and all(task.done() for task in self._tasks.values())

    def snapshot(self) -> ServerSnapshot:
        """The server's state now; shards may be asked at different versions."""
        calls = [RemoteShard(shard.name, shard.actor).snapshot() for shard in self._shards]
        return merge_snapshots([call.result(self._timeout_seconds) for call in calls])

    def collect(self, timeout_seconds: float) -> dict[str, RoleProgress]:
        """Wait for all bundles to leave; their last rows go to the coordinator. Returns each one's last progress.

        Of a bundle that waits for a host, it is what the coordinator knows.
        """
        known = self._coordinator.progress()
        last = {role: known[role] for role in self._lost if role in known}
        for role, task in self._tasks.items():
            if role in self._lost:
                continue
            try:
                result: RoleResult = task.result(timeout=timeout_seconds)
            except TimeoutError as error:
                raise RoleFailedError(f"{role} did not leave within {timeout_seconds:g} s") from error
            self._coordinator.receive(result.undelivered)
            last[role] = result.progress
        return last

    def abandon(self, timeout_seconds: float) -> None:
        """Wait for the bundles that can still leave, whatever they end with; a lost host's are given up."""
        present = self._session.present_hosts()
        for role, task in self._tasks.items():
            if role in self._lost or self._placement[role].address not in present:
                continue
            with contextlib.suppress(Exception):  # they end with the error that the lost shard gave them
                result: RoleResult = task.result(timeout=timeout_seconds)
                self._coordinator.receive(result.undelivered)

    def release(self) -> None:
        """Let Dask forget the shards and the tasks."""
        self._session.client.cancel([*self._tasks.values(), *self._shard_futures], force=True)
        self._shards, self._shard_futures, self._tasks, self._lost = [], [], {}, {}

    def _address_of(self, name: str, shard: Task) -> ShardAddress:
        try:
            return ShardAddress(name, shard.result(timeout=self._timeout_seconds))
        except TimeoutError as error:
            raise RemoteLostError(f"{name} was not created within {self._timeout_seconds:g} s") from error

    def _start_bundle(self, role: str, before: Mapping[str, RoleProgress]) -> None:
        self._attempts[role] = self._attempts.get(role, 0) + 1
        place = replace(
            self._spec.bundle.place,
            role=role,
            index=self._bundles.index(role),
            num_steps_before=before[role].num_steps if role in before else 0,
            # The run's time, not the role's own: no row may seem older than the checkpoint that it goes on from.
            wall_seconds_before=max((progress.wall_seconds for progress in before.values()), default=0.0),
        )
        # Generations do not share attempt numbers: late rows of an old one must not close the gaps of a new one.
        attempt = self._spec.bundle.generation * 1000 + self._attempts[role]
        self._tasks[role] = self._session.submit(
            run_role,
            Bundle,
            replace(self._spec.bundle, place=place, sender=f"{role}/{attempt}"),
            self._shards,
            RoleAddress(self._session.run_id, role, attempt, self._spec.lease_seconds),
            host=self._placement[role].address,
            name=role,
        )

    def _why_lost(self, role: str, present: set[str]) -> str | None:
        future = self._tasks[role]
        if self._placement[role].address not in present and future.status != "finished":
            return f"its host {self._placement[role].address} is gone"
        if future.status == "finished" or not future.done():
            return None
        error = future.exception()
        if isinstance(error, RemoteLostError):
            raise error
        if isinstance(error, CallTimeoutError):
            return str(error)
        raise RoleFailedError(f"{role} failed: {error!r}") from error

    def _lose(self, role: str, reason: str) -> None:
        if self._attempts[role] > self._spec.max_restarts:
            raise RoleFailedError(f"{role} was lost {self._attempts[role]} times, the last time because {reason}")
        self._tasks[role].cancel()
        self._lost[role] = reason
        self._lost_at = time.monotonic()

    def _restart_lost(self) -> list[str]:
        keep = {role: offer for role, offer in self._placement.items() if role not in self._lost}
        try:
            self._session.survey_again()
            self._placement = place(self._spec.demands, self._session.offers(), keep)
        except (OSError, PlacementError):
            # A nanny or a batch system may be bringing a host; the others go on meanwhile.
            if time.monotonic() - self._lost_at > self._session.host_timeout_seconds:
                raise
            return []
        lost, self._lost = self._lost, {}
        return [self._restart_bundle(role, reason) for role, reason in lost.items()]

    def _restart_bundle(self, role: str, reason: str) -> str:
        self._start_bundle(role, self._coordinator.progress())
        return f"{role} was lost ({reason}) and started again on {self._placement[role].address} with an empty replay"
