"""What a scheduler tells of itself and its hosts, asked with a deadline, and waiting for hosts to come.

    told = identity(client, seconds=10.0)
    told["workers"]["tcp://…:1"]["status"]      "running"

Not `Client.scheduler_info`, which waits without end, and may give the answer that the client has fetched for itself,
without hosts, in the place of this one: every host would seem to be lost. Not here: what hosts are (`cluster`).
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from distributed import Client

from dask_jobs.watched_time import WatchedTime

_LOOK_SECONDS = 0.1


class HostsMissingError(Exception):
    """In words: "2 of 3 hosts came within 60 s"."""


def identity(client: Client, seconds: float, num_hosts: int = -1) -> dict[str, Any]:
    """With so many hosts; -1: all. Raises OSError if there is no answer within `seconds`."""
    if client.scheduler is None:
        raise OSError("the scheduler is gone")
    ask = client.scheduler.identity
    return dict(client.sync(ask, n_workers=num_hosts, callback_timeout=seconds))


def takes_work(worker: Mapping[str, Any]) -> bool:
    """Whether Dask gives this host tasks: not one that it has paused for its memory, or that is about to leave."""
    return bool(worker["status"] == "running")


def wait_for_hosts(
    client: Client, num_hosts: int, limit_seconds: float, answer_seconds: float, say: Callable[[str], None]
) -> dict[str, Any]:
    """Until as many take work; what the scheduler tells then.

    `say` hears how many there are whenever another one has come, or left, and they are too few.
    Raises HostsMissingError if they do not come in time, OSError if the scheduler does not answer.
    """
    # Not `Client.wait_for_workers`, which looks at its deadline between two answers only. A look may wait for one.
    watched = WatchedTime(longest_seconds=min(answer_seconds, limit_seconds / 4))
    num_said = None
    while num_hosts > (num_there := _num_taking(told := identity(client, answer_seconds))):
        if num_there != num_said:
            num_said = num_there
            say(f"{num_there} of {num_hosts} hosts are there, waiting up to {limit_seconds:g} s for all")
        if watched.now() >= limit_seconds:
            raise HostsMissingError(f"{num_there} of {num_hosts} hosts came within {limit_seconds:g} s")
        time.sleep(_LOOK_SECONDS)
    return told


def _num_taking(told: Mapping[str, Any]) -> int:
    return sum(map(takes_work, told["workers"].values()))
