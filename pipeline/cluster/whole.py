"""A cluster of processes, as Dask's SpecCluster, that loses sight of none.

Not of one whose start was interrupted or refused, and not of one of several hosts. Each mends what Dask's own lacks.
Not here: how one process is started (`pipeline.cluster.over_ssh`, `pipeline.cluster.slurm_jobs`), when others are asked
for (`pipeline.cluster.session`).
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from typing import Any, cast

import dask
from dask.utils import parse_timedelta
from distributed.core import Status
from distributed.deploy.spec import SpecCluster

from pipeline.errors import in_words

RETRY_SECONDS = 15.0
"""Between two tries to start what could not be started: loops ask several times a second."""
CLOSE_SECONDS = 120.0
"""The close of a cluster is waited for no longer."""

_LOGGER = logging.getLogger(__name__)


class WholeCluster(SpecCluster):
    """Its size is that of its spec: scaled to anything but 0, it starts again what was lost or could not be started."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        except BaseException:  # Ctrl-C, too: nobody else knows of this cluster
            with contextlib.suppress(Exception):
                self.close(timeout=CLOSE_SECONDS)
            raise
        # Dask's own set forgets what nobody refers to, as a process whose start was interrupted.
        self._created = cast(Any, set(self._created))
        self._retry_at = 0.0

    def scale(self, n: int | None = None, *args: Any, **kwargs: Any) -> Any:
        """0: to nothing; else to what it was made of, whatever the number.

        Dask's own, asked for another number than it has entries, takes the entries of hosts that run for superfluous.
        """
        if n == 0:
            return super().scale(0)  # type: ignore[no-untyped-call]
        loop = self.loop
        assert loop is not None
        loop.add_callback(self._start_missing)
        return None

    async def _start_missing(self) -> None:
        # Dask keeps an entry for what could not be started, and so never tries again. None of these still starts: what
        # does has no entry yet.
        failed = [name for name, process in self.workers.items() if process.status is not Status.running]
        now = asyncio.get_running_loop().time()
        if failed and now >= self._retry_at:
            self._retry_at = now + RETRY_SECONDS
            for name in failed:
                await self.workers.pop(name).close()
        try:
            await self._correct_state()
        except Exception as error:  # whatever a batch system or a machine answers: it is tried again
            _LOGGER.warning("no other host could be started: %s", in_words(error))

    def _correct_state(self) -> Any:
        # Interrupted in the middle, it would not enter what it has started, and nobody could close that.
        return asyncio.shield(super()._correct_state())  # type: ignore[no-untyped-call]

    async def _close(self) -> None:
        if self.status not in (Status.closing, Status.closed):
            # Who interrupts the close as well does not interrupt this.
            await asyncio.shield(asyncio.ensure_future(self._end_processes()))
        await super()._close()  # type: ignore[no-untyped-call]

    async def _end_processes(self) -> None:
        """End all that were ever begun; those that start now, too."""
        await asyncio.gather(*(process.close() for process in list(self._created)), return_exceptions=True)

    def _update_worker_status(self, op: str, msg: Any) -> None:
        if op == "remove":
            self._look_after(str(self.scheduler_info["workers"][msg]["name"]))
        super()._update_worker_status(op, msg)  # type: ignore[no-untyped-call]

    def _look_after(self, host: str) -> None:
        """Forget a process of several hosts when it has none left. Of one host, Dask does so itself."""
        delay = parse_timedelta(dask.config.get("distributed.deploy.lost-worker-timeout"))
        for name in self.worker_spec:
            if host in self._hosts_of(name):
                asyncio.get_running_loop().call_later(delay, self._forget_if_lost, name, self.workers.get(name))

    def _forget_if_lost(self, name: Any, process: Any) -> None:
        if self.workers.get(name) is not process:
            return  # another one was started in its place, and waits in a queue
        hosts = set(self._hosts_of(name))
        is_there = any(str(host["name"]) in hosts for host in self.scheduler_info["workers"].values())
        if process is not None and not is_there:
            self._futures.add(asyncio.ensure_future(self.workers.pop(name).close()))

    def _hosts_of(self, name: Any) -> Iterator[str]:
        return (f"{name}{suffix}" for suffix in self.worker_spec.get(name, {}).get("group", ()))
