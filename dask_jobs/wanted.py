"""Whether anybody still waits for the Dask task that asks.

Dask forgets the tasks of a client that is gone, but does not end what already runs.
"""

from distributed import Worker, get_worker

_WANTED_STATES = ("executing", "long-running")


def own_key() -> str:
    """Of the task that calls this."""
    return str(get_worker().get_current_task())


def is_wanted(worker: Worker, key: str) -> bool:
    """False once nobody waits for the task with this key on this host."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state in _WANTED_STATES
