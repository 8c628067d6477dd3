"""Measures a run while it goes: speeds, scores and what is left, from its rows and its roles' counters.

Not here: how that is shown (`pipeline.experiments.progress`, `pipeline.cluster.dashboard`).
"""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeline.cluster.glance import RunGlance
from pipeline.config.course import fraction_spent
from pipeline.config.run_config import RunConfig
from pipeline.replay.memory import lane_capacity
from pipeline.roles.progress import RoleProgress
from pipeline.rows import ActorCriticUpdateRow, EpisodeRow, Row, UpdateRow

_RATE_SECONDS = 30.0
"""Speeds are means over this long."""
_RECENT_EPISODES = 100


class RunMeter:
    """Fed with rows (from any thread) and asked for glances (from one)."""

    def __init__(self, config: RunConfig, folder: str) -> None:
        self._config = config
        self._folder = folder
        self._replay = _capacity(config)
        self._synchronous = config.topology.quorum is not None
        self._num_restarts = 0
        self._scores: deque[float] = deque(maxlen=_RECENT_EPISODES)
        self._update: UpdateRow | ActorCriticUpdateRow | None = None
        self._groups: dict[str, UpdateRow | ActorCriticUpdateRow] = {}
        """The newest gradients of each role that learns."""
        self._samples: deque[_Sample] = deque()
        self._first: _Beginning | None = None

    def see(self, rows: Sequence[Row]) -> None:
        """Take scores and updates out of rows on their way to the run folder."""
        for row in rows:
            if isinstance(row, EpisodeRow):
                self._scores.append(row.score)
            elif isinstance(row, UpdateRow | ActorCriticUpdateRow):
                self._update = row
                # Replaced, not changed: another thread may be looking at it.
                self._groups = self._groups | {row.role: row}

    def restarted(self) -> None:
        """Count a role that was started again."""
        self._num_restarts += 1

    def went_back(self) -> None:
        """Count a return to a checkpoint: from there on speeds and what is left are measured anew."""
        self._num_restarts += 1
        self._samples.clear()
        self._groups = {}
        self._first = None

    def glance(self, roles: Mapping[str, RoleProgress]) -> RunGlance:
        """The run as it is now; `roles` is the newest progress of each."""
        sample = self._take(roles)
        first, seconds = self._samples[0], max(sample.at - self._samples[0].at, 1e-9)
        wall_seconds = max((role.wall_seconds for role in roles.values()), default=0.0)
        num_frames = self._config.num_frames(sum(sample.num_steps.values()))
        fraction = fraction_spent(self._config.budget, num_frames, wall_seconds)
        scores, update = list(self._scores), self._update
        critic = update if isinstance(update, ActorCriticUpdateRow) else None
        return RunGlance(
            folder=self._folder,
            experiment=self._config.experiment,
            game=self._config.game,
            seed=self._config.seed,
            num_frames=num_frames,
            fraction=fraction,
            wall_seconds=wall_seconds,
            num_updates=sample.version,
            steps_per_second=(sum(sample.num_steps.values()) - sum(first.num_steps.values())) / seconds,
            updates_per_second=(sample.version - first.version) / seconds,
            role_steps_per_second={
                role: (num_steps - first.num_steps[role]) / seconds
                for role, num_steps in sample.num_steps.items()
                if num_steps
            },
            num_restarts=self._num_restarts,
            eta_seconds=self._eta_seconds(sample, fraction),
            mean_score=sum(scores) / len(scores) if scores else None,
            mean_staleness=None if update is None or self._synchronous else update.mean_staleness,
            replay_fill=None if self._replay is None else self._replay.fill(roles),
            epsilon=update.epsilon if isinstance(update, UpdateRow) else None,
            entropy=None if critic is None else critic.mean_entropy,
            late_share=self._late_share(),
        )

    def _late_share(self) -> float | None:
        # Of all workers: among few that are equally fast one may always be the last for a while.
        groups = self._groups.values()
        if not groups or not self._synchronous:
            return None
        return sum(_num_late(row) for row in groups) / max(sum(row.num_updates for row in groups), 1)

    def _take(self, roles: Mapping[str, RoleProgress]) -> "_Sample":
        sample = _Sample(
            time.monotonic(),
            {name: role.num_steps for name, role in roles.items()},
            max((role.version for role in roles.values()), default=0),
        )
        if self._samples and self._samples[-1].num_steps.keys() != sample.num_steps.keys():
            # A role that is heard of for the first time brings steps that were not made just now.
            self._samples.clear()
            self._first = None
        self._samples.append(sample)
        while sample.at - self._samples[0].at > _RATE_SECONDS:
            self._samples.popleft()
        return sample

    def _eta_seconds(self, sample: "_Sample", fraction: float) -> float | None:
        # A resumed run begins with a share that cost it no time; one that fills its replay plays many times faster.
        if self._first is None or sample.version == self._first.version:
            self._first = _Beginning(sample.at, fraction, sample.version)
        if fraction <= self._first.fraction:
            return None
        return (sample.at - self._first.at) / (fraction - self._first.fraction) * (1 - fraction)


def _num_late(row: UpdateRow | ActorCriticUpdateRow) -> int:
    return row.num_dropped_late if isinstance(row, ActorCriticUpdateRow) else row.num_dropped_stale


class _Sample(NamedTuple):
    at: float
    num_steps: dict[str, int]
    version: int


class _Beginning(NamedTuple):
    """The last sight of this start of the run before its first update."""

    at: float
    fraction: float
    """Of the budget that was spent then."""
    version: int


class _Capacity(NamedTuple):
    num_transitions: int
    shared: bool
    """Whether each learner knows of all of it; else each role has a part of its own."""

    def fill(self, roles: Mapping[str, RoleProgress]) -> float:
        kept = [role.replay_transitions for role in roles.values()]
        return min((max(kept, default=0) if self.shared else sum(kept)) / self.num_transitions, 1.0)


def _capacity(config: RunConfig) -> _Capacity | None:
    if config.replay is None:
        return None
    topology, num_writers = config.topology, config.topology.writers_per_replay
    held = lane_capacity(config.replay, num_writers, topology.num_lanes, config.environment.frame_shape)
    return _Capacity(held * num_writers * topology.num_lanes * topology.num_replays, topology.shares_replay)
