"""A gradient as all its numbers and as factors: push and pull between two processes over TCP, beside a bare socket.

    dense      product, ParamClient -> RemoteShard  == Dask ==>   HostedShard: step
    factors             ParamClient -> RemoteShard  == Dask ==>   HostedShard: product, step
    socket              send, receive               == socket =>  receive, send     as many bytes there, as many back

The product of the hidden layer's two factors is part of both: a learner makes it before a dense push, a shard behind
one of factors. All take turns within one task on the caller's host, one core each side; the pull that follows brings
all parameters and is the same for both. `gradient_mean` rows are what a synchronous shard does with N gradients, in one
process: their mean, of numbers or of factors. Times in milliseconds, medians.
The table in docs/performance.md: `benchmarks.gradient_wire.table`.
Not here: wires of other precision by themselves (`benchmarks.server_wire`), whole updates (`benchmarks.update_step`).
"""

import socket
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from benchmarks.optimizer_step import server_config
from benchmarks.server_wire import BYTES_PER_VALUE, OPTIMIZER, Caller, answer_on_socket, there_and_back
from measuring.processor import processor_here
from measuring.provenance import report
from measuring.rounds import alternate, median_ratio, ratio_quartiles, seconds
from pipeline.cluster.remotes.shards import HostedShard, RemoteShard, ShardAddress
from pipeline.cluster.session import Session, open_session
from pipeline.config.overrides import compose
from pipeline.networks.compute import set_compute_threads
from pipeline.param_server.config import DENSE, FACTORS, WIRE_DTYPES, WIRES
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.slices import Multiplier, sliced
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.types import AnyGradient, FactoredGradient, Float32Array

SYNCHRONOUS_BATCH_SIZE = 40
"""Steps of one gradient of `experiment=dba3c`."""


class Layer(NamedTuple):
    """The largest layer of a network, and what lies around its weights."""

    start: int
    num_units: int
    num_inputs: int
    num_behind: int

    @property
    def num_params(self) -> int:
        """P."""
        return self.start + self.num_units * self.num_inputs + self.num_behind


NATURE = Layer(start=77_984, num_units=512, num_inputs=3_136, num_behind=9_746)
"""With 18 actions."""


class Sent:
    """One gradient, in both forms."""

    def __init__(self, layer: Layer, batch_size: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        shapes = ((layer.start + layer.num_behind,), (batch_size, layer.num_units), (batch_size, layer.num_inputs))
        rest, delta, inputs = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
        self.factored = FactoredGradient(rest, layer.start, delta, inputs)
        self.dense: Float32Array = np.concatenate(
            [rest[: layer.start], np.zeros(layer.num_units * layer.num_inputs, np.float32), rest[layer.start :]]
        )
        self._delta, self._inputs = torch.from_numpy(delta), torch.from_numpy(inputs)
        end = layer.num_params - layer.num_behind
        self._product = torch.from_numpy(self.dense[layer.start : end].reshape(layer.num_units, layer.num_inputs))

    def multiply(self) -> None:
        """What a learner does for a dense gradient, and not for one in factors."""
        torch.mm(self._delta.t(), self._inputs, out=self._product)


def main(
    layer: Layer = NATURE,
    batch_sizes: Sequence[int] = (32, 128),
    counts: Sequence[int] = (2, 8, 32),
    num_rounds: int = 200,
) -> None:
    """Start two host processes; print a JSON line for each wire dtype and batch, then one for each N of a mean."""
    where = processor_here("float32")
    cluster = compose(["game=Pong", "cluster=processes"]).cluster
    with open_session(cluster, num_hosts=2, threads_per_host=1) as session:
        for wire_dtype in WIRE_DTYPES:
            for batch_size in batch_sizes:
                _report_wire(where, _measure(session, layer, batch_size, wire_dtype, num_rounds), layer, batch_size)
    set_compute_threads(1)
    for count in counts:
        times = mean_of(layer, count, num_rounds=max(num_rounds // 10, 1))
        report(
            "gradient_mean",
            processor=where,
            num_gradients=count,
            batch_size=SYNCHRONOUS_BATCH_SIZE,
            num_params=layer.num_params,
            **_medians(times),
            **_ratio(times["mean_factors"], times["mean_dense"]),
        )


class Measured(NamedTuple):
    """Of one wire dtype and batch."""

    wire_dtype: str
    num_bytes: Mapping[str, int]
    """Of a push, by wire."""
    times: Mapping[str, Sequence[float]]
    """Seconds of each round, by what it was."""


def exchange(
    addresses: Mapping[str, ShardAddress],
    sockets: Mapping[str, tuple[str, int]],
    layer: Layer,
    batch_size: int,
    wire_dtype: str,
    num_rounds: int,
) -> dict[str, list[float]]:
    """On the caller's host: seconds of each round's product, pushes, pulls and socket exchanges."""
    set_compute_threads(1)
    sent = Sent(layer, batch_size)
    gradients: Mapping[str, AnyGradient] = {DENSE: sent.dense, FACTORS: sent.factored}
    config = server_config(wire_dtype)
    callers = {wire: Caller(_over_tcp(addresses[wire]), config, layer.num_params, gradients[wire]) for wire in WIRES}
    there = {wire: memoryview(bytearray(bytes_of(gradients[wire], wire_dtype))) for wire in WIRES}
    back = memoryview(bytearray(layer.num_params * BYTES_PER_VALUE[wire_dtype]))
    with socket.create_connection(sockets[DENSE]) as dense, socket.create_connection(sockets[FACTORS]) as factors:
        for connection in (dense, factors):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return alternate(
            {
                "product": partial(seconds, sent.multiply),
                "push_dense": partial(seconds, callers[DENSE].push),
                "pull_dense": partial(seconds, callers[DENSE].pull),
                "socket_dense": partial(seconds, partial(there_and_back, dense, there[DENSE], back)),
                "push_factors": partial(seconds, callers[FACTORS].push),
                "pull_factors": partial(seconds, callers[FACTORS].pull),
                "socket_factors": partial(seconds, partial(there_and_back, factors, there[FACTORS], back)),
            },
            num_rounds,
            num_warmup_rounds=10,
            in_order=True,
        )


def mean_of(layer: Layer, count: int, num_rounds: int) -> dict[str, list[float]]:
    """Seconds of one worker's product, and of a shard's mean of so many gradients in both forms."""
    sent = [Sent(layer, SYNCHRONOUS_BATCH_SIZE, seed) for seed in range(count)]
    layout, multiplier = ParamLayout(layer.num_params, 1), Multiplier()
    dense, factors = (
        [sliced(gradient, layout, "float32")[0] for gradient in gradients]
        for gradients in ([one.dense for one in sent], [one.factored for one in sent])
    )
    return alternate(
        {
            "product": partial(seconds, sent[0].multiply),
            "mean_dense": partial(seconds, partial(multiplier.mean, dense)),
            "mean_factors": partial(seconds, partial(multiplier.mean, factors)),
        },
        num_rounds,
    )


def bytes_of(gradient: AnyGradient, wire_dtype: str) -> int:
    """Of a push to one shard, without what Dask and TCP add."""
    arrays = [gradient] if isinstance(gradient, np.ndarray) else [gradient.rest, gradient.delta, gradient.inputs]
    return sum(array.size for array in arrays) * BYTES_PER_VALUE[wire_dtype]


def _over_tcp(address: ShardAddress) -> RemoteShard:
    """As between machines, though these are processes of one."""
    return RemoteShard(address.name, address.actor, shares_memory=False)


def _measure(session: Session, layer: Layer, batch_size: int, wire_dtype: str, num_rounds: int) -> Measured:
    caller_host, shard_host = session.hosts
    sent = Sent(layer, batch_size)
    num_bytes = {DENSE: bytes_of(sent.dense, wire_dtype), FACTORS: bytes_of(sent.factored, wire_dtype)}
    back = layer.num_params * BYTES_PER_VALUE[wire_dtype]
    params = np.random.default_rng(1).standard_normal(layer.num_params).astype(np.float32)
    start = session.send(ShardSnapshot(0, params, 0, params, {}), shard_host)
    shards, addresses, sockets = [], {}, {}
    for wire in WIRES:
        name = f"shard-{wire}-{wire_dtype}-{batch_size}"
        arguments = (name, start, OPTIMIZER, server_config(wire_dtype), 1)
        shards.append(session.submit(HostedShard, *arguments, host=shard_host, name=name, actor=True))
        addresses[wire] = ShardAddress(name, shards[-1].result())
        answer = session.submit(answer_on_socket, num_bytes[wire], back, host=shard_host, name=f"answer-{name}")
        sockets[wire] = answer.result()
    task = session.submit(
        exchange, addresses, sockets, layer, batch_size, wire_dtype, num_rounds, host=caller_host, name="exchange"
    )
    return Measured(wire_dtype, num_bytes, task.result())


def _report_wire(where: str, measured: Measured, layer: Layer, batch_size: int) -> None:
    times = measured.times
    both = {
        DENSE: [sum(one) for one in zip(times["product"], times["push_dense"], times["pull_dense"], strict=True)],
        FACTORS: [sum(one) for one in zip(times["push_factors"], times["pull_factors"], strict=True)],
    }
    report(
        "gradient_wire",
        processor=where,
        wire_dtype=measured.wire_dtype,
        batch_size=batch_size,
        num_params=layer.num_params,
        num_rounds=len(times["product"]),
        **{f"{wire}_bytes": count for wire, count in measured.num_bytes.items()},
        **_medians(times),
        **{f"{wire}_over_socket": median_ratio(both[wire], times[f"socket_{wire}"]) for wire in WIRES},
        **_ratio(both[FACTORS], both[DENSE]),
    )


def _medians(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {f"{name}_ms": statistics.median(rounds) * 1e3 for name, rounds in times.items()}


def _ratio(factors: Sequence[float], dense: Sequence[float]) -> dict[str, float]:
    low, high = ratio_quartiles(factors, dense)
    return {
        "factors_over_dense": median_ratio(factors, dense),
        "factors_over_dense_low": low,
        "factors_over_dense_high": high,
    }


if __name__ == "__main__":
    main()
