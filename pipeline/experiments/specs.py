"""From a run's configuration to what its hosts are told: the pattern of its roles, and the fleet that is made of it.

Not here: which roles a topology has (`pipeline.topologies`), starting them (`pipeline.experiments.training`).
"""

import dataclasses
import math
from functools import partial

from pipeline.cluster.placement import Demand
from pipeline.config.run_config import RunConfig
from pipeline.errors import ConfigError
from pipeline.experiments.exact import state_of
from pipeline.experiments.files.checkpoint import Fit
from pipeline.experiments.files.run_folder import CHECKPOINTS
from pipeline.experiments.plan import network_of
from pipeline.kinds import is_own
from pipeline.replay.keeper import KeptReplays
from pipeline.roles.place import RolePlace
from pipeline.roles.role import role_of
from pipeline.roles.spec import QRoleSpec, RoleSpec
from pipeline.schedules import Extent
from pipeline.topologies.fleet import FleetSpec
from pipeline.topologies.trial import faults_of_topology
from pipeline.topologies.turns import in_turns

REPLAYS = "replay"
"""Name of the folder below that of the checkpoints."""


def fleet_spec(config: RunConfig, demands: tuple[Demand, ...], generation: int, desk: str | None = None) -> FleetSpec:
    """What the run's topology is asked to start, as one generation of the parameter server.

    `desk`: of a deterministic run, where its roles meet their coordinator (`pipeline.roles.cuts`).
    """
    system = config.topology.system(role_spec(config, generation))
    roles, replays, role, quorum = system if desk is None else in_turns(system, desk)
    return FleetSpec(
        roles=roles,
        replays=replays,
        role=role,
        quorum=quorum,
        optimizer=config.optimizer,
        demands=demands,
        lease_seconds=config.cluster.lease_seconds,
        max_restarts=0 if config.deterministic else config.cluster.max_restarts,
    )


def check_roles(config: RunConfig) -> None:
    """Raise ConfigError where a run's roles cannot be what it asks for.

    No role carries out its algorithm; that of a deterministic run has no state; a topology of one's own has none, or
    others than it wants hosts for.
    """
    role_of(type(config.algorithm))
    if config.deterministic:
        state_of(config.algorithm)
    topology = config.topology
    if is_own(topology.kind):
        pattern = partial(role_spec, config, generation=1)
        if found := faults_of_topology(topology, config.algorithm, pattern, config.param_server.num_shards):
            raise ConfigError([f"topology.kind={topology.kind} {line}" for line in found])


def checkpoint_fit(config: RunConfig) -> Fit:
    """What the run's checkpoints hold."""
    return Fit(network_of(config).num_parameters, config.optimizer.SLOTS)


def role_spec(config: RunConfig, generation: int) -> RoleSpec:
    """The pattern of all roles; which role it is, and how its topology wants it, is filled in later."""
    players, extent = config.topology.num_playing, extent_of(config)
    counts_itself = players == 1 or config.deterministic
    max_steps = math.ceil(extent.num_steps) if counts_itself and extent.num_steps is not None else None
    common = RoleSpec(
        place=RolePlace("", 0, players, 0, 0.0),
        attempt=0,
        seed=config.seed,
        game=config.game,
        num_lanes=config.topology.num_lanes,
        compute_threads=config.topology.compute_threads,
        device="cpu" if config.deterministic else config.device,
        precision=config.precision,
        generation=generation,
        max_steps=max_steps,
        extent=extent,
        algorithm=config.algorithm,
        network=config.network,
        environment=config.environment,
        param_server=config.param_server,
        restorable=config.deterministic,
    )
    wanted = role_of(type(config.algorithm)).SPEC
    # What else a role wants is a group of the run by that name, or has a default.
    values = vars(config) | vars(common) | {"kept_replays": kept_replays(config)}
    return wanted(**{field.name: values[field.name] for field in dataclasses.fields(wanted) if field.name in values})


def kept_replays(config: RunConfig) -> KeptReplays | None:
    """Where the owners of replays save them; None: they do not, or all that roles know is saved as it is."""
    if not config.checkpoint.replay or config.deterministic:
        return None
    folder = config.folder / CHECKPOINTS / REPLAYS
    return KeptReplays(str(folder), 60 * config.checkpoint.every_minutes)


def how_replays_go_on(config: RunConfig) -> str:
    """When the run is resumed, in words; empty where there is no replay."""
    if config.replay is None:
        return ""
    if config.checkpoint.replay:
        kept = kept_replays(config)
        if kept is None or kept.are_there():
            return "the replay goes on as it was saved"
        return "no replay was saved so far: it is filled anew before learning goes on"
    return "the replay is filled anew before learning goes on (checkpoint.replay=true saves it)"


def extent_of(config: RunConfig) -> Extent:
    """How long the run may be, in what roles count."""
    frames, minutes = config.budget.frames, config.budget.minutes
    return Extent(
        num_steps=None if frames is None else frames / config.environment.mean_frame_skip,
        wall_seconds=None if minutes is None else 60 * minutes,
    )


def q_role_spec(config: RunConfig, generation: int) -> QRoleSpec:
    """The same of Q-learning. Raises TypeError for a run of another algorithm."""
    spec = role_spec(config, generation)
    if not isinstance(spec, QRoleSpec):
        raise TypeError(f"algorithm.kind={config.algorithm.kind} is no Q-learning")
    return spec
