"""Push and pull of a whole parameter vector between two processes of one machine, with shared memory and over TCP.

    caller's process                            shard's process
    ParamClient -> RemoteShard  == Dask ==>     HostedShard        push of one gradient, then pull of what it made:
                                                                   through memory of both (memory), through TCP (tcp)
    send, receive               == socket ==>   receive, send      as many bytes one way, as many back
    ParamClient -> DirectShard                                     the same calls without a border (direct)
    numpy.copyto                                                   one copy of as many bytes (copy)

The first two pay for the update of the shard too, which `direct` shows: AdaGrad's step and, in bfloat16, the rounding.
All take turns within one task on the caller's host. Times in milliseconds, medians.
The table in docs/performance.md: `benchmarks.gradient_wire.table`.
Not here: the wire's encoding alone (`benchmarks.optimizer_step`).
"""

import socket
import statistics
import threading
from functools import partial

import numpy as np

from benchmarks.optimizer_step import NUM_PARAMS, Copy, server_config
from measuring.processor import processor_here
from measuring.provenance import report
from measuring.rounds import alternate, median_ratio, ratio_quartiles, seconds
from pipeline.cluster.remotes.shards import HostedShard, RemoteShard, ShardAddress
from pipeline.cluster.session import Session, open_session
from pipeline.config.overrides import compose
from pipeline.interfaces import ShardHandle
from pipeline.networks.compute import set_compute_threads
from pipeline.optimizers.config import AdaGradConfig
from pipeline.param_server.client import ParamClient
from pipeline.param_server.config import WIRE_DTYPES, ParamServerConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.shard import DirectShard, ParameterShard
from pipeline.param_server.snapshot import ShardSnapshot
from pipeline.param_server.wire import encode
from pipeline.types import AnyGradient, Float32Array

OPTIMIZER = AdaGradConfig(
    kind="adagrad", learning_rate=1e-4, learning_rate_changes=(), epsilon=1e-6, initial_accumulator=0.0
)
BYTES_PER_VALUE = {"float32": 4, "bfloat16": 2}


def main(num_params: int = NUM_PARAMS, num_rounds: int = 300) -> None:
    """Start two host processes and print one JSON line for each wire dtype."""
    where = processor_here("float32")
    cluster = compose(["game=Pong", "cluster=processes"]).cluster
    with open_session(cluster, num_hosts=2, threads_per_host=1) as session:
        for wire_dtype in WIRE_DTYPES:
            measured = _measure(session, server_config(wire_dtype), num_params, num_rounds)
            medians = {f"{name}_ms": statistics.median(times) * 1e3 for name, times in measured.items()}
            memory, tcp = (
                [sum(both) for both in zip(measured[f"push_{way}"], measured[f"pull_{way}"], strict=True)]
                for way in ("memory", "tcp")
            )
            low, high = ratio_quartiles(memory, tcp)
            report(
                "server_wire",
                processor=where,
                wire_dtype=wire_dtype,
                num_params=num_params,
                num_rounds=num_rounds,
                **medians,
                push_pull_over_socket=median_ratio(tcp, measured["socket"]),
                memory_over_tcp=median_ratio(memory, tcp),
                memory_over_tcp_low=low,
                memory_over_tcp_high=high,
            )


def exchange(
    address: ShardAddress, socket_address: tuple[str, int], config: ParamServerConfig, num_params: int, num_rounds: int
) -> dict[str, list[float]]:
    """On the caller's host: seconds of each round's pushes and pulls, and of what stands beside them."""
    set_compute_threads(1)
    gradient = _values(num_params)
    memory = Caller(address.connect(), config, num_params, gradient)
    over_tcp = RemoteShard(address.name, address.actor, shares_memory=False)
    tcp = Caller(over_tcp, config, num_params, gradient, sender="tcp")
    shard = DirectShard(ParameterShard(_start(num_params), OPTIMIZER, config, generation=1))
    direct = Caller(shard, config, num_params, gradient)
    num_bytes = num_params * BYTES_PER_VALUE[config.wire_dtype]
    wire = encode(gradient, config.wire_dtype)
    copy = np.empty_like(wire)
    with socket.create_connection(socket_address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer = memoryview(bytearray(num_bytes))
        return alternate(
            {
                "push_memory": partial(seconds, memory.push),
                "pull_memory": partial(seconds, memory.pull),
                "push_tcp": partial(seconds, tcp.push),
                "pull_tcp": partial(seconds, tcp.pull),
                "socket": partial(seconds, partial(there_and_back, connection, buffer, buffer)),
                "push_direct": partial(seconds, direct.push),
                "pull_direct": partial(seconds, direct.pull),
                "copy": partial(seconds, partial(np.copyto, copy, wire)),
            },
            num_rounds,
            num_warmup_rounds=10,
            in_order=True,
        )


def answer_on_socket(num_there: int, num_back: int) -> tuple[str, int]:
    """On the shard's host: answer every `num_there` bytes with others, for one connection; returns where to connect."""
    server = socket.create_server(("127.0.0.1", 0))
    address: tuple[str, int] = server.getsockname()

    def answer() -> None:
        taken, given = memoryview(bytearray(num_there)), memoryview(bytearray(num_back))
        with server, server.accept()[0] as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while _receive(connection, taken):
                connection.sendall(given)

    threading.Thread(target=answer, name="bare-socket", daemon=True).start()
    return address


class Caller:
    """A client of one shard, with a gradient that it sends again and again."""

    def __init__(
        self,
        shard: ShardHandle,
        config: ParamServerConfig,
        num_params: int,
        gradient: AnyGradient,
        sender: str = "benchmark",
    ) -> None:
        self._client = ParamClient([shard], ParamLayout(num_params, 1), sender, 1, config)
        self._gradient = gradient
        self._copy = Copy(num_params)
        self._versions = self._client.pull(self._copy, ())

    def push(self) -> None:
        """Offer it; the shard has made its step when this returns."""
        (receipt,) = self._client.push(self._gradient, self._versions)
        assert receipt.admitted, receipt

    def pull(self) -> None:
        """Bring what the push made."""
        before, self._versions = self._versions, self._client.pull(self._copy, self._versions)
        assert self._versions > before, self._versions


def _measure(session: Session, config: ParamServerConfig, num_params: int, num_rounds: int) -> dict[str, list[float]]:
    caller_host, shard_host = session.hosts
    name = f"shard-{config.wire_dtype}"
    start = session.send(_start(num_params), shard_host)
    future = session.submit(HostedShard, name, start, OPTIMIZER, config, 1, host=shard_host, name=name, actor=True)
    num_bytes = num_params * BYTES_PER_VALUE[config.wire_dtype]
    socket_address = session.submit(answer_on_socket, num_bytes, num_bytes, host=shard_host, name="answer").result()
    address = ShardAddress(name, future.result())
    task = session.submit(
        exchange, address, socket_address, config, num_params, num_rounds, host=caller_host, name="exchange"
    )
    measured: dict[str, list[float]] = task.result()
    return measured


def _start(num_params: int) -> ShardSnapshot:
    params = _values(num_params)
    return ShardSnapshot(0, params, 0, params, {})


def _values(num_params: int) -> Float32Array:
    return np.random.default_rng(0).standard_normal(num_params).astype(np.float32)


def there_and_back(connection: socket.socket, there: memoryview, back: memoryview) -> None:
    """Send bytes to `answer_on_socket`, and wait until its answer is in `back`."""
    connection.sendall(there)
    _receive(connection, back)


def _receive(connection: socket.socket, buffer: memoryview) -> bool:
    """Fill `buffer`; False if the other end has closed."""
    received = 0
    while received < len(buffer):
        count = connection.recv_into(buffer[received:])
        if count == 0:
            return False
        received += count
    return True


if __name__ == "__main__":
    main()
