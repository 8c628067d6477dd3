"""What Dask logs in the process of a command, which tells itself what becomes of its hosts and connections.

Not here: what else is logged on hosts in other processes.
"""

import contextlib
import logging
from collections.abc import Iterator, Mapping

LEVELS: Mapping[str, int] = {
    # Of a scheduler that is gone, tracebacks of Dask's own tasks.
    "distributed": logging.CRITICAL,
    "distributed.client": logging.CRITICAL,
    "asyncio": logging.CRITICAL,
    "tornado.application": logging.CRITICAL,
    # Of clients that have closed their connection, as all do behind a laptop that has slept, it logs what is critical.
    "distributed.scheduler": logging.CRITICAL + 1,
}
"""By logger, the least that it may say."""

_HOSTS = "distributed.worker"


class _NoBrokenConnections(logging.Filter):
    """Lets everything pass but the tracebacks of connections that broke."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it."""
        return record.exc_info is None or not isinstance(record.exc_info[1], OSError)


def leave_out_broken_connections() -> None:
    """Until `let_broken_connections_in`, of hosts in this process: their scheduler goes when the command closes it.

    Of a process that is one of our hosts, to its end: its scheduler goes before it when the command is killed.
    A heartbeat that is under way then ends with an error, though nothing has gone wrong.
    """
    logger = logging.getLogger(_HOSTS)
    if not any(isinstance(known, _NoBrokenConnections) for known in logger.filters):
        logger.addFilter(_NoBrokenConnections())


def let_broken_connections_in() -> None:
    """Workers of whoever comes after us in this process are logged whole again."""
    logger = logging.getLogger(_HOSTS)
    for known in [known for known in logger.filters if isinstance(known, _NoBrokenConnections)]:
        logger.removeFilter(known)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Hydra's logging would show everything that Dask has to tell of hosts that come and go."""
    loggers = [logging.getLogger(name) for name in LEVELS]
    before = [logger.level for logger in loggers]
    for logger, level in zip(loggers, LEVELS.values(), strict=True):
        logger.setLevel(level)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
