"""Settings of a topology: how many roles there are and where they stand. One class per kind."""

from dataclasses import dataclass

from pipeline.replay.config import ReplayTrafficConfig
from pipeline.roles.straggler import Stragglers, stragglers_mistakes

SINGLE = "single"
BUNDLED = "bundled"
GLOBAL = "global"
WORKERS = "workers"
BESIDE, APART = PLACES = ("beside", "apart")


@dataclass(frozen=True)
class TopologyConfig:
    """What all topologies have. Sources stand beside the values in `conf/topology/`."""

    kind: str
    """"single": one bundle or worker and its parameters on one host, the baseline; "bundled": bundles around a server;
    "global": actors and learners around a server and a global replay; "workers": DBA3C's workers around a server."""
    num_lanes: int
    """Games that one actor plays at once."""
    shards: str
    """"beside": parameter shards share the hosts of those who learn, in turn; "apart": each has a host of its own."""
    compute_threads: int
    """Torch threads of one role that learns, and emulator threads of one that plays beside."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.shards not in PLACES:
            found.append(f"shards={self.shards} must be one of {', '.join(PLACES)}")
        for name in ("num_lanes", "compute_threads"):
            if getattr(self, name) < 1:
                found.append(f"{name}={getattr(self, name)} must be at least 1")
        return found


@dataclass(frozen=True)
class BundledConfig(TopologyConfig):
    """Bundles; a single one is the baseline."""

    num_bundles: int
    """Actor + local replay + learner, each bundle on a host of its own."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.num_bundles < 1:
            found.append(f"num_bundles={self.num_bundles} must be at least 1")
        if self.kind == SINGLE and (self.num_bundles != 1 or self.shards != BESIDE):
            found.append(f"kind={SINGLE} needs num_bundles=1 and shards={BESIDE}")
        return found


@dataclass(frozen=True)
class GlobalConfig(TopologyConfig):
    """Separate actors and learners around a global replay."""

    num_actors: int
    """Roles that play, each on a host of its own, with one compute thread."""
    num_learners: int
    """Roles that learn, each on a host of its own."""
    num_replay_shards: int
    """Parts of the global replay; actors write to them in turn, learners draw from all."""
    replay_shards: str
    """"apart": each has a host of its own; "beside": they share the actors' hosts in turn."""
    traffic: ReplayTrafficConfig

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        for name in ("num_actors", "num_learners", "num_replay_shards"):
            if getattr(self, name) < 1:
                found.append(f"{name}={getattr(self, name)} must be at least 1")
        if self.num_replay_shards > self.num_actors:
            found.append(
                f"num_replay_shards={self.num_replay_shards} must be at most num_actors={self.num_actors}: "
                "an actor writes to one shard, the others would stay empty"
            )
        if self.replay_shards not in PLACES:
            found.append(f"replay_shards={self.replay_shards} must be one of {', '.join(PLACES)}")
        return found + [f"traffic.{line}" for line in self.traffic.mistakes()]


@dataclass(frozen=True)
class WorkersConfig(TopologyConfig):
    """DBA3C's workers, which play and learn in turn, around a parameter server."""

    num_workers: int
    """N: with `sync`, so many gradients make one update."""
    num_backup_workers: int
    """b: workers beyond N, so that an update need not wait for the slowest b."""
    sync: bool
    """True: an update is the mean of the first N gradients computed at its version; False: each gradient is one."""
    stragglers: Stragglers
    """Workers that are slow on purpose."""

    @property
    def num_started(self) -> int:
        """N + b."""
        return self.num_workers + self.num_backup_workers

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.num_workers < 1:
            found.append(f"num_workers={self.num_workers} must be at least 1")
        if self.num_backup_workers < 0:
            found.append(f"num_backup_workers={self.num_backup_workers} must be at least 0")
        if self.num_backup_workers and not self.sync:
            found.append(f"num_backup_workers={self.num_backup_workers} needs sync=true: without it nobody waits")
        return found + stragglers_mistakes(self.stragglers, self.num_started)
