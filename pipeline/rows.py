"""The rows that a run writes, declared once: names, types and units of the columns of its CSV files.

A row class is the header of its file: fields in order are the columns. Loading them is `pipeline.results.load`.
Not here: settings of a run (they stand once in `config.yaml` and `run.json`, not in every row).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class EpisodeRow:
    """One finished training game of one lane."""

    role: str
    """Which actor played it, e.g. "bundle-0"."""
    lane: int
    end_step: int
    """Steps that this actor had made, all lanes together, when the episode ended."""
    total_frames: int
    """Emulator frames of the whole run at that time, as far as this actor knows: its own x number of actors."""
    score: float
    """Sum of unclipped rewards."""
    num_steps: int
    """Length of the episode in agent steps."""
    truncated: bool
    """True when the frame cap ended it."""
    epsilon: float
    """Exploration rate when it ended."""
    version: int
    """Server version (updates) when it ended."""
    wall_seconds: float
    """Since the run's first start, pauses between resumes not counted."""


@dataclass(frozen=True)
class UpdateRow:
    """A group of consecutive updates of one learner, about a second's worth."""

    role: str
    num_updates: int
    """Gradients computed in this group."""
    num_admitted: int
    """Of these, applied by all shards."""
    num_dropped_stale: int
    """Of these, refused by at least one shard for their age, or not among the first of their synchronous update."""
    num_dropped_outlier: int
    """Of these, thrown away by the learner for their loss."""
    num_refused: int
    """Of these, refused as duplicates or of an old generation."""
    version: int
    """Server version of the parameters that the last one was made with."""
    total_frames: int
    """Emulator frames of the whole run, as far as this learner's actor knows."""
    mean_loss: float
    mean_gradient_norm: float
    """L2 norm of the whole gradient before clipping."""
    mean_q: float
    """Mean Q(s_tm1, a_tm1) over the minibatches."""
    heldout_max_q: float
    """Mean max_a Q(s, a) over a fixed set of held-out states; the last measured value."""
    mean_staleness: float
    """Versions, averaged over shards and updates."""
    max_staleness: int
    epsilon: float
    steps_per_second: float
    """Agent steps of this role."""
    updates_per_second: float
    """Gradients of this role."""
    replay_transitions: int
    """Transitions in this role's replay, or in the global one as far as it knows."""
    waited_seconds: float
    """Time that this role waited for minibatches of a global replay, or for the quorum, while it made this group."""
    wall_seconds: float


@dataclass(frozen=True)
class ActorCriticUpdateRow:
    """A group of consecutive gradients of one worker, a few seconds' worth."""

    role: str
    num_updates: int
    """Gradients computed in this group."""
    num_admitted: int
    """Of these, part of an update."""
    num_dropped_late: int
    """Of these, not among the first of their synchronous update."""
    num_dropped_stale: int
    """Of these, refused by at least one shard for their age (asynchronous only)."""
    num_refused: int
    """Of these, refused as duplicates or of an old generation."""
    version: int
    """Server version of the parameters that the last one was made with."""
    total_frames: int
    """Emulator frames of the whole run, as far as this worker knows."""
    mean_policy_loss: float
    mean_value_loss: float
    """Half the squared error of the values, before `value_weight`."""
    mean_entropy: float
    """Of the policy, nats per step."""
    mean_explained_variance: float
    """1 - variance of (return - value) / variance of the return; 1.0: the values foresee all."""
    mean_gradient_norm: float
    """L2 norm of the whole gradient before clipping."""
    mean_value: float
    """Mean V(s_tm1) over the batches."""
    active_filters: float
    """Share of the first convolution's filters that had a gradient, in root mean square over this group more than a
    thousandth of the largest one's. The others are switched off by whatever is seen, and learn no more."""
    mean_staleness: float
    """Versions, averaged over shards and gradients (asynchronous only)."""
    max_staleness: int
    steps_per_second: float
    """Agent steps of this role."""
    updates_per_second: float
    """Gradients of this role."""
    waited_seconds: float
    """Time that this role waited for the quorum while it made this group."""
    max_pause_seconds: float
    """Longest time from one gradient of this role to its next; 0.0 before its second one."""
    delayed_seconds: float
    """Time that it slept as a simulated straggler."""
    wall_seconds: float


@dataclass(frozen=True)
class AgentPlayed:
    """How actions were chosen. Only of agents with parameters: it says nothing about a random player."""

    epsilon: float
    sampled: bool
    """Actions were drawn from a policy; False: the best one was played. But for epsilon, both."""
    max_equal_actions: int
    """0: never forced."""


@dataclass(frozen=True)
class EnvironmentPlayed:
    """What the made environment was. Settings of the same names are `pipeline.envs.protocol.EnvironmentConfig`'s."""

    frame_skip: int
    min_frame_skip: int
    sticky_probability: float
    noop_max: int
    max_frames: int
    full_action_set: bool
    grey: bool


@dataclass(frozen=True)
class HowPlayed(EnvironmentPlayed, AgentPlayed):
    """The protocol that a game was played under: the only list of its fields, from which all others are made.

    A new field is given a value in `pipeline.evaluation.play.how_played`, and one for older rows in TRUE_BEFORE.
    Here as below, the columns of the last base come first.
    """

    start_states: str
    """NO_START_STATES: each game began at a reset; else which points of recorded games it went on from."""


@dataclass(frozen=True)
class _Game:
    """Which game it was, and what came of it."""

    protocol: str
    """Name of the protocol, e.g. "noop_starts"."""
    agent: str
    """"checkpoint" (one that the run left, mostly its last), "training" (while it went on), "best" (the best of those,
    played again), "random" or "person" (in recordings only)."""
    version: int
    """Server version (updates) of the parameters that played."""
    total_frames: int
    """Training frames behind these parameters."""
    episode: int
    episode_seed: int
    start_step: int
    """Steps of a recorded game, played with this seed, that it went on from; 0: it began at a reset."""
    score: float
    num_steps: int
    """Of the agent: what was played up to a start point is another's."""
    truncated: bool


@dataclass(frozen=True)
class EvaluationRow(HowPlayed, _Game):
    """One evaluation game, with the protocol that the made environment reported."""

    commit: str
    """Of the code that played; "" where it is not known."""
    wall_seconds: float
    """Training time behind these parameters, since the run's first start."""


CHECKPOINT, TRAINING, BEST, RANDOM = "checkpoint", "training", "best", "random"
"""In `agent`, as it says."""

NO_START_STATES = "none"
"""In `start_states`, of games that began at a reset."""

PROTOCOL_FIELDS = tuple(field.name for field in fields(HowPlayed))
"""Fields of EvaluationRow that say how a game was played."""

GAME_FIELDS = ("protocol", "agent", "version", "episode_seed", "start_step", *PROTOCOL_FIELDS)
"""Fields of EvaluationRow that tell a game of a run from all others; where they are the same, it is the same game."""

Row = EpisodeRow | UpdateRow | ActorCriticUpdateRow | EvaluationRow

ROW_FILES: dict[type[Row], str] = {
    EpisodeRow: "episodes.csv",
    UpdateRow: "updates.csv",
    ActorCriticUpdateRow: "updates.csv",
    EvaluationRow: "evaluations.csv",
}
"""File name of each row type inside a run folder. A run has one kind of update: its algorithm's."""

TRUE_BEFORE: Mapping[type[Row], Mapping[str, bool | int | str]] = {
    EvaluationRow: {
        "start_step": 0,
        "sampled": False,
        "max_equal_actions": 0,
        "min_frame_skip": "frame_skip",
        "start_states": NO_START_STATES,
        "commit": "",
    }
}
"""Row type -> column that was added -> the column that holds it, or what every row of before would have held."""

ADDED_MEASURES: Mapping[type[Row], tuple[str, ...]] = {
    UpdateRow: ("waited_seconds",),
    ActorCriticUpdateRow: ("active_filters", "max_pause_seconds"),
}
"""Row type -> measures that were added, of which nobody knows what they were before."""
