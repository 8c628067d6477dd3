"""The bundle: one actor, its local replay and one learner on one host, in turn (Nair et al. 2015, "bundled mode").

    step():  the actor plays one step in each of its lanes
             the learner computes as many gradients as these steps are due (steps_per_update agent steps each)

Departure: both papers play one game and learn once per step, or per four steps. Here E lanes step together, and the
E / steps_per_update gradients that are due come in a row behind it, with fresh parameters for each.
The same class is the single-machine baseline: there the parameters lie in the same process.
Not here: who starts it (`pipeline.topologies`), how its shards are reached (`pipeline.cluster.remotes.shards`).
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import torch

from pipeline.interfaces import RowSink, Servers, ShardHandle
from pipeline.replay.frames import FrameReader
from pipeline.replay.memory import ReplayState
from pipeline.roles.actor import ActorState
from pipeline.roles.follower import FollowerState
from pipeline.roles.heldout import HeldoutState
from pipeline.roles.learner import LearnerState
from pipeline.roles.parts import UPDATES_PER_ROW, RoleParts
from pipeline.roles.progress import RoleProgress
from pipeline.roles.role import LearningRole
from pipeline.roles.spec import BUNDLE, QRoleSpec
from pipeline.roles.statistics import UpdateStatistics, UpdateSums
from pipeline.types import UInt8Array


class BundleState(NamedTuple):
    """A bundle between two steps, without the frames of its replay."""

    actor: ActorState
    learner: LearnerState
    online: FollowerState
    noise: UInt8Array
    """State of the torch generator that noisy layers draw from."""
    replay: ReplayState
    updates: UpdateSums
    heldout: HeldoutState
    steps_owed: int


class Bundle(LearningRole):
    """Actor, replay and learner in one loop."""

    NAME = BUNDLE
    SPEC: ClassVar[type[QRoleSpec]] = QRoleSpec
    STATE = BundleState

    def __init__(self, spec: QRoleSpec, shards: Sequence[ShardHandle], rows: RowSink) -> None:
        self._spec = spec
        self._rows = rows
        parts = RoleParts(spec, shards, spec.compute_threads)
        self._replay, self._keeper = parts.kept_replay()
        self._online, self._noise = parts.online, parts.noise
        self._lanes = parts.lanes()
        self._actor = parts.actor(self._lanes, self._replay, rows)
        self._statistics = UpdateStatistics(spec.place.role, spec.place.num_steps_before)
        self._learner = parts.learner(self._replay, self._statistics)
        self._heldout = parts.heldout()
        self._steps_owed = 0

    @classmethod
    def build(cls, spec: QRoleSpec, servers: Servers, rows: RowSink) -> "Bundle":
        """A bundle on its host."""
        return cls(spec, servers.shards, rows)

    @property
    def done(self) -> bool:
        """True once `max_steps` have been made."""
        return self._spec.max_steps is not None and self._actor.num_steps >= self._spec.max_steps

    def step(self) -> None:
        """One step in every lane, then the gradients that are due for it; none while the replay fills."""
        num_steps = self._actor.step()
        if self._keeper is not None:
            self._keeper.save_if_due()
        # All that were ever there: a full replay holds fewer while many games end, and learning does not stop for that.
        # One that holds a few steps of a lane may have nothing to draw from at the end of a game.
        if self._replay.num_added < self._spec.replay.min_transitions or not self._replay.num_transitions():
            return
        self._steps_owed += num_steps
        while self._steps_owed >= self._spec.algorithm.steps_per_update:
            self._steps_owed -= self._spec.algorithm.steps_per_update
            self._learner.step()
            if self._statistics.num_updates >= UPDATES_PER_ROW:
                self._emit_row()

    def progress(self) -> RoleProgress:
        """What this bundle has done so far."""
        return RoleProgress(
            num_steps=self._actor.num_steps,
            num_updates=self._learner.num_updates,
            version=self._online.version,
            epsilon=self._actor.epsilon,
            replay_transitions=self._replay.num_transitions(),
            wall_seconds=self._actor.wall_seconds,
            budget_share=self._actor.budget_share,
        )

    def state(self) -> BundleState:
        """Where it stands."""
        return BundleState(
            self._actor.state(),
            self._learner.state(),
            self._online.state(),
            self._noise.get_state().numpy().copy(),
            self._replay.state(),
            self._statistics.state(),
            self._heldout.state(),
            self._steps_owed,
        )

    def restore(self, state: BundleState) -> None:
        """Go on from there."""
        self._online.restore(state.online)
        self._noise.set_state(torch.from_numpy(state.noise.copy()))
        self._replay.restore(state.replay)
        self._actor.restore(state.actor)
        self._learner.restore(state.learner)
        self._statistics.restore(state.updates)
        self._heldout.restore(state.heldout)
        self._steps_owed = state.steps_owed

    def frames(self) -> dict[str, FrameReader]:
        """Of its one replay."""
        return {self._spec.place.role: self._replay.frames[0]}

    def close(self) -> None:
        """Emit what is left, free the emulators, and save the replay if it is kept."""
        try:
            self._learner.close()
            if self._statistics.num_updates:
                self._emit_row()
        finally:
            self._lanes.close()
            if self._keeper is not None:
                self._keeper.close()

    def _emit_row(self) -> None:
        self._rows.emit(
            self._statistics.row(
                version=self._online.version,
                num_steps=self._actor.num_steps,
                total_frames=self._actor.num_frames * self._spec.place.num_actors,
                epsilon=self._actor.epsilon,
                heldout_max_q=self._heldout.max_q(self._learner.num_updates),
                replay_transitions=self._replay.num_transitions(),
                waited_seconds=0.0,
                wall_seconds=self._actor.wall_seconds,
            )
        )
