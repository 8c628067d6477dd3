"""What Dask logs on a host, without what the coordinator tells in words.

A role that loses a shard, or diverges, ends with an error of ours, and the run says what becomes of it. Dask logs the
same error with its whole traceback on the host, in the middle of the terminal where hosts are local. Errors that are
not ours keep theirs: a traceback is all that tells where they come from.
Not here: what the coordinator says (`pipeline.topologies.fleet`, `pipeline.experiments.training`).
"""

import logging
from collections.abc import Iterator

from dask_jobs.quiet import LEVELS
from pipeline.errors import PipelineError

_LOGGER = "distributed.worker"
_FAILED_TASK = "Compute Failed"


class _ToldFailures(logging.Filter):
    """Lets everything pass but tasks that failed with an error of ours."""

    def __init__(self) -> None:
        super().__init__()
        self._ours = tuple(f"{error.__name__}(" for error in _subclasses(PipelineError))

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it. Dask's record has the error's `repr` among its arguments."""
        if not str(record.msg).startswith(_FAILED_TASK) or not isinstance(record.args, tuple):
            return True
        return not any(isinstance(argument, str) and argument.startswith(self._ours) for argument in record.args)


def leave_out_told_failures() -> None:
    """From now on, in this process."""
    logger = logging.getLogger(_LOGGER)
    if not any(isinstance(known, _ToldFailures) for known in logger.filters):
        logger.addFilter(_ToldFailures())


def leave_dask_out() -> None:
    """From now on, in the process of a command. Failed tasks of hosts in this process stay."""
    for name, level in LEVELS.items():
        logging.getLogger(name).setLevel(level)
    logging.getLogger(_LOGGER).setLevel(logging.ERROR)


def _subclasses(error: type[PipelineError]) -> Iterator[type[PipelineError]]:
    yield error
    for subclass in error.__subclasses__():
        yield from _subclasses(subclass)
