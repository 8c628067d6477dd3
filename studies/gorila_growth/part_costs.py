"""What the parts of a bundle cost on this machine: a play, a gradient, a push with its update, a pull, a message.

    near    real actor and learner in a host process, their shards in the same process, called directly
    far     the same with the shards in another process, over TCP loopback or with shared memory
    crowd   `near` in as many host processes at once as there are cores, in turn with one alone: a core is slower then

Near and far are measured with one shard and with many, so that a call has a part that is for itself and one for each
parameter. The parts are those of a bundle at work, between which the caches are used by others. Everything is charged
in CPU seconds of the processes that take part, so that what else the machine does counts less; no number is fitted to
how fast a whole run is.
Not here: calls in detail (`studies.simulation.call_costs`), what is made of the costs
(`studies.gorila_growth.simulation`).
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from pipeline import seeding
from pipeline.cluster.remotes.shards import HostedShard, RemoteShard, ShardAddress
from pipeline.cluster.session import Session
from pipeline.config.run_config import RunConfig
from pipeline.experiments.plan import network_of
from pipeline.experiments.specs import q_role_spec
from pipeline.interfaces import Immediate, PulledSlice, Push, RowSink, ShardHandle, SliceLoader
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot, first_snapshot, split_snapshot
from pipeline.roles.parts import RoleParts
from pipeline.roles.spec import QRoleSpec
from pipeline.roles.statistics import UpdateStatistics
from pipeline.rows import Row
from pipeline.topologies.kinds.bundled import bundle_name
from pipeline.types import Receipt
from studies.gorila_growth.costs import DirectCosts, GorilaCosts, Measured, SliceBytes, WireCosts
from studies.gorila_growth.slice_bytes import slice_bytes
from studies.simulation.call_costs import MESSAGE, PULL, PUSH, CallMeter, CallSeconds
from studies.simulation.costs import CallCost, Linear

MANY_SHARDS = 64
_NUM_TURNS = 2
"""Of one bundle alone and of a crowd: a shared machine is a tenth faster or slower from minute to minute."""
_TARGET = "target"
_GENERATION = 1
_NO_BYTES = SliceBytes(0.0, 0.0)


class Parts(NamedTuple):
    """What one bundle did."""

    play_seconds: tuple[float, ...]
    gradient_seconds: tuple[float, ...]
    """CPU seconds of each, without calls."""
    calls: Mapping[str, CallSeconds]
    """A call of each kind; medians."""


def measure(
    session: Session, config: RunConfig, num_cores: int, seconds: float, *, shares_memory: bool = False
) -> Measured:
    """All costs with the wire of `config`, or with memory that both processes see; `seconds` of each kind of work.

    The session has two host processes, and one for every core.
    """
    hosts = list(session.hosts)
    spec, num_params = q_role_spec(config, _GENERATION), network_of(config).num_parameters
    many = min(MANY_SHARDS, num_params)

    def near(count: int, where: Sequence[str], num_turns: int = 1) -> list[Parts]:
        settings = (config, spec, count, seconds / num_turns)
        jobs = [session.submit(work_near, *settings, host=host, name="near") for host in where]
        return [job.result() for job in jobs]

    alone, crowd = list[Parts](), list[Parts]()
    for _ in range(_NUM_TURNS):
        alone += near(1, hosts[:1], _NUM_TURNS)
        crowd += near(1, hosts[:num_cores], _NUM_TURNS)
    one, (several,) = joined(alone), near(many, hosts[:1])
    far_one, far_several = (_far(session, config, spec, count, seconds, hosts, shares_memory) for count in (1, many))
    push_bytes, pull_bytes = (_NO_BYTES, _NO_BYTES) if shares_memory else slice_bytes(config, many)
    costs = GorilaCosts(
        play_seconds=one.play_seconds + several.play_seconds,
        gradient_seconds=one.gradient_seconds + several.gradient_seconds,
        num_params=num_params,
        direct=direct_costs(num_params, many, one.calls, several.calls),
        wire=wire_costs(num_params, many, far_one.calls, far_several.calls, push_bytes, pull_bytes),
    )
    return Measured(costs, _turn(spec, one) / _turn(spec, joined(crowd)), num_cores)


def joined(several: Sequence[Parts]) -> Parts:
    """What all of them did, and the means of their calls."""
    calls = {
        kind: CallSeconds(*map(statistics.fmean, zip(*(parts.calls[kind] for parts in several), strict=True)))
        for kind in several[0].calls
    }
    return Parts(
        tuple(seconds for parts in several for seconds in parts.play_seconds),
        tuple(seconds for parts in several for seconds in parts.gradient_seconds),
        calls,
    )


def direct_costs(
    num_params: int, many: int, one: Mapping[str, CallSeconds], several: Mapping[str, CallSeconds]
) -> DirectCosts:
    """Straight lines through a call of the whole vector and one of its `many`th part."""
    size = num_params // many
    push, pull = (line(size, several[kind].caller, num_params, one[kind].caller) for kind in (PUSH, PULL))
    return DirectCosts(push, pull, several[MESSAGE].caller)


def wire_costs(
    num_params: int,
    many: int,
    one: Mapping[str, CallSeconds],
    several: Mapping[str, CallSeconds],
    push_bytes: SliceBytes,
    pull_bytes: SliceBytes,
) -> WireCosts:
    """The same on both sides of the wire."""
    size = num_params // many

    def both(kind: str) -> CallCost:
        small, large = several[kind], one[kind]
        return CallCost(
            line(size, small.caller, num_params, large.caller), line(size, small.server, num_params, large.server)
        )

    message = several[MESSAGE]
    return WireCosts(
        push=both(PUSH),
        pull=both(PULL),
        message=CallCost(Linear(message.caller), Linear(message.server)),
        latency_seconds=max(0.0, message.wall - message.caller - message.server) / 2,
        push_bytes=push_bytes,
        pull_bytes=pull_bytes,
    )


def line(small: int, seconds_of_small: float, large: int, seconds_of_large: float) -> Linear:
    """Through two points; noise makes neither a call nor a parameter cheaper than nothing."""
    if large == small:
        return Linear(seconds_of_small)
    per_param = max(0.0, (seconds_of_large - seconds_of_small) / (large - small))
    return Linear(max(0.0, seconds_of_small - per_param * small), per_param)


def work_near(config: RunConfig, spec: QRoleSpec, num_shards: int, seconds: float) -> Parts:
    """On the caller's host: a bundle and its shards."""
    meter = CallMeter(lambda: Immediate(time.process_time()))
    shards = [
        MeteredDirect(ParameterShard(start, config.optimizer, config.param_server, _GENERATION), meter)
        for start in _starts(config, num_shards)
    ]
    return _work(spec, shards, meter, seconds)


def work_far(spec: QRoleSpec, addresses: Sequence[ShardAddress], seconds: float, shares_memory: bool) -> Parts:
    """On the caller's host: a bundle whose shards are elsewhere."""
    first = MeteredRemote(addresses[0], shares_memory)
    others = [MeteredRemote(address, shares_memory, first.meter) for address in addresses[1:]]
    return _work(spec, [first, *others], first.meter, seconds)


class _Metered(ShardHandle):
    """Times the calls that another handle makes: a pull of a version that is known is a message."""

    meter: CallMeter
    version = -1
    """Of the last receipt: nobody else pushes."""

    def read_kind(self, known_version: int) -> str:
        """What a pull is that knows this version."""
        return MESSAGE if known_version == self.version else PULL

    def noted(self, call: Immediate[Receipt]) -> Immediate[Receipt]:
        """The same, with its version remembered."""
        self.version = call.result(0.0).version
        return call


class MeteredDirect(DirectShard, _Metered):
    """A shard in this process."""

    def __init__(self, shard: ParameterShard, meter: CallMeter) -> None:
        super().__init__(shard)
        self.meter = meter

    def push(self, push: Push) -> Immediate[Receipt]:
        """Timed."""
        return self.noted(self.meter.carry_out(PUSH, lambda: super(MeteredDirect, self).push(push)))

    def read(self, known_version: int, load: SliceLoader) -> Immediate[int]:
        """Timed, with what `load` does."""
        kind = self.read_kind(known_version)
        return self.meter.carry_out(kind, lambda: super(MeteredDirect, self).read(known_version, load))

    def pull_target(self, known_version: int) -> Immediate[PulledSlice]:
        """Timed."""
        return self.meter.carry_out(_TARGET, lambda: super(MeteredDirect, self).pull_target(known_version))


class MeteredHosted(HostedShard):
    """A shard that tells what its process has computed so far."""

    def cpu_seconds(self) -> float:
        """Of all threads."""
        return time.process_time()


class MeteredRemote(RemoteShard, _Metered):
    """A shard in another process."""

    def __init__(self, address: ShardAddress, shares_memory: bool, meter: CallMeter | None = None) -> None:
        super().__init__(address.name, address.actor, shares_memory=shares_memory)
        self.meter = meter or CallMeter(lambda: self._call("cpu_seconds"))

    def push(self, push: Push) -> Immediate[Receipt]:
        """Timed."""
        return self.noted(self.meter.carry_out(PUSH, lambda: super(MeteredRemote, self).push(push)))

    def read(self, known_version: int, load: SliceLoader) -> Immediate[int]:
        """Timed, with what `load` does."""
        kind = self.read_kind(known_version)
        return self.meter.carry_out(kind, lambda: super(MeteredRemote, self).read(known_version, load))

    def pull_target(self, known_version: int) -> Immediate[PulledSlice]:
        """Timed."""
        return self.meter.carry_out(_TARGET, lambda: super(MeteredRemote, self).pull_target(known_version))


def _turn(spec: QRoleSpec, parts: Parts) -> float:
    """Seconds of a play and of the gradients that are due for it."""
    due = spec.num_lanes / spec.algorithm.steps_per_update
    return statistics.fmean(parts.play_seconds) + due * statistics.fmean(parts.gradient_seconds)


def _far(
    session: Session,
    config: RunConfig,
    spec: QRoleSpec,
    num_shards: int,
    seconds: float,
    hosts: Sequence[str],
    shares_memory: bool,
) -> Parts:
    caller, server = hosts[:2]
    addresses, actors = [], []
    for index, start in enumerate(_starts(config, num_shards)):
        name = f"part-{config.param_server.wire_dtype}-{shares_memory}-{num_shards}-{index}"
        settings = (name, start, config.optimizer, config.param_server, _GENERATION)
        actors.append(session.submit(MeteredHosted, *settings, host=server, name=name, actor=True))
        addresses.append(ShardAddress(name, actors[-1].result()))
    spec = replace(spec, param_server=replace(spec.param_server, num_shards=num_shards))
    parts: Parts = session.submit(work_far, spec, addresses, seconds, shares_memory, host=caller, name="far").result()
    return parts


def _starts(config: RunConfig, num_shards: int) -> list[ShardSnapshot]:
    network = network_of(config)
    params = network.initial_parameters(seeding.stream(config.seed, "parameters"))
    return split_snapshot(first_snapshot(params), ParamLayout(network.num_parameters, num_shards))


def _work(spec: QRoleSpec, shards: Sequence[_Metered], meter: CallMeter, seconds: float) -> Parts:
    spec = replace(
        spec,
        param_server=replace(spec.param_server, num_shards=len(shards)),
        place=replace(spec.place, role=bundle_name(0)),
    )
    parts = RoleParts(spec, shards, spec.compute_threads)
    replay = parts.replay()
    lanes = parts.lanes()
    try:
        actor = parts.actor(lanes, replay, _NoRows())
        learner = parts.learner(replay, UpdateStatistics(spec.place.role, 0))
        due = spec.num_lanes // spec.algorithm.steps_per_update
        while replay.num_transitions() < spec.replay.min_transitions:
            actor.step()
        for _ in range(2 * due):
            learner.step()
        plays: list[float] = []
        gradients: list[float] = []
        meter.begin()
        end = time.monotonic() + seconds
        while not plays or time.monotonic() < end:
            plays.append(_without_calls(meter, actor.step))
            gradients += [_without_calls(meter, learner.step) for _ in range(due)]
        return Parts(tuple(plays), tuple(gradients), meter.end())
    finally:
        lanes.close()


def _without_calls(meter: CallMeter, work: Callable[[], object]) -> float:
    start, in_calls = time.process_time(), meter.caller_seconds
    work()
    return time.process_time() - start - (meter.caller_seconds - in_calls)


class _NoRows(RowSink):
    def emit(self, row: Row) -> None:
        pass
