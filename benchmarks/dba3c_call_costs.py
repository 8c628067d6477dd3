"""What a call to a shard costs both sides, over real TCP loopback, and what an update costs the shard.

    push      one slice to a SynchronousShard of another process, which keeps it
    pull      one slice back
    message   a call without arrays
    apply     in one process: the mean of N gradients, the optimizer, the copy that is sent to all

Cores are charged in CPU seconds of the processes that take part, so that what else the machine does counts less; what
is left of a call's wall time is the way. Each is measured at two sizes, and a line is drawn through them.
Not here: a worker's step (`benchmarks.dba3c_costs`), what is made of the costs (`benchmarks.simulation`).
"""

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.simulation.costs import ApplyCost, CallCost, Linear
from pipeline.cluster.quorum import HostedSynchronousShard, RemoteSynchronousShard, SynchronousShardAddress
from pipeline.cluster.session import Session
from pipeline.experiments.config import RunConfig
from pipeline.interfaces import Call, ClosedUpdate, Push
from pipeline.networks.compute import set_compute_threads
from pipeline.optimizers import OptimizerConfig
from pipeline.param_server.config import ParamServerConfig
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.param_server.synchronous import SynchronousShard
from pipeline.types import Float32Array

_SMALL = 1_000
"""Parameters of the smaller of two slices."""
_CALLS = 20
"""Of one kind, in a row."""
_GRADIENTS = (1, 4)
"""Of the smaller of two updates, and of the larger."""
_TIMEOUT_SECONDS = 60.0


class CallSeconds(NamedTuple):
    """One call, on average."""

    wall: float
    caller: float
    """CPU seconds of the caller's process."""
    server: float
    """CPU seconds of the server's process."""


class Calls(NamedTuple):
    """What does not depend on the network that is trained."""

    push: CallCost
    pull: CallCost
    message: CallCost
    apply: ApplyCost
    latency_seconds: float
    """One way."""


def measure_calls(session: Session, config: RunConfig, num_params: int, num_rounds: int) -> Calls:
    """Calls between two hosts, at slices of a thousand and of `num_params` parameters."""
    caller_host, shard_host = list(session.hosts)[:2]
    measured: list[dict[str, CallSeconds]] = []
    for size in (_SMALL, num_params):
        name = f"metered-{size}"
        arguments = (name, _start(size), config.optimizer, config.param_server, 1)
        future = session.submit(MeteredShard, *arguments, host=shard_host, name=name, actor=True)
        address = MeteredAddress(name, future.result())
        measured.append(session.submit(exchange, address, size, num_rounds, host=caller_host, name="exchange").result())
    small, large = measured
    message = small["message"]
    updates = session.submit(
        apply_seconds, config.optimizer, config.param_server, num_params, num_rounds, host=caller_host, name="apply"
    ).result()
    return Calls(
        push=_line(small["push"], large["push"], num_params),
        pull=_line(small["pull"], large["pull"], num_params),
        message=CallCost(Linear(message.caller), Linear(message.server)),
        apply=_apply_cost(updates, num_params),
        latency_seconds=max(0.0, message.wall - message.caller - message.server) / 2,
    )


def exchange(address: "MeteredAddress", size: int, num_rounds: int) -> dict[str, CallSeconds]:
    """On the caller's host: what a push, a pull and a message cost both sides; medians over the rounds."""
    set_compute_threads(1)
    shard = address.connect()
    gradient = np.zeros(size, np.float32)
    copy = np.empty(size, np.float32)
    senders = tuple(f"sender-{index:02}" for index in range(_CALLS))
    rounds: dict[str, list[CallSeconds]] = {"message": [], "push": [], "pull": []}
    for version in range(num_rounds + 1):
        calls: dict[str, Callable[[str], Call[object]]] = {
            "message": lambda _: shard.cpu_seconds(),
            "push": lambda sender: shard.push(Push(gradient, sender, 1, version + 1, version)),  # noqa: B023 - called here
            "pull": lambda _: shard.read(-1, lambda values: np.copyto(copy, values)),
        }
        for name, call in calls.items():
            seconds = _metered(shard, call, senders, rounds["message"][-1].server if name != "message" else None)
            rounds[name].append(seconds)
        shard.apply(ClosedUpdate(1, version, senders)).result(_TIMEOUT_SECONDS)
    # The first round warmed up.
    return {name: CallSeconds(*map(statistics.median, zip(*all_[1:], strict=True))) for name, all_ in rounds.items()}


def apply_seconds(
    optimizer: OptimizerConfig, config: ParamServerConfig, num_params: int, num_rounds: int
) -> dict[tuple[int, int], float]:
    """On the caller's host: CPU seconds of an update by (slice, gradients); medians over the rounds."""
    set_compute_threads(1)
    return {
        (size, count): _apply_seconds(optimizer, config, size, count, num_rounds)
        for size in (_SMALL, num_params)
        for count in _GRADIENTS
    }


class MeteredShard(HostedSynchronousShard):
    """A shard that tells what its process has computed so far."""

    def cpu_seconds(self) -> float:
        """Of all threads."""
        return time.process_time()


class MeteredAddress(SynchronousShardAddress):
    """Where a metered shard is."""

    def connect(self) -> "MeteredRemote":
        """A proxy, always: it is the border that is measured."""
        return MeteredRemote(self.name, self.actor)


class MeteredRemote(RemoteSynchronousShard):
    """Its proxy."""

    def cpu_seconds(self) -> Call[float]:
        """See MeteredShard.cpu_seconds."""
        return self._call("cpu_seconds")


def _metered(
    shard: MeteredRemote, call: Callable[[str], Call[object]], senders: tuple[str, ...], message: float | None
) -> CallSeconds:
    """One call after the other, for each sender. `message` is what reading the meter costs; None: as much as a call."""
    server, caller, wall = shard.cpu_seconds().result(_TIMEOUT_SECONDS), time.process_time(), time.perf_counter()
    for sender in senders:
        call(sender).result(_TIMEOUT_SECONDS)
    wall, caller = time.perf_counter() - wall, time.process_time() - caller
    server = shard.cpu_seconds().result(_TIMEOUT_SECONDS) - server
    # The meter is read within a message: the end of the one before and the beginning of the one after are in between.
    server = server / (len(senders) + 1) if message is None else max(0.0, server - message) / len(senders)
    return CallSeconds(wall / len(senders), caller / len(senders), server)


def _apply_seconds(
    optimizer: OptimizerConfig, config: ParamServerConfig, size: int, count: int, num_rounds: int
) -> float:
    shard = SynchronousShard(_start(size), optimizer, config, generation=1)
    gradient = np.full(size, 1e-3, np.float32)
    senders = tuple(f"sender-{index:02}" for index in range(count))
    seconds = []
    for version in range(num_rounds + 1):
        for sender in senders:
            shard.push(Push(gradient, sender, 1, version + 1, version))
        update = ClosedUpdate(1, version, senders)
        # The first pull of a version makes the copy that all others get.
        seconds.append(_cpu_seconds_of(lambda: (shard.apply(update), shard.pull(-1))))  # noqa: B023 - called here
    return statistics.median(seconds[1:])


def _cpu_seconds_of(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _line(small: CallSeconds, large: CallSeconds, num_params: int) -> CallCost:
    return CallCost(
        _through(small.caller, large.caller, num_params),
        _through(small.server, large.server, num_params),
    )


def _through(small: float, large: float, num_params: int) -> Linear:
    # Neither may be negative, whatever noise says.
    per_param = max(0.0, large - small) / (num_params - _SMALL)
    return Linear(max(0.0, small - per_param * _SMALL), per_param)


def _apply_cost(seconds: dict[tuple[int, int], float], num_params: int) -> ApplyCost:
    few, many = _GRADIENTS
    per_gradient = max(0.0, seconds[num_params, many] - seconds[num_params, few]) / (num_params * (many - few))
    line = _through(seconds[_SMALL, few], seconds[num_params, few], num_params)
    return ApplyCost(line.fixed, max(0.0, line.per_param - few * per_gradient), per_gradient)


def _start(size: int) -> ShardSnapshot:
    params: Float32Array = np.zeros(size, np.float32)
    return ShardSnapshot(0, params, 0, params, {})
