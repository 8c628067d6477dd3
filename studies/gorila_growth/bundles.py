"""Simulated bundles: what `pipeline.roles.bundle` and `pipeline.param_server.client` do towards shards.

    pull -> a step in every lane -> (pull -> gradient -> push -> receipts) for each gradient that is due -> pull -> ...

What goes to all shards in other processes leaves together; of the answers the last one counts. A slice passes the link
of its shard's host behind those of other bundles, while all slices together pass the bundle's: whichever takes longer
counts. Shards of the same process are called one after the other, each bundle beginning with another one.
Not simulated: pulls of the target network, one in some hundred gradients; losses that are outliers; `overlap`.
Not here: what shards do (`studies.gorila_growth.servers`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from pipeline.interfaces import Push
from pipeline.param_server.config import ParamServerConfig
from pipeline.topologies.kinds.bundled import bundle_name
from pipeline.types import Receipt
from studies.gorila_growth.costs import GorilaCosts
from studies.gorila_growth.servers import GENERATION, SimulatedHost, SimulatedShard
from studies.simulation.clock import Clock, Event

_NOTHING = np.empty(0, np.float32)
"""Gradients are sizes here."""
_UNKNOWN = -1


class Pace(NamedTuple):
    """How much a bundle does in a turn."""

    num_lanes: int
    """Agent steps of one play."""
    steps_per_update: int
    """Agent steps for which one gradient is due."""


class Totals:
    """What all bundles together have done."""

    def __init__(self) -> None:
        self.num_gradients = 0
        self.num_receipts = 0
        self.num_stale = 0
        """Gradients that at least one shard has dropped for their age."""
        self.sum_staleness = 0
        """Of all receipts."""
        self.max_staleness = 0
        self.waited_seconds = 0.0
        """In calls to shards."""

    def received(self, receipts: Sequence[Receipt], num_gradients: int) -> None:
        """What became of so many gradients, sent as one."""
        self.num_receipts += len(receipts)
        self.sum_staleness += sum(receipt.staleness for receipt in receipts)
        self.max_staleness = max(self.max_staleness, *(receipt.staleness for receipt in receipts))
        if not all(receipt.admitted for receipt in receipts):
            self.num_stale += num_gradients


class SimulatedBundle:
    """One bundle. It starts with `begin`, and never ends."""

    def __init__(
        self,
        clock: Clock,
        host: SimulatedHost,
        shards: Sequence[SimulatedShard],
        costs: GorilaCosts,
        server: ParamServerConfig,
        pace: Pace,
        index: int,
        totals: Totals,
        play_seconds: Callable[[], float],
        gradient_seconds: Callable[[], float],
        is_direct: Callable[[SimulatedShard], bool],
        bytes_per_second: float,
    ) -> None:
        """`is_direct`: whether a shard is in this bundle's process."""
        self._totals = totals
        self._clock, self._host, self._shards = clock, host, shards
        self._wire, self._server, self._pace = costs.wire, server, pace
        self._name = bundle_name(index)
        self._play_seconds, self._gradient_seconds = play_seconds, gradient_seconds
        self._bytes_per_second = bytes_per_second
        order = [(index + shard) % len(shards) for shard in range(len(shards))]
        self._near = [number for number in order if is_direct(shards[number])]
        self._far = [number for number in order if not is_direct(shards[number])]
        self._versions = [_UNKNOWN] * len(shards)
        self._num_plays = self._owed = self._num_gradients = self._num_pushes = 0
        self._gathered: list[int] | None = None
        """Versions of the first of the gradients that wait to be sent as one."""
        self._num_gathered = 0
        self._receipts: list[Receipt] = []
        self._num_unanswered = 0
        self._last_at = self._called_at = self._load_seconds = 0.0
        self._pulled_bytes = 0.0

    def begin(self) -> None:
        """Play one step in every lane, with parameters that are as new as the settings say."""
        pulls = self._num_plays % self._server.actor_pull_every_steps == 0
        self._num_plays += 1
        play = partial(self._host.cores.run, self._play_seconds(), self._played)
        self._pull(play) if pulls else play()

    def _played(self) -> None:
        self._owed += self._pace.num_lanes
        self._learn()

    def _learn(self) -> None:
        if self._owed < self._pace.steps_per_update:
            self.begin()
            return
        self._owed -= self._pace.steps_per_update
        compute = partial(self._host.cores.run, self._gradient_seconds(), self._computed)
        pulls = self._num_gradients % self._server.learner_pull_every_updates == 0
        self._pull(compute) if pulls else compute()

    def _computed(self) -> None:
        self._num_gradients += 1
        self._totals.num_gradients += 1
        if self._gathered is None:
            self._gathered = list(self._versions)
        self._num_gathered += 1
        if self._num_gathered < self._server.push_every_updates:
            self._learn()
            return
        computed_at, self._gathered, self._num_gathered = self._gathered, None, 0
        self._num_pushes += 1
        self._receipts = []
        pushes = [Push(_NOTHING, self._name, GENERATION, self._num_pushes, version) for version in computed_at]
        self._called(len(self._shards))
        seconds = sum(self._wire.push.caller.seconds(self._shards[number].num_params) for number in self._far)
        self._run(seconds, partial(self._send, pushes))

    def _send(self, pushes: Sequence[Push]) -> None:
        all_bytes = sum(self._wire.push_bytes.of(self._shards[number].num_params) for number in self._far)
        own_seconds = all_bytes / self._bytes_per_second
        for number in self._far:
            shard = self._shards[number]
            passed = shard.host.inward.pass_on(self._wire.push_bytes.of(shard.num_params))
            arrives_in = self._wire.latency_seconds + max(own_seconds, passed)
            self._clock.after(arrives_in, partial(shard.push_from_outside, pushes[number], self._far_receipt))
        self._push_near(0, pushes)

    def _push_near(self, position: int, pushes: Sequence[Push]) -> None:
        if position < len(self._near):
            number = self._near[position]
            answer = partial(self._near_receipt, position, pushes)
            self._shards[number].push_directly(pushes[number], self._host.cores, answer)

    def _near_receipt(self, position: int, pushes: Sequence[Push], receipt: Receipt) -> None:
        self._receipts.append(receipt)
        self._push_near(position + 1, pushes)
        self._answered(self._clock.now, self._received)

    def _far_receipt(self, receipt: Receipt) -> None:
        self._receipts.append(receipt)
        self._answered(self._clock.now + self._wire.latency_seconds, self._received)

    def _received(self) -> None:
        self._totals.waited_seconds += self._clock.now - self._called_at
        self._totals.received(self._receipts, self._server.push_every_updates)
        self._learn()

    def _pull(self, then: Event) -> None:
        self._called(len(self._shards))
        self._load_seconds = self._pulled_bytes = 0.0
        for number in self._far:
            answer = partial(self._far_slice, number, then)
            ask = partial(self._shards[number].read_from_outside, self._versions[number], answer)
            self._clock.after(self._wire.latency_seconds, ask)
        self._pull_near(0, then)

    def _pull_near(self, position: int, then: Event) -> None:
        if position < len(self._near):
            number = self._near[position]
            answer = partial(self._near_slice, position, then)
            self._shards[number].read_directly(self._versions[number], self._host.cores, answer)

    def _near_slice(self, position: int, then: Event, version: int) -> None:
        self._versions[self._near[position]] = version
        self._pull_near(position + 1, then)
        self._answered(self._clock.now, partial(self._pulled, then))

    def _far_slice(self, number: int, then: Event, version: int) -> None:
        shard, is_known = self._shards[number], self._versions[number] == version
        self._versions[number] = version
        num_bytes = 0.0 if is_known else self._wire.pull_bytes.of(shard.num_params)
        cost = self._wire.message if is_known else self._wire.pull
        self._load_seconds += cost.caller.seconds(shard.num_params)
        self._pulled_bytes += num_bytes
        # What came before passes the bundle's own link first.
        own = self._called_at + 2 * self._wire.latency_seconds + self._pulled_bytes / self._bytes_per_second
        arrives_at = self._clock.now + shard.host.outward.pass_on(num_bytes) + self._wire.latency_seconds
        self._answered(max(arrives_at, own), partial(self._pulled, then))

    def _pulled(self, then: Event) -> None:
        self._run(self._load_seconds, partial(self._loaded, then))

    def _loaded(self, then: Event) -> None:
        self._totals.waited_seconds += self._clock.now - self._called_at
        then()

    def _called(self, num_answers: int) -> None:
        self._called_at = self._last_at = self._clock.now
        self._num_unanswered = num_answers

    def _answered(self, arrives_at: float, then: Event) -> None:
        """One of the answers; behind the last of them `then` happens."""
        self._last_at = max(self._last_at, arrives_at)
        self._num_unanswered -= 1
        if self._num_unanswered == 0:
            self._clock.after(self._last_at - self._clock.now, then)

    def _run(self, seconds: float, then: Event) -> None:
        """Compute, if there is anything to compute."""
        if seconds > 0.0:
            self._host.cores.run(seconds, then)
        else:
            then()
