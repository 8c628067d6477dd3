"""The scheduler, as a client knows it: whatever Dask says of one that is gone becomes one of two errors.

    scheduler_of(client)    to ask something of it; its own OSErrors are the caller's to read
    asked_of(client)        the same, and these too are one of the two

A client that gives up its scheduler closes its connections first and forgets the scheduler last. What is asked in
between fails of a closed pool, of a closed client, or of None in the scheduler's place.
Not here: hosts (`pipeline.cluster.surveyor`); sweeps, which have no part of this package (`dask_jobs`).
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from distributed import Client
from distributed.client import ClosedClientError

from pipeline.errors import SchedulerLostError, UnreachableError

SCHEDULER_GONE = (
    "the scheduler does not answer any more: where it is there again, resume=true goes on from the newest checkpoint"
)
ANSWER_SECONDS = 60.0
"""How long a scheduler or a host that stands still is waited for."""
_GIVING_UP = ("closing", "closed")


@contextlib.contextmanager
def scheduler_of(client: Client) -> Iterator[Any]:
    """What the scheduler is asked by. Raises SchedulerLostError if the client has given it up, be it meanwhile."""
    if client.scheduler is None:
        raise SchedulerLostError(SCHEDULER_GONE)
    try:
        yield client.scheduler
    except (AttributeError, RuntimeError, ClosedClientError) as error:
        if client.scheduler is not None and client.status not in _GIVING_UP:
            raise
        raise SchedulerLostError(SCHEDULER_GONE) from error


@contextlib.contextmanager
def asked_of(client: Client) -> Iterator[Any]:
    """The same. Raises UnreachableError if there is no answer in time, SchedulerLostError if a connection breaks."""
    try:
        with scheduler_of(client) as scheduler:
            yield scheduler
    except TimeoutError as error:  # it stands still, and may go on
        raise UnreachableError(f"{SCHEDULER_GONE} ({error!r})") from error
    except OSError as error:
        raise SchedulerLostError(f"{SCHEDULER_GONE} ({error!r})") from error
