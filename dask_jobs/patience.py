"""Has a scheduler leave out pauses of its own where it waits for its hosts: they stood still with it.

    cluster.sync(forgive_pauses, cluster.scheduler)

A laptop that slept, a virtual machine that was paused, Ctrl-Z: when all goes on, a scheduler with hosts in processes of
its own machine has not heard from any of them for longer than Dask allows, and would start all of them anew.
Hosts elsewhere, which go on meanwhile, need none of it: what they have sent is read first.
"""

from collections.abc import Callable
from typing import Any

from distributed import Scheduler
from distributed.metrics import time  # that of `last_seen`, which goes on while a machine sleeps
from tornado.ioloop import PeriodicCallback

_LOOK_SECONDS = 1.0
_PAUSE_SECONDS = 5.0
"""Longer than a look is late on a busy machine."""


class Patience:
    """Knows when its process stood still. Used on the scheduler's event loop."""

    def __init__(self, scheduler: Scheduler, clock: Callable[[], float] = time) -> None:
        self._scheduler = scheduler
        self._clock = clock
        self._looked_at = clock()

    def look(self) -> None:
        """Every second: after a pause, hosts were heard from as lately as before it."""
        now = self._clock()
        pause_seconds = now - self._looked_at - _LOOK_SECONDS
        self._looked_at = now
        if pause_seconds < _PAUSE_SECONDS:
            return
        for host in self._scheduler.workers.values():
            # Not later than now: of some of them the scheduler may have heard since.
            host.last_seen = min(host.last_seen + pause_seconds, now)


async def forgive_pauses(scheduler: Scheduler) -> None:
    """To be called once, on the scheduler's event loop."""
    check_hosts = scheduler.periodic_callbacks.get("worker-ttl")
    if check_hosts is None:
        return  # Dask's configuration has it wait for ever
    patience = Patience(scheduler)
    check: Callable[[], Any] = check_hosts.callback

    async def look_and_check() -> None:
        # First: what is due after a pause comes in any order.
        patience.look()
        await check()

    check_hosts.callback = look_and_check
    look = PeriodicCallback(patience.look, 1000 * _LOOK_SECONDS)
    scheduler.periodic_callbacks["patience"] = look
    look.start()
