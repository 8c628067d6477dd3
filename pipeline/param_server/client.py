"""A role's end of the parameter server: joins the shards' slices into one vector, cuts gradients into slices.

All shards are called before the first answer is awaited. Versions are each shard's own, so a pull may mix parameters of
different versions; asynchronous training lives with that (Dean et al. 2012, section 4.1).
Not here: how a call reaches another host (`pipeline.cluster`); admission (`pipeline.param_server.shard`).
"""

from collections.abc import Sequence

import numpy as np

from pipeline.interfaces import GradientSink, ParamSource, PulledSlice, Push, ShardHandle
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.wire import decode, encode
from pipeline.types import Float32Array, Params, Receipt


class ParamClient(ParamSource, GradientSink):
    """Parameters from, and gradients to, the shards of one server. For one thread.

    Every call may raise what `Call.result` raises, after `config.timeout_seconds` without an answer from a shard.
    """

    def __init__(
        self,
        shards: Sequence[ShardHandle],
        layout: ParamLayout,
        sender: str,
        generation: int,
        config: ParamServerConfig,
    ) -> None:
        """`shards` in shard order; `sender` is nobody else's name in this generation, for shards count pushes by it."""
        if len(shards) != layout.num_shards:
            raise ValueError(f"got {len(shards)} shards for a layout of {layout.num_shards}")
        self._shards = tuple(shards)
        self._layout = layout
        self._sender = sender
        self._generation = generation
        self._config = config
        self._params = _Vector(layout)
        self._target = _Vector(layout)
        self._num_pushes = 0

    def pull(self) -> Params:
        """The newest parameters. `flat` may be read-only, and holds until the next `pull`."""
        calls = [shard.pull(known) for shard, known in zip(self._shards, self._params.versions, strict=True)]
        return self._params.take([call.result(self._config.timeout_seconds) for call in calls])

    def pull_target(self) -> Params:
        """Like `pull`, for the target network; the version is that of the parameters it is a copy of."""
        calls = [shard.pull_target(known) for shard, known in zip(self._shards, self._target.versions, strict=True)]
        return self._target.take([call.result(self._config.timeout_seconds) for call in calls])

    def push(self, gradient: Float32Array, computed_at: Sequence[int]) -> tuple[Receipt, ...]:
        """Offer `gradient` (P,), computed at the versions `computed_at` (S,), to all shards; one receipt from each.

        After a return the memory of `gradient` may be used again; after an error it may not, since a shard may still be
        reading it. Raises ValueError for another length of either.
        """
        if len(computed_at) != self._layout.num_shards:
            raise ValueError(f"got {len(computed_at)} versions for {self._layout.num_shards} shards")
        parts = [encode(part, self._config.wire_dtype) for part in self._layout.cut(gradient)]
        # Counted before it is sent: a push that timed out may have arrived, and its number must not come again.
        self._num_pushes += 1
        calls = [
            shard.push(Push(part, self._sender, self._generation, self._num_pushes, version))
            for shard, part, version in zip(self._shards, parts, computed_at, strict=True)
        ]
        return tuple(call.result(self._config.timeout_seconds) for call in calls)


class _Vector:
    """The slices of one vector as they were last seen, side by side."""

    def __init__(self, layout: ParamLayout) -> None:
        self.versions = (-1,) * layout.num_shards
        self._layout = layout
        self._flat: Float32Array = np.empty(layout.num_params, np.float32)

    def take(self, answers: Sequence[PulledSlice]) -> Params:
        """Put the new slices in place; those that are None stay as they are."""
        for part, answer in zip(self._layout.slices, answers, strict=True):
            if answer.params is None:
                continue
            if self._layout.num_shards == 1:
                self._flat = decode(answer.params)
            else:
                self._flat[part] = decode(answer.params)
        changed = any(answer.params is not None for answer in answers)
        self.versions = tuple(answer.version for answer in answers)
        return Params(self._flat, self.versions, changed)
