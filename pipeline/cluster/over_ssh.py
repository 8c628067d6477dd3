"""Dask's processes over ssh that hang nobody: neither their start nor their close, and not what they print.

Not here: which machines, and with what (`pipeline.cluster.kinds.ssh`).
"""

import asyncio
import contextlib
from asyncio.subprocess import DEVNULL
from typing import Any, ClassVar

from distributed.deploy.ssh import Process, Scheduler, Worker

from pipeline.cluster.whole import WholeCluster

_LAST_WORD_SECONDS = 10.0
"""A scheduler that is told to end is waited for no longer, and killed."""


class _Limited(Process):
    """One whose start takes no longer than it may, and ends when it is closed meanwhile."""

    what: ClassVar[str]

    def __init__(self, *args: Any, start_seconds: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        self._machine = self.address
        self._start_seconds = start_seconds
        self._starting: asyncio.Timeout | None = None

    async def start(self) -> None:
        try:
            async with asyncio.timeout(self._start_seconds) as self._starting:
                await super().start()  # type: ignore[no-untyped-call]
                # What nobody reads fills a window of ssh, and then whoever prints stands still.
                assert self.proc is not None
                await self.proc.redirect(stdout=DEVNULL, stderr=DEVNULL)
        except BaseException as error:
            await self._kill()
            if self._starting is not None and self._starting.expired():
                limit = f"within {self._start_seconds:g} s"
                raise TimeoutError(f"the {self.what} on {self._machine} has not started {limit}") from error
            raise
        finally:
            self._starting = None

    async def close(self) -> None:
        if self._starting is not None:
            self._starting.reschedule(asyncio.get_running_loop().time())
        async with self.lock:  # which a start holds
            await self._kill()

    async def _kill(self) -> None:
        process, self.proc = self.proc, None
        with contextlib.suppress(OSError):  # the connection is gone, and the process with it
            if process is not None:
                process.kill()
        await super().close()  # type: ignore[no-untyped-call]


class SshHost(_Limited, Worker):
    """A host."""

    what = "host"


class SshScheduler(_Limited, Scheduler):
    """The scheduler of a cluster."""

    what = "scheduler"


class SshCluster(WholeCluster):
    """A scheduler and hosts over ssh. Closed, all are killed, be the scheduler alive, dead or standing still."""

    async def _end_processes(self) -> None:
        await super()._end_processes()
        if self.scheduler_comm is not None:
            with contextlib.suppress(OSError):
                async with asyncio.timeout(_LAST_WORD_SECONDS):
                    await self.scheduler_comm.terminate()
        if self.scheduler is not None:
            await self.scheduler.close()
        # It is not asked again.
        self.shutdown_scheduler = False
