"""Builds a shard of the global replay on its host, from the same settings as the roles around it.

Not here: what a shard does (`pipeline.replay.shard`), how it is reached (`pipeline.cluster.remotes.replays`).
"""

from dataclasses import dataclass

from pipeline import seeding
from pipeline.replay.keeper import kept
from pipeline.replay.memory import ReplayMemory
from pipeline.replay.rate_limit import RateLimit
from pipeline.replay.shard import ReplayShard
from pipeline.roles.spec import QRoleSpec


@dataclass(frozen=True)
class ReplayServerSpec:
    """One shard; picklable."""

    role: QRoleSpec
    """What is played, learned and kept."""
    name: str
    num_writers: int
    """Actors that write to it."""


def build_replay_shard(spec: ReplayServerSpec) -> ReplayShard:
    """The shard: empty, or with what one of an earlier generation has saved."""
    role = spec.role

    def make() -> ReplayMemory:
        return ReplayMemory(
            role.replay,
            spec.num_writers,
            role.num_lanes,
            role.environment.frame_shape,
            role.environment.stack,
            role.algorithm.discount,
            role.algorithm.n_step,
            seeding.stream(role.seed, spec.name, "replay", role.generation),
        )

    memory, keeper = kept(make, role.kept_replays, spec.name, role.generation)
    slack = role.traffic.slack_updates if role.traffic is not None else None
    return ReplayShard(memory, RateLimit(role.algorithm.steps_per_update, slack, role.replay.min_transitions), keeper)
