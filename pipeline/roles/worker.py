"""The worker of DBA3C: plays its lanes, computes one gradient of what it saw, sends it, and waits for the next version.

    step():  parameters of the newest version -> rollouts -> loss -> gradient -> clipped -> pushed -> next actions

With several passes the next steps compute gradients of the same rollouts (`pipeline.roles.passes`).

Adamski et al. 2018 (DBA3C's workers). With one worker whose parameters lie in the same process it is BA3C, the
single-machine baseline. Whether a gradient is applied at once or waits for a quorum, its `GradientExchange` knows.
Departure: in the authors' code a worker's simulators, predictors and trainer run beside each other with short queues
between them, so that a gradient's data are some updates old. Here they take turns in one thread: most actions were
chosen by the parameters that the gradient is of or by those one update before (`pipeline.roles.rollouts`).
Not here: playing (`pipeline.roles.rollouts`), the quorum (`pipeline.param_server.quorum`), who starts it
(`pipeline.topologies.kinds.workers`).
"""

import time
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, cast

import numpy as np
import torch

from pipeline import seeding
from pipeline.algorithms.actor_critic import ActorCriticLoss, actor_critic_loss, clipping_factors
from pipeline.algorithms.clipped import clipped_loss, normalised
from pipeline.envs.due_lanes import make_due_lanes
from pipeline.envs.rom import num_actions
from pipeline.interfaces import GradientExchange, RowSink, Servers, SynchronousShardHandle
from pipeline.networks import compute
from pipeline.networks.network import ActorCriticNetwork
from pipeline.networks.replica import PolicyReplica
from pipeline.param_server.client import ParamClient
from pipeline.param_server.config import FACTORS
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.synchronous_client import SynchronousClient
from pipeline.roles.divergence import BlindnessGuard, DivergenceGuard
from pipeline.roles.follower import Follower, FollowerState
from pipeline.roles.passes import Passes, PassesState
from pipeline.roles.progress import RoleProgress
from pipeline.roles.recollection import Recollection
from pipeline.roles.role import LearningRole
from pipeline.roles.rollouts import Rollouts, RolloutsState
from pipeline.roles.spec import WORKER, WorkerSpec
from pipeline.roles.straggler import delay_of
from pipeline.roles.worker_statistics import WorkerStatistics, WorkerSums
from pipeline.schedules import value_at
from pipeline.states import StreamState, restore_stream, stream_state
from pipeline.types import AnyGradient, RolloutBatch

UPDATES_PER_ROW = 20
"""Gradients of one worker that make one row."""
_WAIT_SECONDS = 0.5
"""Longest wait within one step among few workers, so that one hears of a stop while it waits for others."""
_QUESTIONS_PER_SECOND = 256
"""To one server from all workers that wait. Of 1,000 that each asked twice a second its thread would be busy."""
_MAX_BLIND = 1_000
"""Gradients in a row: what one batch has seen may be alike, as at the start of a game."""


class WorkerState(NamedTuple):
    """A worker between two updates."""

    num_updates: int
    online: FollowerState
    rollouts: RolloutsState
    passes: PassesState
    straggler: StreamState
    num_not_finite: int
    num_blind: int
    sums: WorkerSums


class Worker(LearningRole):
    """One gradient per `step()`, or a part of the wait for the others'."""

    NAME = WORKER
    SPEC: ClassVar[type[WorkerSpec]] = WorkerSpec
    STATE = WorkerState

    def __init__(self, spec: WorkerSpec, servers: Servers, rows: RowSink) -> None:
        compute.set_compute_threads(spec.compute_threads)
        self._spec = spec
        self._rows = rows
        environment = spec.environment
        actions = num_actions(spec.game, environment.full_action_set)
        network = spec.network.make(environment.stack, environment.frame_shape, actions)
        assert isinstance(network, ActorCriticNetwork), "another network is refused before the run starts"
        self._num_filters = network.num_filters
        device = compute.resolve_device(spec.device)
        self._replica = PolicyReplica(network, compute.resolve_precision(spec.precision, device), device)
        self._exchange = _exchange(spec, servers, ParamLayout(network.num_parameters, spec.param_server.num_shards))
        self._online = Follower(self._replica, self._exchange)
        self._recollection = Recollection(self._replica)
        self._lanes = make_due_lanes(
            spec.game, environment, spec.num_lanes, num_threads=spec.compute_threads, seeded=spec.restorable
        )
        self._rollouts = Rollouts(
            spec.place,
            self._lanes,
            spec.algorithm,
            rows,
            self._stream("actions"),
            seeding.emulator_seeds(spec.seed, *self._stream_name("emulator"), count=spec.num_lanes),
        )
        self._passes = Passes(spec.algorithm.num_passes)
        self._delay = delay_of(spec.stragglers, spec.place.index)
        self._delay_rng = self._stream("straggler")
        self._wait_seconds = wait_seconds(spec.place.num_actors)
        self._divergence = DivergenceGuard()
        self._blindness = BlindnessGuard(_MAX_BLIND)
        self._statistics = WorkerStatistics(spec.place.role, spec.place.num_steps_before)
        self._num_updates = 0
        self._waited_seconds = 0.0
        self._gradient: AnyGradient | None = None
        """Computed, and not yet sent by a straggler."""
        self._send_at = 0.0

    @classmethod
    def build(cls, spec: WorkerSpec, servers: Servers, rows: RowSink) -> "Worker":
        """A worker on its host."""
        return cls(spec, servers, rows)

    @property
    def done(self) -> bool:
        """True once `max_steps` have been made."""
        return self._spec.max_steps is not None and self._rollouts.num_steps >= self._spec.max_steps

    def step(self) -> None:
        """Compute and send a gradient, unless there is something to wait for: then wait for `wait_seconds` at most."""
        if self._gradient is None:
            if not self._ready():
                return
            self._online.refresh()
            self._recollection.forget()
            self._gradient = self._compute()
            self._send_at = time.monotonic() + self._delay_seconds()
        if self._gradient is None or not self._slept():
            return
        gradient, self._gradient = self._gradient, None
        self._statistics.answered(self._exchange.push(gradient, self._online.versions))
        self._rollouts.play()
        if self._statistics.num_updates >= UPDATES_PER_ROW:
            self._emit_row()

    def progress(self) -> RoleProgress:
        """What this worker has done so far."""
        return RoleProgress(
            num_steps=self._rollouts.num_steps,
            num_updates=self._num_updates,
            version=self._online.version,
            epsilon=0.0,
            replay_transitions=0,
            wall_seconds=self._rollouts.wall_seconds,
            waited_seconds=self._waited_seconds,
        )

    @property
    def stands(self) -> bool:
        """True once its last gradient is applied."""
        return self._gradient is None and self._exchange.ready(0.0)

    def state(self) -> WorkerState:
        """Where it stands."""
        return WorkerState(
            self._num_updates,
            self._online.state(),
            self._rollouts.state(),
            self._passes.state(),
            stream_state(self._delay_rng),
            self._divergence.num_in_a_row,
            self._blindness.num_in_a_row,
            self._statistics.state(),
        )

    def restore(self, state: WorkerState) -> None:
        """Go on from there."""
        self._num_updates = state.num_updates
        self._online.restore(state.online)
        self._rollouts.restore(state.rollouts)
        self._passes.restore(state.passes)
        self._recollection.restart(state.rollouts.num_calls)
        restore_stream(self._delay_rng, state.straggler)
        self._divergence.num_in_a_row, self._blindness.num_in_a_row = state.num_not_finite, state.num_blind
        self._statistics.restore(state.sums)

    def close(self) -> None:
        """Emit what is left and free the emulators."""
        try:
            self._statistics.answered(self._exchange.flush())
            if self._statistics.num_updates:
                self._emit_row()
        finally:
            self._lanes.close()

    def _ready(self) -> bool:
        asked_at = time.monotonic()
        ready = self._exchange.ready(self._wait_seconds)
        waited = time.monotonic() - asked_at
        self._waited_seconds += waited
        self._statistics.waited(waited)
        return ready

    def _compute(self) -> AnyGradient | None:
        loss = self._loss(
            self._passes.next(lambda: self._rollouts.collect(self._recollection.policy, self._online.version))
        )
        factored = self._spec.param_server.wire == FACTORS
        gradient = self._replica.computed_gradient(loss.objective, factored=factored)
        # Each tensor is read for its norm once: that of the whole, and those behind the clipping, follow from them.
        norms = gradient.tensor_norms()
        norm = norms.norm().item()
        # A new tensor: what follows may scale the gradient where it lies.
        first_layer = gradient.tensors[0].view(self._num_filters, -1).clone()
        if not self._divergence.admits(norm, self._online.version):
            return None
        self._num_updates += 1
        self._statistics.computed(loss, norm, first_layer)
        limits = self._spec.algorithm.max_average_norm, self._spec.algorithm.max_gradient_norm
        sizes = [tensor.numel() for tensor in self._replica.gradient_tensors]
        gradient.scale_tensors(clipping_factors(norms, sizes, *limits))
        return gradient.as_sent()

    def _loss(self, batch: RolloutBatch) -> ActorCriticLoss:
        algorithm, device = self._spec.algorithm, self._replica.device
        weight = value_at(algorithm.entropy_weight, algorithm.entropy_weight_changes, self._online.version)
        logits, values = self._recollection.outputs(batch)
        if len(values) > 1:
            self._blindness.see(values, self._online.version)
        a_tm1 = torch.from_numpy(batch.a_tm1).to(device)
        return_tm1 = torch.from_numpy(batch.return_tm1).to(device)
        if algorithm.clip_range is None:
            return actor_critic_loss(logits, values, a_tm1, return_tm1, weight, algorithm.value_weight)
        advantage_tm1 = return_tm1 - torch.from_numpy(batch.value_tm1).to(device)
        if algorithm.normalised_advantages:
            advantage_tm1 = normalised(advantage_tm1)
        log_pi_tm1 = torch.from_numpy(batch.log_pi_tm1).to(device)
        weights = algorithm.clip_range, weight, algorithm.value_weight
        return clipped_loss(logits, values, a_tm1, return_tm1, advantage_tm1, log_pi_tm1, *weights)

    def _delay_seconds(self) -> float:
        return 0.0 if self._delay is None else self._delay.draw(self._delay_rng)

    def _slept(self) -> bool:
        left = self._send_at - time.monotonic()
        if left > 0:
            slept = min(left, self._wait_seconds)
            time.sleep(slept)
            self._statistics.delayed(slept)
        return left <= self._wait_seconds

    def _emit_row(self) -> None:
        self._rows.emit(
            self._statistics.row(
                version=self._online.version,
                num_steps=self._rollouts.num_steps,
                total_frames=self._rollouts.num_frames * self._spec.place.num_actors,
                wall_seconds=self._rollouts.wall_seconds,
            )
        )

    def _stream(self, purpose: str) -> np.random.Generator:
        return seeding.stream(self._spec.seed, *self._stream_name(purpose))

    def _stream_name(self, purpose: str) -> tuple[str | int, ...]:
        return self._spec.place.role, purpose, self._spec.place.num_steps_before


def wait_seconds(num_workers: int) -> float:
    """Longest wait within one step of each of so many workers, in seconds: half a second up to 128 of them."""
    return max(_WAIT_SECONDS, num_workers / _QUESTIONS_PER_SECOND)


def _exchange(spec: WorkerSpec, servers: Servers, layout: ParamLayout) -> GradientExchange:
    if servers.leader is None:
        return ParamClient(
            servers.shards, layout, spec.sender, spec.generation, spec.param_server, first_shard=spec.place.index
        )
    # Where there is a leader, all shards wait for it (`Servers.leader`).
    shards = cast(Sequence[SynchronousShardHandle], servers.shards)
    return SynchronousClient(
        shards, servers.leader, layout, spec.sender, spec.generation, spec.param_server, first_shard=spec.place.index
    )
