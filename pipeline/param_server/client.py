"""A role's end of the parameter server: brings the shards' slices into one vector, cuts gradients into slices.

All shards are called before the first answer is awaited, and each client begins with another shard: where a call is
answered at once, two that push together then need not wait for the same lock. Versions are each shard's own, so a pull
may mix parameters of different versions; asynchronous training lives with that (Dean et al. 2012, section 4.1).
Not here: how a call reaches another host (`pipeline.cluster`); admission (`pipeline.param_server.shard`); waiting for
the quorum of a synchronous server (`pipeline.param_server.synchronous_client`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from pipeline.interfaces import Call, GradientExchange, ParamVector, Push, ShardHandle
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.slices import copied, sliced
from pipeline.param_server.wire import decode
from pipeline.types import AnyGradient, Receipt

_UNKNOWN = -1
_Answer = TypeVar("_Answer")


class ParamClient(GradientExchange):
    """Parameters from, and gradients to, the shards of one server. For one thread.

    Every call may raise what `Call.result` raises, after `config.timeout_seconds` without an answer from a shard. A
    vector that was being filled may then hold newer slices than its owner knows of; the next pull sets that right.
    """

    def __init__(
        self,
        shards: Sequence[ShardHandle],
        layout: ParamLayout,
        sender: str,
        generation: int,
        config: ParamServerConfig,
        first_shard: int = 0,
    ) -> None:
        """`shards` in shard order; `sender` is nobody else's name in this generation, for shards count pushes by it.

        Calls begin with shard `first_shard`, modulo their number: give the clients of one process different ones.
        """
        if len(shards) != layout.num_shards:
            raise ValueError(f"got {len(shards)} shards for a layout of {layout.num_shards}")
        self._shards = tuple(shard.overlapped() if config.overlap else shard for shard in shards)
        self._layout = layout
        self._sender = sender
        self._generation = generation
        self._config = config
        self._order = [(first_shard + index) % len(shards) for index in range(len(shards))]
        self._num_pushes = 0
        self._pushed: Sequence[Call[Receipt]] = ()
        """The push whose receipts are still to come."""

    def pull(self, into: ParamVector, known_versions: Sequence[int]) -> tuple[int, ...]:
        """Bring the newest parameters into a vector that holds those of `known_versions`; returns their versions."""
        known, slices = self._known(known_versions), self._layout.slices
        calls = self._ask(
            lambda index: self._shards[index].read(known[index], partial(into.load_slice, slices[index].start))
        )
        return tuple(call.result(self._config.timeout_seconds) for call in calls)

    def pull_target(self, into: ParamVector, known_versions: Sequence[int]) -> tuple[int, ...]:
        """Like `pull`, for the target network; versions are those of the parameters that it is a copy of."""
        known = self._known(known_versions)
        calls = self._ask(lambda index: self._shards[index].pull_target(known[index]))
        answers = [call.result(self._config.timeout_seconds) for call in calls]
        for part, (_, params) in zip(self._layout.slices, answers, strict=True):
            if params is not None:
                into.load_slice(part.start, decode(params))
        return tuple(version for version, _ in answers)

    def push(self, gradient: AnyGradient, computed_at: Sequence[int]) -> tuple[Receipt, ...]:
        """Offer `gradient` (P,), computed at the versions `computed_at` (S,), to all shards; one receipt from each.

        With `config.overlap` it is on its way at the return, and the receipts are those of the push before.
        After a return the memory of `gradient` may be used again; after an error it may not, since a shard may still be
        reading it. Raises ValueError for another length of either.
        """
        self._check_one_per_shard(computed_at)
        receipts = self.flush()
        if self._config.overlap:
            gradient = copied(gradient)
        parts = sliced(gradient, self._layout, self._config.wire_dtype)
        # Counted before it is sent: a push that timed out may have arrived, and its number must not come again.
        self._num_pushes += 1
        pushes = [
            Push(part, self._sender, self._generation, self._num_pushes, version)
            for part, version in zip(parts, computed_at, strict=True)
        ]
        self._pushed = self._ask(lambda index: self._shards[index].push(pushes[index]))
        return receipts if self._config.overlap else self.flush()

    def flush(self) -> tuple[Receipt, ...]:
        """Wait for the receipts that are still to come; none if there are no such."""
        calls, self._pushed = self._pushed, ()
        return tuple(call.result(self._config.timeout_seconds) for call in calls)

    def ready(self, timeout_seconds: float) -> bool:
        """True: whoever sends to shards that apply gradients as they come waits for nobody."""
        return True

    def _ask(self, call: Callable[[int], _Answer]) -> list[_Answer]:
        """What `call` gives for each shard, called in this client's order; in shard order."""
        answers = {index: call(index) for index in self._order}
        return [answers[index] for index in range(len(self._shards))]

    def _known(self, versions: Sequence[int]) -> Sequence[int]:
        if len(versions) == 0:
            return (_UNKNOWN,) * self._layout.num_shards
        self._check_one_per_shard(versions)
        return versions

    def _check_one_per_shard(self, versions: Sequence[int]) -> None:
        if len(versions) != self._layout.num_shards:
            raise ValueError(f"got {len(versions)} versions for {self._layout.num_shards} shards")
