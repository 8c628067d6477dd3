"""What Dask logs, and warns of, in the process of a command, which tells itself what becomes of its hosts.

Not here: what else is logged on hosts in other processes.
"""

import contextlib
import logging
import warnings
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

_REMARKS = (
    "Creating scratch directories is taking a surprisingly long time",
    r"Port \d+ is already in use",
    r"\s*Could not launch service",
    "Couldn't detect a suitable IP address",
)
"""Beginnings, as patterns, of warnings about the machine and not about what we ask of Dask."""


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


@contextlib.contextmanager
def remarks_end_nothing() -> Iterator[None]:
    """A slow disk or a taken port is a line to read, also in a program that makes errors of warnings, as pytest can.

    Filters are the whole process': these are put first, and taken away again where the program still has them.
    """
    before = list(warnings.filters)
    for remark in _REMARKS:
        warnings.filterwarnings("default", remark)
    ours = [known for known in warnings.filters if known not in before]
    try:
        yield
    finally:
        for known in ours:
            with contextlib.suppress(ValueError):  # it has put back its own meanwhile
                list.remove(warnings.filters, known)  # type: ignore[arg-type]
