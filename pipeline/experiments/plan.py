"""The plan of a run: which host runs what, with how many bytes and threads. Printed before anything starts.

Not here: the placement rules (`pipeline.cluster.placement`).
"""

from dataclasses import dataclass

import psutil
from rich.console import Group, RenderableType
from rich.table import Table

from pipeline.cluster.config import ADDRESS
from pipeline.cluster.hosts import report_host
from pipeline.cluster.placement import Demand, Offer, Placement, place
from pipeline.envs.rom import num_actions
from pipeline.errors import PlacementError
from pipeline.experiments.config import RunConfig
from pipeline.networks.nature import ParameterShape, num_parameters, parameter_shapes
from pipeline.replay.uniform import memory_bytes
from pipeline.topologies.bundled import demands
from pipeline.topologies.config import APART

_BYTES_PER_FLOAT = 4
_BUNDLE_VECTORS = 6
"""Of P floats: replica, target replica, gradient, pulled parameters, pulled target, activations of a minibatch."""
_SHARD_VECTORS = 6
"""Of P floats at most: parameters, target, both as published, two optimizer slots."""
_PROCESS_BYTES = 300 * 2**20
"""Of one host that is a process: Python, torch, the emulators. Rough: a host with one shard of 1.7 M parameters was
seen at 330 MiB."""


@dataclass(frozen=True)
class Plan:
    """What will stand where."""

    demands: tuple[Demand, ...]
    placement: Placement
    num_parameters: int
    num_hosts: int
    """Hosts to start, for the clusters that a run starts itself."""
    threads_per_host: int
    """Dask threads of each of these."""

    def render(self, config: RunConfig) -> RenderableType:
        """The plan as a table for the terminal."""
        table = Table(title=f"plan of {config.experiment} on {config.game}, seed {config.seed}", title_justify="left")
        for heading in ("role", "host"):
            table.add_column(heading)
        for heading in ("compute threads", "memory"):
            table.add_column(heading, justify="right")
        for demand in self.demands:
            threads = str(demand.num_threads) if demand.num_threads else "its callers'"
            table.add_row(
                demand.role, self.placement[demand.role].address, threads, f"{demand.memory_bytes / 2**20:,.0f} MiB"
            )
        return Group(table, *self._remarks(config))

    def _remarks(self, config: RunConfig) -> list[str]:
        total = sum(demand.memory_bytes for demand in self.demands)
        lines = [
            f"cluster {config.cluster.kind}; {self.num_parameters:,} parameters in {config.param_server.num_shards} "
            f"shard(s); {total / 2**30:.2f} GiB in all"
        ]
        for machine, cores, threads in self._oversubscribed():
            lines.append(
                f"[yellow]warning:[/yellow] {machine} has {cores} cores for {threads} compute threads: roles will wait "
                "for each other; lower topology.num_bundles or topology.compute_threads"
            )
        return lines

    def _oversubscribed(self) -> list[tuple[str, int, int]]:
        threads: dict[str, int] = {}
        cores: dict[str, int] = {}
        for demand in self.demands:
            offer = self.placement[demand.role]
            # A shard apart computes one update in the time of many gradients: it is not counted as a core.
            if not demand.alone:
                threads[offer.machine] = threads.get(offer.machine, 0) + demand.num_threads
                cores[offer.machine] = offer.num_cores
        return [(machine, cores[machine], n) for machine, n in threads.items() if n > cores[machine]]


def shapes_of(config: RunConfig) -> list[ParameterShape]:
    """The parameters of the run's network."""
    environment = config.environment
    actions = num_actions(config.game, environment.full_action_set)
    return parameter_shapes(config.network, environment.stack, environment.frame_shape, actions)


def make_plan(config: RunConfig, offers: list[Offer] | None = None) -> Plan:
    """Place the run's roles on `offers`; None: on the hosts that the run would start on this machine.

    Raises PlacementError when they do not fit.
    """
    topology, server = config.topology, config.param_server
    size = num_parameters(shapes_of(config))
    vector_bytes = size * _BYTES_PER_FLOAT
    own_process = 0 if config.cluster.kind == "threads" else _PROCESS_BYTES
    replay = memory_bytes(config.replay, topology.num_lanes, config.environment.frame_shape)
    bundle_bytes = replay + _BUNDLE_VECTORS * vector_bytes + own_process
    shard_bytes = _SHARD_VECTORS * vector_bytes // server.num_shards + (own_process if topology.shards == APART else 0)
    wanted = demands(topology, server.num_shards, bundle_bytes, shard_bytes)
    num_hosts = config.cluster.num_hosts or topology.num_bundles + sum(demand.alone for demand in wanted)
    if offers is None:
        offers = _local_offers(config, num_hosts)
    return Plan(tuple(wanted), place(wanted, offers), size, num_hosts, topology.compute_threads)


def _local_offers(config: RunConfig, num_hosts: int) -> list[Offer]:
    if config.cluster.kind == ADDRESS:
        raise PlacementError(f"the hosts of {config.cluster.address} have to be asked what they offer")
    report = report_host()
    memory = config.cluster.memory_bytes or report.free_memory_bytes
    cores = psutil.cpu_count() or 1
    return [
        Offer(f"host-{i}", report.machine, config.topology.compute_threads, memory, cores) for i in range(num_hosts)
    ]
