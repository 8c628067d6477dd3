"""Simulated workers: what `pipeline.roles.worker` and `pipeline.param_server.synchronous_client` do towards servers.

    wait for a version -> pull all slices -> rollouts and gradient -> a straggler sleeps -> push -> S receipts -> commit
      ^                                                                                                           |
      +-----------------------------------------------------------------------------------------------------------+

Whoever waits asks all servers again after `ask_again_seconds`, and reminds the leader: messages that grow with the
number of workers. A reminder that has the leader say an "apply" again is not simulated.
What goes to all servers leaves together; of the answers the last one counts. A slice passes the link of its server
behind those of other workers, while all slices together pass the worker's: whichever takes longer counts.
Not here: what the servers do with it (`studies.simulation.servers`).
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from pipeline.interfaces import Commit, Push
from pipeline.topologies.kinds.workers import worker_name
from studies.simulation.clock import Clock, Cores, Event
from studies.simulation.costs import Costs
from studies.simulation.servers import GENERATION, Leader, Server

_NOTHING = np.empty(0, np.float32)
"""Gradients are sizes here."""
_UNKNOWN = -1


class SimulatedWorker:
    """One worker. It begins with `wait`, and never ends."""

    def __init__(
        self,
        clock: Clock,
        cores: Cores,
        costs: Costs,
        servers: Sequence[Server],
        leader: Leader,
        index: int,
        step_seconds: Callable[[], float],
        delay_seconds: Callable[[], float],
        ask_again_seconds: float,
    ) -> None:
        self.num_gradients = 0
        """That it has sent."""
        self.waited_seconds = 0.0
        """From asking for a version to knowing that it is there."""
        self._clock = clock
        self._cores = cores
        self._costs = costs
        self._servers = servers
        self._leader = leader
        self._name = worker_name(index)
        self._step_seconds = step_seconds
        self._delay_seconds = delay_seconds
        self._ask_again_seconds = ask_again_seconds
        self._versions = [_UNKNOWN] * len(servers)
        self._awaited = 0
        self._num_waits = 0
        """Ended ones."""
        self._num_unanswered = 0
        self._load_seconds = 0.0
        self._pulled_bytes = 0
        self._first_read_at: float | None = None
        self._push: Push | None = None

    def wait(self) -> None:
        """Ask all servers for the version that is needed next."""
        asked_at = self._clock.now
        seconds = len(self._servers) * self._costs.message.caller.fixed
        self._cores.run(seconds, partial(self._travel, partial(self._ask, asked_at)))

    def _ask(self, asked_at: float) -> None:
        answer = self._last_of_all(partial(self._travel, partial(self._waited, asked_at)))
        for server in self._servers:
            server.answer_at(self._awaited, answer)
        self._clock.after(self._ask_again_seconds, partial(self._ask_again, self._num_waits))

    def _ask_again(self, num_waits: int) -> None:
        if num_waits != self._num_waits:
            return
        for server in self._servers:
            server.take(self._costs.message.server.fixed, lambda: None)
        self._leader.remind()
        self._clock.after(self._ask_again_seconds, partial(self._ask_again, num_waits))

    def _waited(self, asked_at: float) -> None:
        self._num_waits += 1
        self.waited_seconds += self._clock.now - asked_at
        self._travel(self._pull)

    def _pull(self) -> None:
        answer = self._last_of_all(self._pulled)
        self._load_seconds = 0.0
        self._pulled_bytes, self._first_read_at = 0, None
        for index, server in enumerate(self._servers):
            is_known = server.version == self._versions[index]
            cost = self._costs.message if is_known else self._costs.pull
            server.take(cost.server.seconds(server.num_params), partial(self._read, index, answer))

    def _read(self, index: int, answer: Event) -> None:
        server = self._servers[index]
        is_known = server.version == self._versions[index]
        cost = self._costs.message if is_known else self._costs.pull
        self._load_seconds += cost.caller.seconds(server.num_params)
        self._versions[index] = server.version
        num_bytes = 0 if is_known else server.slice_bytes
        self._pulled_bytes += num_bytes
        if self._first_read_at is None:
            self._first_read_at = self._clock.now
        self._clock.after(server.outward.pass_on(num_bytes), partial(self._travel, answer))

    def _pulled(self) -> None:
        assert self._first_read_at is not None
        wire = self._costs.wire
        arrived_at = self._first_read_at + wire.latency_seconds + self._pulled_bytes / wire.bytes_per_second
        self._clock.after(max(0.0, arrived_at - self._clock.now), self._loaded)

    def _loaded(self) -> None:
        if min(self._versions) < max(self._versions):
            # An update came between the answers: all slices of the newer version, then.
            self._awaited = max(self._versions)
            self._cores.run(self._load_seconds, self.wait)
        else:
            self._cores.run(self._load_seconds + self._step_seconds(), self._computed)

    def _computed(self) -> None:
        delay = self._delay_seconds()
        if delay > 0.0:
            self._clock.after(delay, self._send)
        else:
            self._send()

    def _send(self) -> None:
        self.num_gradients += 1
        self._push = Push(_NOTHING, self._name, GENERATION, self.num_gradients, self._versions[0])
        seconds = sum(self._costs.push.caller.seconds(server.num_params) for server in self._servers)
        self._cores.run(seconds, partial(self._travel, self._arrive))

    def _arrive(self) -> None:
        answer = self._last_of_all(partial(self._travel, self._received))
        own_seconds = sum(server.slice_bytes for server in self._servers) / self._costs.wire.bytes_per_second
        for server in self._servers:
            seconds = max(own_seconds, server.inward.pass_on(server.slice_bytes))
            self._clock.after(seconds, partial(self._arrived, server, answer))

    def _arrived(self, server: Server, answer: Event) -> None:
        server.take(self._costs.push.server.seconds(server.num_params), partial(self._kept, server, answer))

    def _kept(self, server: Server, answer: Event) -> None:
        assert self._push is not None
        server.keep(self._push)
        answer()

    def _received(self) -> None:
        version = self._versions[0]
        self._awaited = version + 1
        # One that no server has kept is committed, too: the leader says that it is late.
        commit = Commit(self._name, GENERATION, version)
        answered = partial(self._travel, self.wait)
        offer = partial(self._leader.commit, commit, answered)
        self._cores.run(self._costs.message.caller.fixed, partial(self._travel, offer))

    def _travel(self, then: Event) -> None:
        self._clock.after(self._costs.wire.latency_seconds, then)

    def _last_of_all(self, then: Event) -> Event:
        """What each server is given to answer with: the last answer makes `then` happen."""
        self._num_unanswered = len(self._servers)
        return partial(self._answered, then)

    def _answered(self, then: Event) -> None:
        self._num_unanswered -= 1
        if self._num_unanswered == 0:
            then()
