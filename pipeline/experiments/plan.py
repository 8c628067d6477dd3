"""The plan of a run: which host runs what, with how many bytes and threads. Printed before anything starts.

Not here: the placement rules (`pipeline.cluster.placement`).
"""

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Group, RenderableType
from rich.table import Table

from pipeline import seeding
from pipeline.algorithms.config import QLearningConfig
from pipeline.cluster.granted import GrantedHosts
from pipeline.cluster.groups import hosts_by_group, in_groups
from pipeline.cluster.offers import future_offers
from pipeline.cluster.placement import Demand, Offer, Placement, place
from pipeline.config.run_config import EVALUATOR, RunConfig, unlike_training
from pipeline.envs.rom import num_actions
from pipeline.errors import PlacementError
from pipeline.networks.network import Network
from pipeline.param_server.config import FACTORS
from pipeline.replay.memory import memory_bytes
from pipeline.roles.recollection import num_activations
from pipeline.topologies.needs import RoleNeeds
from pipeline.topologies.turns import demands_in_turns
from pipeline.types import Float32Array

_BYTES_PER_FLOAT = 4
_LEARNER_VECTORS = 7
"""Of P floats: replica, target replica, their gradients, pulled and pushed slices, activations of a minibatch."""
_ACTOR_VECTORS = 4
"""Of P floats: replica, its gradient, pulled slices, activations of a minibatch."""
_SHARD_VECTORS = 4
"""Of P floats, beside the optimizer's slots: parameters, target, both as published."""
_PROCESS_BYTES = 300 * 2**20
"""Of one host that is a process: Python, torch, the emulators. Rough: a host with one shard of 1.7 M parameters was
seen at 330 MiB."""
COORDINATOR_BYTES = 700 * 2**20
"""Of the process of the command itself, beside its roles. Rough: with next to nothing in it, one was seen at 440 MiB,
and one with two workers of 32 games each and 100 evaluation games at once at 1,240 MiB; around two hosts that are
processes, at 476 MiB."""
_COORDINATOR = "this process"


@dataclass(frozen=True)
class Plan:
    """What will stand where."""

    demands: tuple[Demand, ...]
    placement: Placement
    num_parameters: int
    num_hosts: Mapping[str | None, int]
    """Hosts to start of each group, None for those of none, for the clusters that a run starts itself."""
    threads_per_host: int
    """Dask threads of each of these."""

    @property
    def memory_bytes(self) -> int:
        """Of everything: the roles with their hosts, and the process of the command."""
        return COORDINATOR_BYTES + sum(demand.memory_bytes for demand in self.demands)

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
        return Group(table, *self.remarks(config))

    def remarks(self, config: RunConfig) -> list[str]:
        """What stands below the table, a line each."""
        lines = [
            f"cluster {config.cluster.kind}; {self.num_parameters:,} parameters in {config.param_server.num_shards} "
            f"shard(s); {self.memory_bytes / 2**30:.2f} GiB in all, "
            f"{COORDINATOR_BYTES / 2**30:.2f} of them for this process"
        ]
        if config.deterministic and config.replay is not None:
            frames = config.topology.num_replays * _replay_bytes(config)
            lines.append(f"checkpoints/ takes the frames of replays, {frames / 2**30:.2f} GiB before compression")
        if (too_old := _too_old(config)) is not None:
            lines.append(f"[yellow]warning:[/yellow] {too_old}")
        if (unlike := unlike_training(config)) is not None:
            lines.append(f"[yellow]warning:[/yellow] {unlike}")
        for machine, cores, threads in self._oversubscribed():
            lines.append(
                f"[yellow]warning:[/yellow] {machine} has {cores} cores for {threads} compute threads: roles will wait "
                "for each other; start fewer roles (topology.num_*) or lower topology.compute_threads"
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


def _too_old(config: RunConfig) -> str | None:
    """Why many gradients will be thrown away for their age; None if they will not."""
    server, learners = config.param_server, config.topology.num_learning
    limit = server.max_staleness
    if limit is None or config.topology.quorum is not None:
        return None
    # While one computes, each of the others makes an update, if all are equally fast.
    if learners > 1 and limit < 2 * learners:
        return (
            f"of {learners} learners many gradients will be older than param_server.max_staleness={limit} updates, and "
            f"thrown away; {4 * learners} would be the share that each has by default"
        )
    # Each computes so many of one version, and its own updates make that version old, too.
    updates = learners * (_gradients_per_pull(config) // server.push_every_updates)
    if updates <= limit + 1:
        return None
    return (
        f"between two pulls {learners} learner(s) make {updates} updates: gradients more than "
        f"param_server.max_staleness={limit} updates old are thrown away; raise it, or pull more often "
        f"(param_server.learner_pull_every_updates={server.learner_pull_every_updates})"
    )


def _gradients_per_pull(config: RunConfig) -> int:
    """Gradients that a role computes of the same parameters."""
    if not isinstance(config.algorithm, QLearningConfig):
        return 1
    server, topology = config.param_server, config.topology
    if topology.shares_replay:
        return server.learner_pull_every_updates
    # The actor of a bundle pulls for its learner, too.
    steps = topology.num_lanes * server.actor_pull_every_steps
    return min(server.learner_pull_every_updates, max(steps // config.algorithm.steps_per_update, 1))


def network_of(config: RunConfig) -> Network:
    """The run's network."""
    environment = config.environment
    actions = num_actions(config.game, environment.full_action_set)
    return config.network.make(environment.stack, environment.frame_shape, actions)


def first_parameters(config: RunConfig) -> Float32Array:
    """(P,) what the run begins with, unless that is another one's (`init_from`)."""
    return network_of(config).initial_parameters(seeding.stream(config.seed, "parameters"))


def make_plan(
    config: RunConfig,
    offers: list[Offer] | None = None,
    *,
    granted: GrantedHosts | None = None,
    may_lack: Sequence[str] = (),
) -> Plan:
    """Place the run's roles on `offers`; None: on the hosts that the run would start on this machine.

    `granted`: the offers are just what the run asked for in parts, and several parts may be on one host, so that no
    role can have one of its own, and each has its seat. `may_lack`: roles that are left without a host where not all
    fit, the first one first.
    Raises PlacementError when the others do not fit.
    """
    topology = config.topology
    size = network_of(config).num_parameters
    wanted = _demands(config, _needs(config, size, 0 if config.cluster.runs_in_this_process else _PROCESS_BYTES))
    if granted is not None:
        wanted = [replace(demand, alone=False) for demand in wanted]
    num_hosts = hosts_by_group(wanted, config.cluster.groups, config.cluster.num_hosts)
    if offers is None:
        offers = future_offers(config.cluster, num_hosts, topology.compute_threads)
    if offers is None:
        raise PlacementError(f"the hosts of a cluster of kind {config.cluster.kind} have to be asked what they offer")
    by_address = {offer.address: offer for offer in offers}
    seats = {} if granted is None else granted.seats
    keep = {role: by_address[address] for role, address in seats.items() if address in by_address}
    # Around roles that are threads of it, it takes of their host's memory; else of the machine's where it was typed.
    around = Demand(
        _COORDINATOR, 0, COORDINATOR_BYTES if config.cluster.runs_in_this_process else 0, beside=wanted[0].role
    )
    placement = _place_most([*wanted, around], offers, may_lack, keep)
    del placement[_COORDINATOR]  # it is no role
    return Plan(tuple(wanted), placement, size, num_hosts, topology.compute_threads)


def dispensable(config: RunConfig) -> list[str]:
    """Roles without which a run that is under way goes on for as long as no host is there, the first one first."""
    evaluator = [] if config.training_evaluation.every_frames is None else [EVALUATOR]
    return evaluator + list(config.topology.spare_roles)


def _place_most(
    wanted: Sequence[Demand], offers: Sequence[Offer], may_lack: Sequence[str], keep: Mapping[str, Offer]
) -> Placement:
    for num_left_out in range(len(may_lack)):
        with contextlib.suppress(PlacementError):
            return place([demand for demand in wanted if demand.role not in may_lack[:num_left_out]], offers, keep)
    return place([demand for demand in wanted if demand.role not in may_lack], offers, keep)


def host_demands(config: RunConfig) -> list[Demand]:
    """What each host of the run has to hold for all of its roles, if each host is a process; none stands beside."""
    wanted = _demands(config, _needs(config, network_of(config).num_parameters, _PROCESS_BYTES))
    hosts: dict[str, Demand] = {}
    host_of: dict[str, str] = {}
    for demand in wanted:
        if demand.beside is None:
            host_of[demand.role] = demand.role
            hosts[demand.role] = demand
        else:
            name = host_of[demand.role] = host_of[demand.beside]
            hosts[name] = replace(hosts[name], memory_bytes=hosts[name].memory_bytes + demand.memory_bytes)
    return list(hosts.values())


def _demands(config: RunConfig, needs: RoleNeeds) -> list[Demand]:
    topology = config.topology
    wanted = topology.demands(config.algorithm, config.param_server.num_shards, needs)
    if config.deterministic:
        wanted = demands_in_turns(wanted)
    if config.training_evaluation.every_frames is not None:
        wanted.append(Demand(EVALUATOR, topology.compute_threads, needs.actor_bytes + needs.host_bytes))
    return in_groups(wanted, config.cluster.groups, needs.host_bytes)


def _needs(config: RunConfig, num_parameters: int, host_bytes: int) -> RoleNeeds:
    vector_bytes = num_parameters * _BYTES_PER_FLOAT
    num_vectors = _SHARD_VECTORS + config.optimizer.num_slots + _num_kept(config)
    return RoleNeeds(
        replay_bytes=_replay_bytes(config),
        learner_bytes=_LEARNER_VECTORS * vector_bytes + _rollout_bytes(config),
        actor_bytes=_ACTOR_VECTORS * vector_bytes,
        shard_bytes=num_vectors * vector_bytes // config.param_server.num_shards,
        host_bytes=host_bytes,
        num_gpus=1 if config.device == "cuda" else 0,
        prefers_gpu=config.device == "auto",
    )


def _num_kept(config: RunConfig) -> int:
    """Vectors of P floats that all shards keep at most: of synchronous ones a gradient of each worker, and the mean.

    One that applies gradients as they come keeps none, but for what it multiplies factors out to.
    """
    topology = config.topology
    if topology.quorum is None:
        return 1 if config.param_server.wire == FACTORS else 0
    return topology.num_learning + 1


def _replay_bytes(config: RunConfig) -> int:
    if config.replay is None:
        return 0
    writers, lanes = config.topology.writers_per_replay, config.topology.num_lanes
    return memory_bytes(config.replay, writers, lanes, config.environment.frame_shape)


def _rollout_bytes(config: RunConfig) -> int:
    num_stacks = config.algorithm.num_stacks_held(config.topology.num_lanes)
    stack = (config.environment.stack, *config.environment.frame_shape)
    return num_stacks * (math.prod(stack) + num_activations(network_of(config), stack) * _BYTES_PER_FLOAT)
