"""A global replay over TCP: bytes on the wire per transition, and how fast steps go in and minibatches come out.

    actor's process                           replay's process
    RemoteReplay.add     == Dask ==>          HostedReplay.add        one chunk of noise, answered by counts
    RemoteReplay.sample  == Dask ==>          HostedReplay.sample     one minibatch of 32, n = 1, four frames a stack
    send, receive        == socket =>         receive, send           as many bytes the same way, a byte back

All take turns within one task on the actor's host. Bytes are those of the loopback device, headers of TCP included and
whatever the scheduler says meanwhile; `frame_and_scalars` is what a transition is made of (an 84 x 84 frame, and 18
bytes of action, reward, continuation and marks).
Not here: how fast a replay samples by itself (`benchmarks.replay_sampling`), waiting (the rate limit is off).
"""

import socket
import statistics
import threading
from collections.abc import Callable
from functools import partial

import numpy as np
import psutil

from measuring.provenance import report
from measuring.rounds import alternate, median_ratio, seconds
from pipeline.cluster.remotes.replays import HostedReplay, ReplayAddress
from pipeline.cluster.session import Session, open_session
from pipeline.config.overrides import compose
from pipeline.experiments.specs import q_role_spec
from pipeline.interfaces import ReplayHandle, StepChunk
from pipeline.roles.replay_server import ReplayServerSpec
from pipeline.types import LaneStep

SCALAR_BYTES = 18
_TIMEOUT_SECONDS = 60.0


def main(num_rounds: int = 300, chunk_steps: int = 4, capacity: int = 50_000) -> None:
    """Start two host processes and print one JSON line."""
    config = compose(
        [
            "experiment=gorila_global",
            "game=Pong",
            "cluster=processes",
            f"replay.capacity={capacity}",
            "replay.min_transitions=64",
            "topology.traffic.slack_updates=null",
        ]
    )
    role = q_role_spec(config, generation=1)
    with open_session(config.cluster, num_hosts=2, threads_per_host=1) as session:
        measured, num_bytes = _measure(session, ReplayServerSpec(role, "replay-0", 1), chunk_steps, num_rounds)
    transitions = chunk_steps * role.num_lanes
    frame_bytes = int(np.prod(role.environment.frame_shape))
    medians = {name: statistics.median(times) for name, times in measured.items()}
    report(
        "replay_wire",
        chunk_transitions=transitions,
        batch_size=role.replay.batch_size,
        num_rounds=num_rounds,
        add_bytes_per_transition=num_bytes["add"] / transitions,
        add_bytes_over_frame_and_scalars=num_bytes["add"] / transitions / (frame_bytes + SCALAR_BYTES),
        sample_bytes_per_transition=num_bytes["sample"] / role.replay.batch_size,
        **{f"{name}_ms": value * 1e3 for name, value in medians.items()},
        add_transitions_per_second=transitions / medians["add"],
        sample_transitions_per_second=role.replay.batch_size / medians["sample"],
        add_over_socket=median_ratio(measured["add"], measured["add_socket"]),
        sample_over_socket=median_ratio(measured["sample"], measured["sample_socket"]),
    )


def exchange(
    address: ReplayAddress, socket_address: tuple[str, int], spec: ReplayServerSpec, chunk_steps: int, num_rounds: int
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """On the actor's host: seconds of each round's calls, and bytes of one call of each kind."""
    caller = _Caller(address.connect(), spec, chunk_steps)
    for _ in range(20):
        caller.add()
    num_bytes = {name: _loopback_bytes(call, 50) for name, call in (("add", caller.add), ("sample", caller.sample))}
    with socket.create_connection(socket_address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        add, sample = (bytearray(round(count)) for count in num_bytes.values())
        measured = alternate(
            {
                "add": partial(seconds, caller.add),
                "add_socket": partial(seconds, partial(_give, connection, add)),
                "sample": partial(seconds, caller.sample),
                "sample_socket": partial(seconds, partial(_take, connection, sample)),
            },
            num_rounds,
            num_warmup_rounds=10,
            in_order=True,
        )
    return measured, num_bytes


def answer_on_socket() -> tuple[str, int]:
    """On the replay's host: take or give as many bytes as asked for, on one connection; returns where to connect."""
    server = socket.create_server(("127.0.0.1", 0))
    address: tuple[str, int] = server.getsockname()

    def answer() -> None:
        with server, server.accept()[0] as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while header := connection.recv(9, socket.MSG_WAITALL):
                count = int.from_bytes(header[1:], "little")
                if header[:1] == b"<":
                    _receive(connection, bytearray(count))
                    connection.sendall(b".")
                else:
                    connection.sendall(bytes(count))

    threading.Thread(target=answer, name="bare-socket", daemon=True).start()
    return address


class _Caller:
    """An actor and a learner in one, with a chunk of noise that it sends again and again."""

    def __init__(self, replay: ReplayHandle, spec: ReplayServerSpec, chunk_steps: int) -> None:
        self._replay = replay
        self._chunk = StepChunk(0, 1, 0, _noise(chunk_steps, spec.role.num_lanes, spec.role.environment.frame_shape))

    def add(self) -> None:
        self._chunk = self._chunk._replace(sequence=self._chunk.sequence + 1)
        answer = self._replay.add(self._chunk).result(_TIMEOUT_SECONDS)
        assert answer.held_back == "", answer

    def sample(self) -> None:
        answer = self._replay.sample().result(_TIMEOUT_SECONDS)
        assert answer.batch is not None, answer


def _measure(
    session: Session, spec: ReplayServerSpec, chunk_steps: int, num_rounds: int
) -> tuple[dict[str, list[float]], dict[str, float]]:
    actor_host, replay_host = session.hosts
    future = session.submit(HostedReplay, "replay-wire", spec, host=replay_host, name="replay-wire", actor=True)
    socket_address = session.submit(answer_on_socket, host=replay_host, name="answer").result()
    address = ReplayAddress("replay-wire", future.result())
    task = session.submit(
        exchange, address, socket_address, spec, chunk_steps, num_rounds, host=actor_host, name="exchange"
    )
    result: tuple[dict[str, list[float]], dict[str, float]] = task.result()
    return result


def _noise(chunk_steps: int, num_lanes: int, frame_shape: tuple[int, ...]) -> LaneStep:
    rng = np.random.default_rng(0)
    shape = (chunk_steps, num_lanes)
    return LaneStep(
        frame_tm1=rng.integers(256, size=(*shape, *frame_shape), dtype=np.uint8),
        first_tm1=np.zeros(shape, np.bool_),
        valid=np.ones(shape, np.bool_),
        a_tm1=rng.integers(18, size=shape),
        r_t=np.zeros(shape, np.float32),
        continues_t=np.ones(shape, np.float32),
    )


def _loopback_bytes(call: Callable[[], None], count: int) -> float:
    before = psutil.net_io_counters(pernic=True)["lo"].bytes_sent
    for _ in range(count):
        call()
    return (psutil.net_io_counters(pernic=True)["lo"].bytes_sent - before) / count


def _give(connection: socket.socket, buffer: bytearray) -> None:
    connection.sendall(b"<" + len(buffer).to_bytes(8, "little"))
    connection.sendall(buffer)
    _receive(connection, bytearray(1))


def _take(connection: socket.socket, buffer: bytearray) -> None:
    connection.sendall(b">" + len(buffer).to_bytes(8, "little"))
    _receive(connection, buffer)


def _receive(connection: socket.socket, buffer: bytearray) -> None:
    view, received = memoryview(buffer), 0
    while received < len(view):
        received += connection.recv_into(view[received:])


if __name__ == "__main__":
    main()
