"""The synchronous server under random interleavings: messages late, repeated or lost, workers lost, generations ended.

Real shards and a real leader in this thread; between them and simulated workers a network that delivers messages in any
order. Whatever happens: every shard applies the same N gradients at each version, and none that was told to be late.
"""

from collections.abc import Callable

import numpy as np
import pytest

from pipeline.errors import BrokenQuorumError, CallTimeoutError
from pipeline.interfaces import Call, ClosedUpdate, Commit, Push
from pipeline.param_server.leader import QuorumLeader
from pipeline.param_server.quorum import Quorum
from pipeline.param_server.snapshot import ServerSnapshot, first_snapshot
from pipeline.param_server.synchronous import DirectSynchronousShard, SynchronousShard
from pipeline.types import Float32Array, Receipt
from tests.param_server.conftest import MakeServer
from tests.param_server.synchronous_server import SynchronousServer, assert_equals_unsharded, mean_in_order

SIZE, NUM_SHARDS, UPDATES_PER_GENERATION = 7, 3, 8
MAX_STEPS = 50_000
"""A generation that has not made its updates after so many events hangs."""


def gradient_of(sender: str, version: int) -> Float32Array:
    """Nobody else's at no other version."""
    seed = [version, *sender.encode()]
    return np.random.default_rng(seed).standard_normal(SIZE).astype(np.float32)


class Network:
    """Messages under way, delivered in random order; some come twice, some never."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.num_lost = self.num_repeated = self.num_overtaken = 0
        """Messages that never came, that will come again, and that were delivered before an older one."""
        self._rng = rng
        self._under_way: list[tuple[Callable[[], object], float]] = []

    def send(self, deliver: Callable[[], object], loss: float = 0.0) -> None:
        """Put a message under way that gets lost with this chance."""
        self._under_way.append((deliver, loss))

    def step(self) -> None:
        """Deliver one message, or lose it."""
        if not self._under_way:
            return
        index = int(self._rng.integers(len(self._under_way)))
        deliver, loss = self._under_way[index]
        self.num_overtaken += index > 0
        if self._rng.random() >= 0.1:
            del self._under_way[index]
        else:
            self.num_repeated += 1
        if self._rng.random() >= loss:
            deliver()
        else:
            self.num_lost += 1


class FarShard(DirectSynchronousShard):
    """A shard that its leader reaches over the network only. Writes down what it applies."""

    def __init__(self, shard: SynchronousShard, network: Network) -> None:
        super().__init__(shard)
        self.applied: list[ClosedUpdate] = []
        self._network = network

    def foretell(self, update: ClosedUpdate) -> None:
        """Nothing, as to any shard elsewhere."""

    def apply(self, update: ClosedUpdate) -> Call[int]:  # type: ignore[override]
        """Put the word under way."""
        answer = _Answer()

        def deliver() -> None:
            before = self._shard.version
            answer.version = self._shard.apply(update)
            if answer.version > before:
                self.applied.append(update)

        self._network.send(deliver, loss=0.3)
        return answer


class _Answer:
    version: int | None = None

    def result(self, timeout_seconds: float) -> int:
        if self.version is None:
            raise CallTimeoutError("under way")
        return self.version


class Worker:
    """Pushes to all shards, commits after all receipts, waits: what SynchronousClient does, cut into events."""

    def __init__(self, name: str, generation: "Generation") -> None:
        self.name = name
        self.is_lost = False
        self._generation = generation
        self._version = -1
        self._receipts: set[int] = set()

    def step(self) -> None:
        """Begin the next gradient, or wait and remind the leader."""
        generation = self._generation
        versions = set(generation.server.versions)
        if len(versions) > 1 or min(versions) <= self._version:
            generation.network.send(generation.leader.remind, loss=0.3)
            return
        (self._version,) = versions
        self._receipts = set()
        parts = generation.server.layout.cut(gradient_of(self.name, self._version))
        for index, part in enumerate(parts):
            self._push(index, Push(part, self.name, generation.number, self._version + 1, self._version))

    def _push(self, index: int, push: Push) -> None:
        generation = self._generation
        generation.pushes.append((index, push))

        def deliver() -> None:
            receipt = generation.server.shards[index].push(push)
            generation.network.send(lambda: self._receive(index, push.computed_at, receipt))

        # A push that is lost stops its worker, until it is started again.
        generation.network.send(deliver, loss=0.02)

    def _receive(self, index: int, version: int, receipt: Receipt) -> None:
        if self.is_lost or version != self._version or not receipt.admitted or index in self._receipts:
            return
        self._receipts.add(index)
        if len(self._receipts) == NUM_SHARDS:
            self._generation.send_commit(Commit(self.name, self._generation.number, version))


class Generation:
    """Shards, leader, and N + b workers around them."""

    def __init__(self, rng: np.random.Generator, start: ServerSnapshot, number: int, quorum: int, backup: int) -> None:
        self.number = number
        self.network = Network(rng)
        self.server = SynchronousServer(start, quorum, number, num_shards=NUM_SHARDS)
        self.shards = [FarShard(shard, self.network) for shard in self.server.shards]
        self.leader = QuorumLeader(Quorum(quorum, start.version, number), self.shards)
        self.pushes: list[tuple[int, Push]] = []
        self.answers: dict[Commit, str] = {}
        """The first answer to each commit."""
        self._rng = rng
        self._quorum = quorum
        self._start = start
        self._workers = [Worker(f"worker-{i}/{number}", self) for i in range(quorum + backup)]
        self.num_workers_lost = 0

    def run(self, num_updates: int) -> None:
        """Let things happen until all shards have applied so many updates."""
        for _ in range(MAX_STEPS):
            if min(self.server.versions) >= self._start.version + num_updates:
                return
            self._step()
        raise AssertionError(f"generation {self.number} hangs at {self.server.versions}")

    def send_commit(self, commit: Commit) -> None:
        """On its way to the leader."""
        self.network.send(lambda: self.answers.setdefault(commit, self.leader.commit(commit).reason))

    def cut(self) -> ServerSnapshot:
        """All shards at one version, while commits go on."""
        version = self.leader.hold()
        while min(self.server.versions) < version:
            self.leader.remind()
            self._step()
        for _ in range(50):
            self._step()
        snapshot = self.server.snapshot()
        self.leader.release()
        assert snapshot.versions == (version,) * NUM_SHARDS
        return snapshot

    def haunt(self, server: SynchronousServer, leader: QuorumLeader) -> None:
        """Say everything that was said in this generation to a newer one, which must not listen."""
        assert all(server.shards[index].push(push).reason == "old_generation" for index, push in self.pushes)
        assert all(leader.commit(commit).reason == "old_generation" for commit in self.answers)
        for update in self.shards[0].applied:
            with pytest.raises(BrokenQuorumError, match=f"it is of generation {self.number}"):
                server.shards[0].apply(update)

    def check(self, make_server: MakeServer) -> None:
        """What must hold at the end of any story."""
        applied = self.shards[0].applied
        assert all(shard.applied == applied for shard in self.shards)
        assert [update.version for update in applied] == list(range(self._start.version, self.server.versions[0]))
        assert all(len(set(update.senders)) == self._quorum for update in applied)
        told = {(commit.version, commit.sender): answer for commit, answer in self.answers.items()}
        counted = {at for at, answer in told.items() if answer == "" and at[0] < self.server.versions[0]}
        assert counted == {(update.version, sender) for update in applied for sender in update.senders}
        reference = make_server(self._start._replace(versions=self._start.versions[:1], target_versions=(0,)))
        client = reference.client()
        for update in applied:
            gradients = [gradient_of(sender, update.version) for sender in update.senders]
            client.push(mean_in_order(gradients), (update.version,))
        assert_equals_unsharded(self.server, reference)

    def _step(self) -> None:
        dice = self._rng.random()
        if dice < 0.3:
            self._workers[int(self._rng.integers(len(self._workers)))].step()
        elif dice < 0.31:
            index = int(self._rng.integers(len(self._workers)))
            self._workers[index].is_lost = True
            self.num_workers_lost += 1
            self._workers[index] = Worker(f"{self._workers[index].name}+", self)
        else:
            self.network.step()
        versions = self.server.versions
        assert max(versions) - min(versions) <= 1


@pytest.mark.parametrize("seed", range(10))
def test_whatever_happens_every_shard_applies_the_same_first_n_and_nothing_else(
    make_server: MakeServer, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    start = first_snapshot(np.linspace(-1, 1, SIZE, dtype=np.float32))
    generations: list[Generation] = []
    # N + b changes between generations.
    for number, (quorum, backup) in enumerate([(2, 1), (3, 2), (1, 0), (2, 0)], 1):
        generation = Generation(rng, start, number, quorum, backup)
        for older in generations:
            older.haunt(generation.server, generation.leader)
        generation.run(UPDATES_PER_GENERATION)
        cut = generation.cut()
        generation.run(cut.version - start.version + 2)
        generation.check(make_server)
        # Then a shard is lost, and with it all that came after the cut.
        generations.append(generation)
        start = cut
    networks = [generation.network for generation in generations]
    assert all(min(network.num_lost, network.num_repeated, network.num_overtaken) > 0 for network in networks)
    assert sum(generation.num_workers_lost for generation in generations) > 0
