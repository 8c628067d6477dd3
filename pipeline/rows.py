"""The rows that a run writes, declared once: names, types and units of the columns of its CSV files.

A row class is the header of its file: fields in order are the columns. Loading them is `pipeline.results.load`.
Not here: settings of a run (they stand once in `config.yaml` and `run.json`, not in every row).
"""

from dataclasses import dataclass


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
    """Of these, refused by at least one shard for their age."""
    num_dropped_outlier: int
    """Of these, thrown away by the learner for their loss."""
    num_refused: int
    """Of these, refused as duplicates or of an old generation."""
    version: int
    """Server version after the last one."""
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
    """Time that this role waited for minibatches of a global replay while it made this group."""
    wall_seconds: float


@dataclass(frozen=True)
class EvaluationRow:
    """One evaluation game, with the protocol that the made environment reported."""

    protocol: str
    """Name of the protocol, e.g. "noop_starts"."""
    agent: str
    """"checkpoint" or "random"."""
    version: int
    """Server version (updates) of the parameters that played."""
    total_frames: int
    """Training frames behind these parameters."""
    episode: int
    episode_seed: int
    score: float
    num_steps: int
    truncated: bool
    epsilon: float
    frame_skip: int
    sticky_probability: float
    noop_max: int
    max_frames: int
    full_action_set: bool
    grey: bool
    wall_seconds: float
    """Training time behind these parameters, since the run's first start."""


Row = EpisodeRow | UpdateRow | EvaluationRow

ROW_FILES: dict[type[EpisodeRow] | type[UpdateRow] | type[EvaluationRow], str] = {
    EpisodeRow: "episodes.csv",
    UpdateRow: "updates.csv",
    EvaluationRow: "evaluations.csv",
}
"""File name of each row type inside a run folder."""
