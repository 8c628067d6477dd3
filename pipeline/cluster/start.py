"""One Dask client for every kind of cluster: found by its address, or started by this process and closed after it.

    with open_client(config, num_hosts, threads_per_host) as (client, num_hosts): ...
    submission(config, ...)          what would be handed to a batch system, to be shown and not sent

Not here: how each kind is started (`pipeline.cluster.kinds`), reports of hosts and tasks on them
(`pipeline.cluster.session`).
"""

import contextlib
import importlib.util
import logging
import os
import time
from collections.abc import Callable, Iterator

from distributed import Client, get_worker
from distributed.deploy.cluster import Cluster

from dask_jobs.watched_time import WatchedTime
from pipeline.cluster.config import ClusterConfig
from pipeline.cluster.kinds import CLUSTER_KINDS
from pipeline.cluster.scheduler import ANSWER_SECONDS, asked_of
from pipeline.cluster.whole import CLOSE_SECONDS
from pipeline.errors import ConfigError, PipelineError, PlacementError, in_words
from pipeline.extras import how_to_install

_LOOK_SECONDS = 0.1
"""Between two looks which hosts have come."""
_LOGGER = logging.getLogger(__name__)

_CONNECTED_IN: set[int] = set()
"""This process, once it has had a client; in one that was forked, its parent too."""


@contextlib.contextmanager
def open_client(config: ClusterConfig, num_hosts: int, threads_per_host: int) -> Iterator[tuple[Client, int]]:
    """The client, and the number of hosts to wait for; a cluster that was started is closed at the end.

    `num_hosts` and `threads_per_host` are what the run wants. Raises ConfigError when a package is missing or a script
    has no `__main__` guard, PlacementError when the scheduler cannot be reached or the cluster not be started.
    """
    check_installed(config.kind)
    _CONNECTED_IN.add(os.getpid())
    with _started(config, num_hosts, threads_per_host) as cluster, contextlib.ExitStack() as stack:
        client = config.connect(cluster)
        stack.callback(_leave, "client", lambda: client.__exit__(None, None, None))
        client.__enter__()
        yield client, config.num_hosts_to_come(num_hosts)


def wait_for_hosts(
    client: Client,
    config: ClusterConfig,
    num_hosts: int,
    untold_seconds: float,
    say: Callable[[str], None],
    *,
    answer_seconds: float = ANSWER_SECONDS,
) -> None:
    """Until so many are there; `say` hears of those that are late, after so long.

    Raises PlacementError when they do not come within `config.start_timeout_seconds`, or no others will;
    UnreachableError when the scheduler stands still for `answer_seconds`, SchedulerLostError when it is gone.
    """
    limit_seconds = config.start_timeout_seconds
    # A look may wait for an answer. Of a pause of the whole process no more counts than of one.
    watched = WatchedTime(time.monotonic, longest_seconds=min(answer_seconds, limit_seconds / 4))
    ask_at, is_told = min(untold_seconds, limit_seconds), False
    while (num_there := _num_present(client, answer_seconds)) < num_hosts:
        seconds = watched.now()
        if seconds >= ask_at:
            if (why := config.why_hosts_stay_away(client.cluster)) is not None:
                raise PlacementError(f"{num_there} of {num_hosts} hosts came, and no others will: {why}")
            if seconds >= limit_seconds:
                raise PlacementError(
                    f"{num_there} of {num_hosts} hosts came within {limit_seconds:g} s; "
                    "start `dask worker` processes, or raise cluster.start_timeout_seconds"
                )
            if not is_told:
                say(f"hosts {num_there} of {num_hosts}; waiting up to {limit_seconds:g} s for the others")
            # A batch system that everybody asks has better things to do.
            ask_at, is_told = min(seconds + 3 * untold_seconds, limit_seconds), True
        time.sleep(_LOOK_SECONDS)


def _num_present(client: Client, answer_seconds: float) -> int:
    # Not `Client.wait_for_workers`, which looks at its deadline between two answers only.
    with asked_of(client) as scheduler:
        return len(client.sync(scheduler.ncores, workers=None, callback_timeout=answer_seconds))


def submission(config: ClusterConfig, num_hosts: int, threads_per_host: int) -> str | None:
    """The job script or the specification that would be handed to a batch system; None where there is none.

    Raises ConfigError when a package is missing.
    """
    check_installed(config.kind)
    return config.submission(num_hosts, threads_per_host)


def check_process() -> None:
    """Raise ConfigError where no run can be: inside a Dask task, whose cluster it would take for its own, or in a fork.

    A process that was forked from one that has begun a run has a copy of its locks and none of its threads.
    """
    if _CONNECTED_IN - {os.getpid()}:
        raise ConfigError(
            [
                "this process was forked from one in which a run had begun, and would wait for threads that only that "
                'one has: take multiprocessing.get_context("spawn"), or begin no run before the fork'
            ]
        )
    try:
        address = get_worker().address
    except ValueError:
        return
    raise ConfigError(
        [
            f"this is a task on the Dask host {address}, and a run is not: give the run this scheduler with "
            "cluster=address cluster.address=…, or submit many with -m hydra/launcher=dask"
        ]
    )


def check_installed(kind: str) -> None:
    """Raise ConfigError, naming what to install, where a cluster of this kind could not be started."""
    package = CLUSTER_KINDS[kind].needed_package
    if package is not None and importlib.util.find_spec(package) is None:
        raise ConfigError([f"cluster.kind={kind}: the package {package} is not installed here: {how_to_install(kind)}"])


@contextlib.contextmanager
def _started(config: ClusterConfig, num_hosts: int, threads_per_host: int) -> Iterator[Cluster | None]:
    with contextlib.ExitStack() as stack:
        try:
            cluster = config.start(num_hosts, threads_per_host)
            if cluster is not None:
                # Before it is entered: what an interrupted start has begun is to be ended, too.
                stack.callback(_leave, "cluster", lambda: cluster.close(timeout=CLOSE_SECONDS))
                cluster.__enter__()
        except PipelineError:
            raise
        except Exception as error:  # each package has errors of its own, and Dask's deployments raise bare Exceptions
            raise PlacementError(
                f"the {config.kind} cluster could not be started: {error or type(error).__name__}; "
                "docs/clusters/README.md leads to what has to be there"
            ) from error
        yield cluster


def _leave(what: str, close: Callable[[], object]) -> None:
    """A scheduler that is dead or stands still neither keeps who leaves it, nor hides with its own error why."""
    try:
        close()
    except OSError as error:
        _LOGGER.warning("the %s was not closed in order: %s", what, in_words(error))
