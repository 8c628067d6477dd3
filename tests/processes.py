"""Which processes live: one that has ended stays, as a zombie, until whoever inherits it takes its time to bury it."""

from collections.abc import Iterable

import psutil


def lives(process: psutil.Process | int) -> bool:
    """Whether it runs still, told by itself or by its number; a zombie does not."""
    try:
        if isinstance(process, int):
            process = psutil.Process(process)
        # A number may belong to somebody else by now.
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def living(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those of them that do."""
    return [process for process in processes if lives(process)]
