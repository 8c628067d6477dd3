"""What a call to a shard costs both sides, over real TCP loopback, and what an update costs the shard.

    push      one slice to a SynchronousShard of another process, which keeps it
    pull      one slice back
    message   a call without parameters
    apply     the mean of N gradients and the optimizer, within the call that closes the update

The calls are those that a worker makes between its steps, with a CallMeter between it and its servers: made in a row,
of memory that was touched a moment ago and between processes that never sleep, they cost less. Cores are charged
in CPU seconds of the processes that take part; what is left of a call's wall time is the way.
Not here: the worker (`studies.simulation.measured_costs`), what is made of the costs (`studies.simulation.experiment`).
"""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
from distributed import Actor

from pipeline.cluster.remotes.quorum import HostedSynchronousShard, RemoteLeader, RemoteSynchronousShard
from pipeline.interfaces import Call, ClosedUpdate, Commit, CommitAnswer, Immediate, Push, SliceLoader
from pipeline.networks.compute import set_compute_threads
from pipeline.optimizers.optimizer import OptimizerConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.param_server.synchronous import SynchronousShard
from pipeline.types import Float32Array, Receipt
from studies.simulation.costs import ApplyCost, CallCost, Linear

PUSH, PULL, MESSAGE, COMMIT = "push", "pull", "message", "commit"
_GRADIENTS = (1, 4)
"""Of a small update and of a large one."""
_TIMEOUT_SECONDS = 60.0
T = TypeVar("T")


class CallSeconds(NamedTuple):
    """One call."""

    wall: float
    caller: float
    """CPU seconds of the caller's process."""
    server: float
    """CPU seconds of the server's process."""


class Calls(NamedTuple):
    """Of a worker with one network, and its servers."""

    push: CallCost
    pull: CallCost
    message: CallCost
    apply: ApplyCost
    latency_seconds: float
    """One way."""


class CallMeter:
    """Times the calls of one caller to one server process, each carried out to its end.

    What the server computes is asked once for all calls: asked around each, the question would warm up the way for it.
    """

    def __init__(self, server_seconds: Callable[[], Call[float]]) -> None:
        """`server_seconds` asks for the CPU seconds of the server's process."""
        self.caller_seconds = 0.0
        """CPU seconds of the caller's process within calls."""
        self._server_seconds = server_seconds
        self._began_at = 0.0
        self._calls: dict[str, list[tuple[float, float]]] = {}
        """By kind: wall seconds, and CPU seconds of the caller's process."""

    def begin(self) -> None:
        """Forget what was before."""
        self._calls.clear()
        self._began_at = self._server_seconds().result(_TIMEOUT_SECONDS)

    def carry_out(self, kind: str, call: Callable[[], Call[T]]) -> Immediate[T]:
        """Make the call."""
        caller, wall = time.process_time(), time.perf_counter()
        answer = call().result(_TIMEOUT_SECONDS)
        caller, wall = time.process_time() - caller, time.perf_counter() - wall
        self._calls.setdefault(kind, []).append((wall, caller))
        self.caller_seconds += caller
        return Immediate(answer)

    def end(self) -> dict[str, CallSeconds]:
        """A call of each kind since `begin`; medians.

        While the caller did not compute, the server did, or the call was on its way: in the same shares for all kinds.
        """
        computed = self._server_seconds().result(_TIMEOUT_SECONDS) - self._began_at
        away = sum(wall - caller for calls in self._calls.values() for wall, caller in calls)
        share = min(1.0, computed / away)
        medians = {kind: map(statistics.median, zip(*calls, strict=True)) for kind, calls in self._calls.items()}
        return {
            kind: CallSeconds(wall, caller, max(0.0, wall - caller) * share) for kind, (wall, caller) in medians.items()
        }


class MeteredShard(HostedSynchronousShard):
    """A shard that tells what its process has computed so far."""

    def cpu_seconds(self) -> float:
        """Of all threads."""
        return time.process_time()


class MeteredRemote(RemoteSynchronousShard):
    """Its proxy, whose calls are timed. They take the socket, as between machines, here too."""

    def __init__(self, name: str, actor: Actor) -> None:
        super().__init__(name, actor, shares_memory=False)
        self.meter = CallMeter(lambda: self._call("cpu_seconds"))

    def push(self, push: Push) -> Call[Receipt]:
        """Timed."""
        return self.meter.carry_out(PUSH, lambda: super(MeteredRemote, self).push(push))

    def read(self, known_version: int, load: SliceLoader) -> Call[int]:
        """Timed, with what `load` does."""
        return self.meter.carry_out(PULL, lambda: super(MeteredRemote, self).read(known_version, load))

    def wait_version(self, version: int, timeout_seconds: float) -> Call[int]:
        """Timed. One worker never waits: the update is made when its commit is answered."""
        return self.meter.carry_out(MESSAGE, lambda: super(MeteredRemote, self).wait_version(version, timeout_seconds))


class MeteredLeader(RemoteLeader):
    """A leader's proxy, whose commits are timed."""

    def __init__(self, name: str, actor: Actor, meter: CallMeter) -> None:
        super().__init__(name, actor)
        self._meter = meter

    def commit(self, commit: Commit) -> Call[CommitAnswer]:
        """Timed."""
        return self._meter.carry_out(COMMIT, lambda: super(MeteredLeader, self).commit(commit))


def calls_of(num_params: int, measured: Mapping[str, CallSeconds], seconds_per_gradient: float) -> Calls:
    """Straight lines from a message, which carries no parameter, through a call that carries `num_params`.

    `seconds_per_gradient`: of each parameter of each gradient beyond the first in an update, of which a commit tells.
    """
    message = measured[MESSAGE]
    applied = max(0.0, measured[COMMIT].server - message.server) / num_params
    per_gradient = min(applied, seconds_per_gradient)
    return Calls(
        push=_line(message, measured[PUSH], num_params),
        pull=_line(message, measured[PULL], num_params),
        message=CallCost(Linear(message.caller), Linear(message.server)),
        apply=ApplyCost(0.0, applied - per_gradient, per_gradient),
        latency_seconds=(message.wall - message.caller - message.server) / 2,
    )


def gradient_seconds(optimizer: OptimizerConfig, config: ParamServerConfig, num_params: int, num_updates: int) -> float:
    """On the caller's host: CPU seconds of an update for each parameter of each gradient beyond the first; medians."""
    set_compute_threads(1)
    few, many = (_apply_seconds(optimizer, config, num_params, count, num_updates) for count in _GRADIENTS)
    return max(0.0, many - few) / (num_params * (_GRADIENTS[1] - _GRADIENTS[0]))


def start_of(params: Float32Array) -> ShardSnapshot:
    """A shard's state before its first update."""
    return ShardSnapshot(0, params, 0, params, {})


def _apply_seconds(
    optimizer: OptimizerConfig, config: ParamServerConfig, size: int, count: int, num_updates: int
) -> float:
    shard = SynchronousShard(start_of(np.zeros(size, np.float32)), optimizer, config, generation=1)
    gradient = np.full(size, 1e-3, np.float32)
    senders = tuple(f"sender-{index:02}" for index in range(count))
    seconds = []
    for version in range(num_updates + 1):
        for sender in senders:
            shard.push(Push(gradient, sender, 1, version + 1, version))
        start = time.process_time()
        shard.apply(ClosedUpdate(1, version, senders))
        seconds.append(time.process_time() - start)
    # The first one warmed up.
    return statistics.median(seconds[1:])


def _line(message: CallSeconds, call: CallSeconds, num_params: int) -> CallCost:
    return CallCost(
        _through(message.caller, call.caller, num_params), _through(message.server, call.server, num_params)
    )


def _through(none: float, all_: float, num_params: int) -> Linear:
    # Noise makes no parameter cheaper than none.
    return Linear(none, max(0.0, all_ - none) / num_params)
