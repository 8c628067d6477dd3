"""Which run of a campaign is of what kind, and what is typed for it. Logic without I/O.

    run 0, 1, 2, 3, ...   four systems in turn, each on the next of three clusters; after 12 runs, shards stand apart
    ... on Slurm          four systems in turn; after 4 runs, shards stand apart

Not here: what is killed (`studies.chaos.draws`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

SYSTEMS: dict[str, tuple[str, ...]] = {
    "gorila": ("experiment=smoke_gorila", "training_evaluation.every_frames=1_000"),
    "gorila_global": ("experiment=smoke_gorila", "topology=global", "training_evaluation.every_frames=1_000"),
    "dba3c": ("experiment=smoke_dba3c",),
    "dba3c_backup": ("experiment=smoke_dba3c", "topology.num_backup_workers=1"),
}
"""System -> what is typed for it: networks and replays of a smoke test, with an evaluator where replays are."""
PROCESSES, ADDRESS, SLURM = "processes", "address", "slurm"
BESIDE, APART = "beside", "apart"
CHECKPOINT_SECONDS = 12.0
"""Between two checkpoints."""
LEASE_SECONDS = 10.0
"""Of silence of the coordinator, after which roles leave."""


@dataclass(frozen=True)
class Case:
    """One kind of run."""

    system: str
    """One of SYSTEMS."""
    cluster: str
    """PROCESSES, ADDRESS or SLURM."""
    has_replacement: bool
    """Whether a host that dies is started again: by its nanny, and a nanny by whoever keeps the cluster."""
    shards: str
    """BESIDE those who use them, or APART."""

    @property
    def num_spares(self) -> int:
        """Hosts beyond those that the run wants: without replacement one, so that the first loss can be made good."""
        return 0 if self.has_replacement else 1

    @property
    def victims(self) -> dict[str, float]:
        """What there is to kill, and its share of the kills."""
        if self.cluster == PROCESSES:
            return {"host": 0.8, "coordinator": 0.2}
        if self.cluster == SLURM:
            # With its nanny a job ends, and another is submitted.
            return {"host": 0.5, "nanny": 0.3, "coordinator": 0.2}
        nanny = {"nanny": 0.15} if self.has_replacement else {}
        return {"host": 0.7 - sum(nanny.values()), **nanny, "scheduler": 0.15, "coordinator": 0.15}


HERE = ((PROCESSES, True), (ADDRESS, True), (ADDRESS, False))
"""Cluster, and whether hosts come back. Those of `processes` have nannies in the coordinator, whatever one does."""
ON_SLURM = ((SLURM, True),)


def case_of(run: int, clusters: Sequence[tuple[str, bool]] = HERE) -> Case:
    """The kind of the run with this number, from 0, on one of these clusters."""
    systems = list(SYSTEMS)
    round_, place = divmod(run, len(systems) * len(clusters))
    cluster, has_replacement = clusters[(place + place // len(systems)) % len(clusters)]
    return Case(systems[place % len(systems)], cluster, has_replacement, (BESIDE, APART)[round_ % 2])


_OF_SLURM = (
    "cluster.interface=lo",
    "cluster.memory_bytes=1_500_000_000",
    "cluster.walltime_minutes=60",
    "cluster.leave_minutes=5",
)


def words(case: Case, seed: int, minutes: float) -> list[str]:
    """What is typed behind `python -m pipeline.train`, but for the name of the cluster and the folder of results.

    `minutes`: of training, pauses and what was lost not counted.
    """
    return [
        *SYSTEMS[case.system],
        "game=Breakout",
        f"seed={seed}",
        "budget.frames=null",
        f"budget.minutes={minutes:g}",
        f"checkpoint.every_minutes={CHECKPOINT_SECONDS / 60:g}",
        f"topology.shards={case.shards}",
        f"cluster.lease_seconds={LEASE_SECONDS:g}",
        "cluster.start_timeout_seconds=60",
        "progress=lines",
        *(_OF_SLURM if case.cluster == SLURM else ()),
    ]
