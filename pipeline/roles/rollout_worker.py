"""A worker: plays its lanes, computes one gradient of what it saw, sends it, and waits for the next version.

    step():  parameters of the newest version -> rollouts -> loss -> gradient -> clipped -> pushed -> next actions

With several passes the next steps compute gradients of the same rollouts (`pipeline.roles.passes`). What is learned is
left to its kinds: a policy (`pipeline.roles.worker`), or values of actions (`pipeline.roles.q_worker`).

Adamski et al. 2018 (DBA3C's workers). With one worker whose parameters lie in the same process it is BA3C, the
single-machine baseline. Whether a gradient is applied at once or waits for a quorum, its `GradientExchange` knows.
Departure: in the authors' code a worker's simulators, predictors and trainer run beside each other with short queues
between them, so that a gradient's data are some updates old. Here they take turns in one thread: most actions were
chosen by the parameters that the gradient is of or by those one update before (`pipeline.roles.rollouts`).
Not here: playing (`pipeline.roles.rollouts`), the quorum (`pipeline.param_server.quorum`), who starts it
(`pipeline.topologies.kinds.workers`).
"""

import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast

import numpy as np
import torch

from pipeline import seeding
from pipeline.algorithms.actor_critic import clipping_factors
from pipeline.envs.due_lanes import make_due_lanes
from pipeline.envs.rom import num_actions
from pipeline.interfaces import GradientExchange, RowSink, Servers, SynchronousShardHandle
from pipeline.networks import compute
from pipeline.networks.network import Network
from pipeline.networks.replica import Replica
from pipeline.param_server.client import ParamClient
from pipeline.param_server.config import FACTORS
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.synchronous_client import SynchronousClient
from pipeline.roles.choosing import Chooser
from pipeline.roles.divergence import DivergenceGuard
from pipeline.roles.follower import Follower, FollowerState
from pipeline.roles.passes import Passes, PassesState
from pipeline.roles.progress import RoleProgress
from pipeline.roles.role import LearningRole
from pipeline.roles.rollouts import Rollouts, RolloutsState
from pipeline.roles.spec import RolloutSpec
from pipeline.roles.straggler import delay_of
from pipeline.rows import Row
from pipeline.states import StreamState, restore_stream, stream_state
from pipeline.types import AnyGradient, Float32Array, Receipt, RolloutBatch, UInt8Array

UPDATES_PER_ROW = 20
"""Gradients of one worker that make one row."""
_WAIT_SECONDS = 0.5
"""Longest wait within one step among few workers, so that one hears of a stop while it waits for others."""
_QUESTIONS_PER_SECOND = 256
"""To one server from all workers that wait. Of 1,000 that each asked twice a second its thread would be busy."""


class Loss(Protocol):
    """What one batch gives."""

    @property
    def objective(self) -> torch.Tensor:
        """() float32, carries the gradient."""


SpecT = TypeVar("SpecT", bound=RolloutSpec)
ReplicaT = TypeVar("ReplicaT", bound=Replica)
LossT = TypeVar("LossT", bound=Loss)
LossT_contra = TypeVar("LossT_contra", bound=Loss, contravariant=True)


@dataclass(frozen=True)
class CommonState:
    """A worker between two updates: what all of them have."""

    num_updates: int
    online: FollowerState
    rollouts: RolloutsState
    passes: PassesState
    straggler: StreamState
    num_not_finite: int


class Statistics(Protocol[LossT_contra]):
    """What gathers gradients into rows of `updates.csv`."""

    @property
    def num_updates(self) -> int:
        """Gradients in the group so far."""

    def computed(self, loss: LossT_contra, gradient_norm: float, first_layer: torch.Tensor) -> None:
        """Count a gradient, of which `first_layer` (filters, weights of each) is the first convolution's part."""

    def answered(self, receipts: Sequence[Receipt]) -> None:
        """Count what became of a gradient that was sent; nothing without receipts."""

    def waited(self, seconds: float) -> None:
        """Add a wait for the quorum."""

    def delayed(self, seconds: float) -> None:
        """Add a sleep of a simulated straggler."""

    def row(self, *, version: int, num_steps: int, total_frames: int, wall_seconds: float) -> Row:
        """The group as a row; begins a new group."""


class RolloutWorker(LearningRole, Generic[SpecT, ReplicaT, LossT]):
    """One gradient per `step()`, or a part of the wait for the others'."""

    def __init__(self, spec: SpecT, servers: Servers, rows: RowSink, chooser: Chooser) -> None:
        compute.set_compute_threads(spec.compute_threads)
        self._spec = spec
        self._rows = rows
        environment = spec.environment
        actions = num_actions(spec.game, environment.full_action_set)
        network = spec.network.make(environment.stack, environment.frame_shape, actions)
        self._num_filters = network.num_filters
        device = compute.resolve_device(spec.device)
        self._replica = self._make_replica(network, compute.resolve_precision(spec.precision, device), device)
        self._exchange = _exchange(spec, servers, ParamLayout(network.num_parameters, spec.param_server.num_shards))
        self._online = Follower(self._replica, self._exchange)
        self._lanes = make_due_lanes(
            spec.game, environment, spec.num_lanes, num_threads=spec.compute_threads, seeded=spec.restorable
        )
        self._rollouts = Rollouts(
            spec.place,
            self._lanes,
            spec.algorithm,
            rows,
            chooser,
            self._stream("actions"),
            seeding.emulator_seeds(spec.seed, *spec.stream_name("emulator"), count=spec.num_lanes),
        )
        self._passes = Passes(spec.algorithm.num_passes)
        self._delay = delay_of(spec.stragglers, spec.place.index)
        self._delay_rng = self._stream("straggler")
        self._wait_seconds = wait_seconds(spec.place.num_actors)
        self._divergence = DivergenceGuard()
        self._statistics = self._make_statistics()
        self._num_updates = 0
        self._waited_seconds = 0.0
        self._gradient: AnyGradient | None = None
        """Computed, and not yet sent by a straggler."""
        self._send_at = 0.0

    @abstractmethod
    def _make_replica(self, network: Network, dtype: torch.dtype, device: torch.device) -> ReplicaT:
        """Its network; one of another kind is refused before the run starts."""

    @abstractmethod
    def _make_statistics(self) -> Statistics[LossT]:
        """What gathers its rows."""

    @abstractmethod
    def _refreshed(self) -> None:
        """Hear that the newest parameters are in the replica, for a gradient that is computed next."""

    @abstractmethod
    def _policy(self, observations: UInt8Array) -> tuple[Float32Array, Float32Array]:
        """Preferences (D, A) that actions are chosen by and values (D,), of uint8 (D, K, H, W[, 3])."""

    @abstractmethod
    def _loss(self, batch: RolloutBatch) -> LossT:
        """Of a batch, at the parameters in the replica."""

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
            self._refreshed()
            self._gradient = self._compute()
            self._send_at = time.monotonic() + self._delay_seconds()
        if self._gradient is None or not self._is_due():
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

    def _common(self) -> CommonState:
        return CommonState(
            self._num_updates,
            self._online.state(),
            self._rollouts.state(),
            self._passes.state(),
            stream_state(self._delay_rng),
            self._divergence.num_in_a_row,
        )

    def _restore_common(self, state: CommonState) -> None:
        self._num_updates, self._divergence.num_in_a_row = state.num_updates, state.num_not_finite
        self._online.restore(state.online)
        self._rollouts.restore(state.rollouts)
        self._passes.restore(state.passes)
        restore_stream(self._delay_rng, state.straggler)

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
        loss = self._loss(self._passes.next(lambda: self._rollouts.collect(self._policy, self._online.version)))
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
        sizes = [tensor.numel() for tensor in self._replica.gradient_tensors]
        gradient.scale_tensors(clipping_factors(norms, sizes, *self._spec.algorithm.gradient_limits))
        return gradient.as_sent()

    def _delay_seconds(self) -> float:
        return 0.0 if self._delay is None else self._delay.draw(self._delay_rng)

    def _is_due(self) -> bool:
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
        return seeding.stream(self._spec.seed, *self._spec.stream_name(purpose))


def wait_seconds(num_workers: int) -> float:
    """Longest wait within one step of each of so many workers, in seconds: half a second up to 128 of them."""
    return max(_WAIT_SECONDS, num_workers / _QUESTIONS_PER_SECOND)


def _exchange(spec: RolloutSpec, servers: Servers, layout: ParamLayout) -> GradientExchange:
    if servers.leader is None:
        return ParamClient(
            servers.shards, layout, spec.sender, spec.generation, spec.param_server, first_shard=spec.place.index
        )
    # Where there is a leader, all shards wait for it (`Servers.leader`).
    shards = cast(Sequence[SynchronousShardHandle], servers.shards)
    return SynchronousClient(
        shards, servers.leader, layout, spec.sender, spec.generation, spec.param_server, first_shard=spec.place.index
    )
