"""Who is measured, each with what its authors publish for Atari, and with this the same for all:

Pong, four frames a step, no sticky actions, 84 x 84 grey x 4, float32, no GPU. The Q-learners: an update of 32 every
4 steps, a replay of 20,000 that learns from 1,000 on, epsilon 0.1 (at 1.0 acting would cost nothing).
Not here: what a driver makes of its words (`benchmarks.peers.drivers`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

REPLAY = 20_000
LEARNING_STARTS = 1_000
EPSILON = 0.1
Q_LEARNER, ACTOR_CRITIC = "q_learner", "actor_critic"
OURS = ""
"""In place of the name of an environment: the Python that runs this."""


class Contender(NamedTuple):
    """A library's algorithm with its settings."""

    kind: str
    """Ratios are made within a kind."""
    environment: str
    """One of `environments.PACKAGES`, or OURS."""
    driver: str
    words: tuple[str, ...]
    """For the driver."""
    num_roles: int = 1
    """That say how far they are."""
    num_cores: int | None = None
    """None: all that are measured with."""

    @property
    def is_ours(self) -> bool:
        """Whether it is one of our experiments."""
        return self.environment == OURS


class Shared(NamedTuple):
    """What is the same for all of a benchmark."""

    game: str
    num_cores: int
    precision: str
    """Ours; theirs is float32."""
    cleanrl: Path | None
    """A checkout."""


def contenders(shared: Shared) -> Mapping[str, Contender]:
    """All of them by name, in the order of a round."""
    game, off_policy = f"--game={shared.game}", _off_policy()
    cores = f"--cores={shared.num_cores}"
    return {
        "gorila": _ours(shared, "gorila", (*_Q_LEARNING, f"topology.num_bundles={shared.num_cores}"), shared.num_cores),
        "sb3_dqn": Contender(Q_LEARNER, "sb3", "sb3", ("dqn", game, *off_policy)),
        "cleanrl_dqn": Contender(Q_LEARNER, "cleanrl", "cleanrl", (str(shared.cleanrl), game, *off_policy)),
        "rllib_dqn": Contender(Q_LEARNER, "rllib", "rllib", ("dqn", game, cores, *off_policy)),
        "dqn": _ours(shared, "dqn", (*_Q_LEARNING, f"topology.compute_threads={shared.num_cores}"), 1),
        "dba3c": _ours(shared, "dba3c", (f"topology.num_workers={shared.num_cores}",), shared.num_cores),
        "sb3_a2c": Contender(ACTOR_CRITIC, "sb3", "sb3", ("a2c", game)),
        "sb3_a2c_subproc": Contender(ACTOR_CRITIC, "sb3", "sb3", ("a2c", game, "--vec-env=subproc")),
        "rllib_impala": Contender(ACTOR_CRITIC, "rllib", "rllib", ("impala", game, cores)),
        "ba3c": _ours(shared, "ba3c", ("topology.compute_threads=1",), 1)._replace(num_cores=1),
    }


_Q_LEARNING = (
    f"replay.capacity={REPLAY}",
    f"replay.min_transitions={LEARNING_STARTS}",
    f"algorithm.exploration.initial_epsilon={EPSILON}",
    f"algorithm.exploration.final_epsilon={EPSILON}",
)
_NO_END = ("budget.frames=4_000_000_000", "training_evaluation.every_frames=null", "evaluation=smoke")


def _off_policy() -> Sequence[str]:
    return (f"--replay={REPLAY}", f"--learning-starts={LEARNING_STARTS}", f"--epsilon={EPSILON}")


def _ours(shared: Shared, experiment: str, words: tuple[str, ...], num_roles: int) -> Contender:
    settings = (f"experiment={experiment}", f"game={shared.game}", "cluster=threads", f"precision={shared.precision}")
    kind = Q_LEARNER if experiment in ("gorila", "dqn") else ACTOR_CRITIC
    return Contender(kind, OURS, "ours", (str(num_roles), *settings, *_NO_END, *words), num_roles)
