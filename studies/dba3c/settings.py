"""What the studies of DBA3C share: where their rows go, the networks that they compare, and a quick run.

Not here: carrying a run out (`measuring.worker_speed`), what is compared (`studies.dba3c.scaling`, `.shards`,
`.stragglers`, `.simulation`).
"""

from collections.abc import Sequence
from pathlib import Path

from pipeline.config.overrides import compose

OUTPUT = Path("results/dba3c")
GAME = "Pong"
"""Of speeds, but for those of `studies.dba3c.simulation`."""
CLUSTER = "processes"
"""Of runs whose shards stand apart."""

NETWORKS: dict[str, tuple[str, ...]] = {
    "nature_grey": (
        "network=nature_actor_critic",
        "environment.grey=true",
        "evaluation.environment.grey=true",
    ),
    "experiment_dba3c": (
        "network=nature_actor_critic",
        "environment=nature",
        "evaluation=smoke",
        "topology.num_lanes=8",
        "algorithm.batch_size=40",
        "algorithm.max_gradient_norm=0.5",
    ),
    "dba3c_quick": (
        "network=nature_actor_critic",
        "environment=nature",
        "evaluation=smoke",
        "topology.num_lanes=4",
        "algorithm.batch_size=20",
    ),
    "dba3c_authors": ("network=dba3c_authors",),
    "dba3c_authors_32": ("network=dba3c_authors", "topology.num_lanes=10", "algorithm.batch_size=32"),
    "ba3c_authors": ("network=ba3c_authors",),
    "ba3c_authors_32": ("network=ba3c_authors", "topology.num_lanes=10", "algorithm.batch_size=32"),
}
"""Settings of each: the Nature torso on luminance with gradients of 160 steps; the same with the games and gradients of
`experiment=dba3c`, 40 steps, and of `dba3c_quick`, 20 steps, which are four and eight times the messages; the authors'
networks on colours, with gradients of 160 steps and of 32 as in their best command, though of one core where they had
twelve."""

RENAMED = {
    f"{network}{changed}": f"{network}_authors{changed}"
    for network in ("dba3c", "ba3c")
    for changed in ("", "_32", "_128", "_512", "_large", "_128_large")
}
"""Networks and cases in rows of before the authors' networks had names of their own -> as they are called now."""

QUICK = (
    "experiment=dba3c",
    "network=dba3c_authors",
    "environment=ba3c",
    "evaluation=smoke_ba3c",
    "evaluation.num_episodes=1",
    "training_evaluation.every_frames=null",
    "topology.num_lanes=32",
    "algorithm.batch_size=160",
    "algorithm.max_gradient_norm=null",
    "progress=none",
    "overwrite=true",
)
"""A run of which only the speed is of interest: the authors' reduced network, games and clipping, gradients of 160
steps of 32 games. Step sizes and the weights of the loss are those of `experiment=dba3c`; they cost the same."""


def precision_of(overrides: Sequence[str]) -> str:
    """What such a run computes in, with these settings changed."""
    return compose([*QUICK, "game=Pong", *overrides]).precision
