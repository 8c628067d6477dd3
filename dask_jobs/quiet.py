"""What Dask logs in the process of a command, which tells itself what becomes of its hosts and connections.

Not here: what is logged on hosts.
"""

import logging
from collections.abc import Mapping

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
