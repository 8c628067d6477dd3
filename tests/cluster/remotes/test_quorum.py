"""A synchronous parameter server on real hosts: the same updates as in one thread, and nobody in anybody's way."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np
import pytest

from pipeline.cluster.coordination.tasks import ServerAddresses
from pipeline.cluster.remotes.quorum import (
    HostedLeader,
    HostedSynchronousShard,
    LeaderAddress,
    RemoteLeader,
    RemoteSynchronousShard,
    SynchronousShardAddress,
)
from pipeline.cluster.session import Session, Task
from pipeline.errors import BrokenQuorumError, RemoteLostError
from pipeline.interfaces import Call, ClosedUpdate, Commit, CommitAnswer, Push, SynchronousShardHandle
from pipeline.optimizers.config import AdaGradConfig
from pipeline.param_server.layout import ParamLayout
from pipeline.param_server.leader import DirectLeader
from pipeline.param_server.shard import ParameterShard
from pipeline.param_server.snapshot import first_snapshot, split_snapshot
from pipeline.param_server.synchronous import DirectSynchronousShard
from pipeline.param_server.synchronous_client import SynchronousClient
from pipeline.types import AnyGradient, FactoredGradient, Float32Array
from tests.clusters import LIMIT_SECONDS, kill_host, wait_until
from tests.param_server.configs import server_config
from tests.param_server.conftest import Copy
from tests.param_server.synchronous_server import mean_in_order

ADAGRAD = AdaGradConfig(
    kind="adagrad", learning_rate=0.1, learning_rate_changes=(), epsilon=1e-6, initial_accumulator=0.0
)
GENERATION = 3
SIZE = 40_001  # enough that Dask sends it as buffers of its own
SERVER = server_config(num_shards=2, target_period_updates=None, timeout_seconds=LIMIT_SECONDS)
LAYOUT = ParamLayout(SIZE, SERVER.num_shards)
SENDERS = ("worker-0/1", "worker-1/1")
START = np.linspace(-1, 1, SIZE, dtype=np.float32)

_KEPT: list[Task] = []


@pytest.fixture(scope="module", autouse=True)
def forget_servers(threads_session: Session, processes_session: Session) -> Iterator[None]:
    """Dask frees an actor when its last future goes."""
    yield
    _KEPT.clear()


def gradient_of(sender: str, version: int) -> Float32Array:
    return np.random.default_rng([version, *sender.encode()]).standard_normal(SIZE, dtype=np.float32)


def factors_of(sender: str, version: int) -> FactoredGradient:
    """Whole numbers, whose sums are never rounded."""
    rng = np.random.default_rng([version, *sender.encode()])
    rest, delta, inputs = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((2,), (8, 201), (8, 199)))
    return FactoredGradient(rest, 1, delta, inputs)


def numbers_of(sender: str, version: int) -> Float32Array:
    rest, _, delta, inputs = factors_of(sender, version)
    return np.concatenate([rest[:1], (delta.T @ inputs).ravel(), rest[1:]])


def host_server(session: Session, quorum: int = 2) -> ServerAddresses:
    """Each of two shards on a host of its own, the leader beside the first."""
    run = uuid.uuid4().hex
    shards = []
    for index, (part, host) in enumerate(
        zip(split_snapshot(first_snapshot(START), LAYOUT), sorted(session.hosts), strict=True)
    ):
        name = f"shard-{index}-{run}"
        arguments = (name, part, ADAGRAD, SERVER, GENERATION)
        _KEPT.append(session.submit(HostedSynchronousShard, *arguments, host=host, name="shard", actor=True))
        shards.append(SynchronousShardAddress(name, _KEPT[-1].result(timeout=LIMIT_SECONDS)))
    name = f"leader-{run}"
    arguments_ = (name, quorum, 0, GENERATION, tuple(shards))
    _KEPT.append(session.submit(HostedLeader, *arguments_, host=min(session.hosts), name="leader", actor=True))
    return ServerAddresses(tuple(shards), (), LeaderAddress(name, _KEPT[-1].result(timeout=LIMIT_SECONDS)))


def remote_shards(server: ServerAddresses) -> list[RemoteSynchronousShard]:
    return [RemoteSynchronousShard(shard.name, shard.actor) for shard in server.shards]


def remote_leader(server: ServerAddresses) -> RemoteLeader:
    assert server.leader is not None
    return RemoteLeader(server.leader.name, server.leader.actor)


def answer(call: Call[int]) -> int:
    return call.result(LIMIT_SECONDS)


def by_hand(num_updates: int, gradient_of: Callable[[str, int], Float32Array] = gradient_of) -> Float32Array:
    """The same updates by one shard in this thread."""
    shard = ParameterShard(split_snapshot(first_snapshot(START), ParamLayout(SIZE, 1))[0], ADAGRAD, SERVER, 1)
    for version in range(num_updates):
        mean = mean_in_order([gradient_of(sender, version) for sender in SENDERS])
        assert shard.push(Push(mean, "worker-0", 1, version + 1, version)).admitted
    return shard.snapshot().params


def train(
    server: ServerAddresses,
    sender: str,
    num_updates: int,
    gradient_of: Callable[[str, int], AnyGradient] = gradient_of,
) -> list[str]:
    """A worker in a task of its own; what became of its gradients."""
    servers = server.connect()
    assert servers.leader is not None
    shards = cast(Sequence[SynchronousShardHandle], servers.shards)
    client = SynchronousClient(shards, servers.leader, LAYOUT, sender, GENERATION, SERVER)
    copy, reasons = Copy(client, SIZE), []
    for version in range(num_updates):
        assert client.ready(LIMIT_SECONDS)
        assert set(copy.pull().versions) == {version}
        reasons += [receipt.reason for receipt in client.push(gradient_of(sender, version), copy.versions)]
    assert client.ready(LIMIT_SECONDS)
    return reasons


@pytest.mark.parametrize(("sent", "numbers"), [(gradient_of, gradient_of), (factors_of, numbers_of)])
def test_two_workers_on_two_hosts_make_the_updates_of_one_thread_bit_for_bit(
    session: Session, sent: Callable[[str, int], AnyGradient], numbers: Callable[[str, int], Float32Array]
) -> None:
    server = host_server(session)
    tasks = [
        session.submit(train, server, sender, 4, sent, host=host, name="worker")
        for sender, host in zip(SENDERS, sorted(session.hosts), strict=True)
    ]
    assert [task.result(timeout=LIMIT_SECONDS) for task in tasks] == [[""] * 8] * 2
    snapshots = [shard.snapshot().result(LIMIT_SECONDS) for shard in remote_shards(server)]
    assert [snapshot.version for snapshot in snapshots] == [4, 4]
    np.testing.assert_array_equal(np.concatenate([snapshot.params for snapshot in snapshots]), by_hand(4, numbers))


def test_whoever_waits_keeps_nobody_from_the_shard(session: Session) -> None:
    server = host_server(session, quorum=1)
    shard, leader = remote_shards(server)[0], remote_leader(server)
    # Far more than the shard has threads, and twice for the same version.
    waits = [shard.wait_version(version, LIMIT_SECONDS) for version in (1, 1, 2, 2, *[1] * 20)]
    assert shard.pull(-1).result(LIMIT_SECONDS).version == 0
    for version in (0, 1):
        for index, part in enumerate(LAYOUT.cut(gradient_of("worker-0", version))):
            push = Push(part, "worker-0", GENERATION, version + 1, version)
            assert remote_shards(server)[index].push(push).result(LIMIT_SECONDS).admitted
        assert leader.commit(Commit("worker-0", GENERATION, version)).result(LIMIT_SECONDS).version == version + 1
    assert min(answer(wait) for wait in waits) >= 1
    assert answer(waits[2]) == answer(waits[3]) == 2


def test_a_wait_ends_with_its_time_and_the_next_one_is_none_the_worse(session: Session) -> None:
    shard = remote_shards(host_server(session))[0]
    assert answer(shard.wait_version(1, 0.01)) == 0
    assert answer(shard.wait_version(0, LIMIT_SECONDS)) == 0
    waiting = shard.wait_version(1, LIMIT_SECONDS)
    assert answer(shard.wait_version(1, 0.01)) == 0
    part = LAYOUT.cut(gradient_of("worker-0", 0))[0]
    shard.push(Push(part, "worker-0", GENERATION, 1, 0)).result(LIMIT_SECONDS)
    assert answer(shard.apply(ClosedUpdate(GENERATION, 0, ("worker-0",)))) == 1
    assert answer(waiting) == 1


def test_held_updates_are_closed_at_the_release(session: Session) -> None:
    server = host_server(session, quorum=1)
    leader = remote_leader(server)
    assert answer(leader.hold()) == 0
    for index, part in enumerate(LAYOUT.cut(gradient_of("worker-0", 0))):
        remote_shards(server)[index].push(Push(part, "worker-0", GENERATION, 1, 0)).result(LIMIT_SECONDS)
    assert leader.commit(Commit("worker-0", GENERATION, 0)).result(LIMIT_SECONDS) == CommitAnswer("", 0)
    assert answer(leader.remind()) == 0
    assert answer(leader.release()) == 1
    assert [answer(shard.wait_version(1, LIMIT_SECONDS)) for shard in remote_shards(server)] == [1, 1]


def test_what_a_shard_refuses_comes_back_in_its_own_words(session: Session) -> None:
    shard = remote_shards(host_server(session))[0]
    with pytest.raises(BrokenQuorumError, match="version 0 was told to apply the update of version 5"):
        answer(shard.apply(ClosedUpdate(GENERATION, 5, ("worker-0",))))


def test_the_leader_notices_what_a_shard_on_another_host_refused(processes_session: Session) -> None:
    server = host_server(processes_session, quorum=1)
    leader, shards = remote_leader(server), remote_shards(server)
    # A commit without a push to the second shard: what no client sends.
    part = LAYOUT.cut(gradient_of("worker-0", 0))[0]
    shards[0].push(Push(part, "worker-0", GENERATION, 1, 0)).result(LIMIT_SECONDS)
    assert leader.commit(Commit("worker-0", GENERATION, 0)).result(LIMIT_SECONDS).version == 1

    def noticed() -> bool:
        try:
            return answer(leader.remind()) > 1
        except BrokenQuorumError as error:
            assert "no gradient of worker-0 is kept here" in str(error)
            return True

    wait_until(noticed, "the refusal has reached the leader")


def test_things_of_the_same_process_are_called_directly_and_others_by_proxy(processes_session: Session) -> None:
    server = host_server(processes_session)
    hosts = sorted(processes_session.hosts)
    kinds = [
        processes_session.submit(_kinds, server, host=host, name="looker").result(timeout=LIMIT_SECONDS)
        for host in hosts
    ]
    direct, proxy = DirectSynchronousShard.__name__, RemoteSynchronousShard.__name__
    assert kinds == [
        [direct, proxy, DirectLeader.__name__],
        [proxy, direct, RemoteLeader.__name__],
    ]


def _kinds(server: ServerAddresses) -> list[str]:
    servers = server.connect()
    return [type(handle).__name__ for handle in (*servers.shards, servers.leader)]


@pytest.mark.slow
def test_whoever_waits_for_a_shard_whose_host_is_killed_is_told_so(mortal_session: Session) -> None:
    server = host_server(mortal_session)
    waiting = remote_shards(server)[1].wait_version(1, LIMIT_SECONDS)
    kill_host(mortal_session, max(mortal_session.hosts))
    with pytest.raises(RemoteLostError, match="wait_version of shard-1"):
        answer(waiting)
    del _KEPT[-3:]
