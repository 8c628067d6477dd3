"""Asks each host of a Dask cluster one thing, by itself: a host that stands still keeps nobody waiting for the others.

    questions = Questions(client, report_job_host, folder, longest_seconds=30.0)
    questions.ask(["tcp://…:1", "tcp://…:2"], 10.0)      {"tcp://…:1": …}; the other's answer comes with a later call

Not here: what follows from their answers (`cluster`).
"""

import asyncio
import concurrent.futures
from collections.abc import Callable, Collection
from typing import Any

from distributed import Client

from dask_jobs.watched_time import WatchedTime


class Questions:
    """Who was asked, and who has not answered. Used from one thread."""

    def __init__(self, client: Client, function: Callable[..., Any], *args: Any, longest_seconds: float) -> None:
        """`function` runs on the host; Dask fills in `dask_worker` if it takes one.

        `longest_seconds`: between two calls; more was a pause, in which no host could answer.
        """
        self._client = client
        self._function = function
        self._args = args
        self._watched = WatchedTime(longest_seconds=longest_seconds)
        self._since: dict[str, float] = {}
        """Address of each that has not answered -> when it was asked first."""
        self._pending: dict[str, concurrent.futures.Future[Any]] = {}
        self._told: set[str] = set()

    @property
    def num_open(self) -> int:
        """How many have been asked and have not answered."""
        return len(self._since)

    def ask(self, addresses: Collection[str], seconds: float) -> dict[str, Any]:
        """The answers of these that are there, or what a host raised; those of whom nothing is there are missing.

        Waits at most `seconds`, and for none that was asked in an earlier call. One that could not be reached is asked
        again in the next. Others than these are forgotten.
        """
        for address in self._since.keys() - set(addresses):
            self._forget(address)
        new = [address for address in addresses if address not in self._since]
        loop = self._client.loop.asyncio_loop  # type: ignore[union-attr]  # tornado's own, while the client is open
        for address in addresses:
            if address not in self._pending:
                self._since.setdefault(address, self._watched.now())
                self._pending[address] = asyncio.run_coroutine_threadsafe(self._ask_one(address), loop)
        concurrent.futures.wait([self._pending[address] for address in new], timeout=seconds)
        answers = {}
        for address, answer in [(address, future) for address, future in self._pending.items() if future.done()]:
            del self._pending[address]
            if not isinstance(found := answer.exception() or answer.result(), OSError):
                answers[address] = found
                self._forget(address)
        return answers

    def silent(self, seconds: float) -> list[str]:
        """Those that have not answered for so long, each once."""
        now = self._watched.now()
        silent = [address for address, since in self._since.items() if now - since > seconds]
        news = [address for address in silent if address not in self._told]
        self._told.update(news)
        return news

    def _forget(self, address: str) -> None:
        self._since.pop(address, None)
        self._told.discard(address)
        if (pending := self._pending.pop(address, None)) is not None:
            pending.cancel()

    async def _ask_one(self, address: str) -> Any:
        answers = await self._client._run(self._function, *self._args, workers=[address], on_error="return")
        return answers[address]
