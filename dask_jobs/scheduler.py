"""Reaching a Dask scheduler: one that runs already, or one that is started here with hosts of its own.

    with join("tls://10.0.0.1:8786", TlsFiles("ca.pem", "cert.pem", "key.pem"), 60.0) as client: ...
    with start_here(2, 1, processes=True, dashboard_address="127.0.0.1:0") as cluster, Client(cluster) as client: ...

SETTINGS are Dask's, to be used with `settled`, for hosts whose work has a budget of memory of its own and lasts;
SETTINGS_HERE beside them where `start_here` starts the hosts.
Not here: waiting for hosts, and what they are (`cluster`).
"""

import asyncio
import contextlib
import logging
import os
import ssl
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import dask
from distributed import Client, LocalCluster
from distributed.client import _get_global_client
from distributed.comm.addressing import get_address_host
from distributed.comm.core import connect
from distributed.core import send_recv
from distributed.security import Security
from distributed.utils import LoopRunner, format_dashboard_link

from dask_jobs import interrupts
from dask_jobs.certificates import TlsFiles
from dask_jobs.patience import forgive_pauses
from dask_jobs.quiet import leave_out_broken_connections, let_broken_connections_in, remarks_end_nothing

LOOPBACK = "127.0.0.1"

SETTINGS: Mapping[str, Any] = {
    # What such work holds cannot be spilled: pausing or killing its host at some share would only hang or stop it.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    # Dask's profiler stops all threads of a process a hundred times a second to look at their stacks. Of one task that
    # lasts it has little to tell, and it has cost a tenth of the steps of two roles in one process.
    "distributed.worker.profile.enabled": False,
    # A call to a host that was killed since the last one fails after this.
    "distributed.comm.timeouts.connect": "10s",
}


SETTINGS_HERE: Mapping[str, Any] = {
    # The nanny of a host that was killed starts another one. Dask closes it for good where that takes more than 15 s,
    # as it does on a busy machine.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
}
"""Beside those, while hosts are there that `start_here` has started."""


class UnansweredError(Exception):
    """No scheduler answers, in words: "no scheduler answers at … within … s …". What to do, the caller knows."""


def join(
    address: str,
    tls: TlsFiles | None,
    timeout_seconds: float,
    *,
    direct_to_workers: bool | None = None,
    set_as_default: bool = False,
) -> Client:
    """A client of the scheduler at this address. `tls`: None takes what Dask's own configuration says.

    Raises UnansweredError if none answers in time, as a scheduler does.
    """
    security, shown = None, "without certificates"
    if tls is not None:
        security, shown = _security(tls), f"to the certificate {tls.tls_cert_file}"
    unanswered = UnansweredError(f"no scheduler answers at {address} within {timeout_seconds:g} s {shown}")
    # Before there is a client: one waits without end for a listener that says nothing, and one that fails in its
    # constructor leaves a running loop behind, which the garbage collector or the end of the program stumbles over.
    try:
        LoopRunner().run_sync(_expect_scheduler, address, security or Security(), timeout_seconds)
    except Exception as error:  # what listens there may be anything, and say anything
        raise UnansweredError(f"{unanswered}{_why(error)}") from error
    try:
        # Without a timeout, which would be that of each later connection as well, to hosts that were killed meanwhile.
        return Client(address, security=security, direct_to_workers=direct_to_workers, set_as_default=set_as_default)
    except OSError as error:
        raise unanswered from error


class _OtherServerError(Exception):
    """One of Dask's servers answers, and is no scheduler."""


@contextlib.contextmanager
def settled(settings: Mapping[str, Any]) -> Iterator[None]:
    """Dask with these settings meanwhile; afterwards it, and the environment of this process, are as they were before.

    Dask's nanny writes what its hosts are to find into the environment of the process that starts them, and leaves it
    there, where it counts more than any setting: for the next cluster, and for every other child of this process.
    Of those who are here together, in threads of one program, the last one to leave puts all back: what the first one
    found would else be the second one's, and stay.
    """
    with _SETTLED.lock:
        if _SETTLED.num_inside == 0:
            _SETTLED.undo.callback(_forget_default_client, dask.config.get(_DEFAULT, None))
            _SETTLED.undo.callback(let_broken_connections_in)
            _SETTLED.undo.enter_context(remarks_end_nothing())
        _SETTLED.num_inside += 1
        _SETTLED.undo.enter_context(dask.config.set(settings))
        for name in dask.config.get("distributed.nanny.pre-spawn-environ"):
            _SETTLED.undo.callback(_put_back, name, os.environ.get(name))
    try:
        yield
    finally:
        with _SETTLED.lock:
            _SETTLED.num_inside -= 1
            if _SETTLED.num_inside == 0:
                _SETTLED.undo.close()


class _Settled:
    """Who is inside of `settled`, and how to put back what was before the first of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.num_inside = 0
        self.undo = contextlib.ExitStack()


_SETTLED = _Settled()
_DEFAULT = "scheduler"
"""Dask's own setting of who computes; a default client sets it."""
_OF_CLIENTS = "dask.distributed"
_FOR_GOOD = (ssl.SSLError, FileNotFoundError, PermissionError, _OtherServerError)
_STARTING = threading.Lock()
"""What is put back after a start must not be what another thread has set for its own."""


def _put_back(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _forget_default_client(before: object) -> None:
    # Of clients that overlap, the last one to close puts back what it found: the name of the other one.
    is_left = dask.config.get(_DEFAULT, None) == _OF_CLIENTS
    if before is None and is_left and not _get_global_client():
        dask.config.config.pop(_DEFAULT, None)


def start_here(
    num_hosts: int, threads_per_host: int, *, processes: bool, dashboard_address: str, gpus_per_host: int = 0
) -> LocalCluster:
    """A scheduler in this process, and hosts in processes of their own, or else in this one. To be closed.

    Signals end no host: who has started them closes them.
    """
    # A host in this process is silent only when all of it is.
    patience = {} if processes else {"distributed.scheduler.worker-ttl": None}
    if not processes:
        leave_out_broken_connections()
    with _STARTING, dask.config.set(patience):
        cluster = LocalCluster(
            n_workers=num_hosts,
            threads_per_worker=threads_per_host,
            processes=processes,
            host=LOOPBACK if processes else None,
            memory_limit=0,
            resources={"GPU": gpus_per_host} if gpus_per_host else None,
            dashboard_address=dashboard_address,
            # A host has an HTTP server too; that of an in-process one would listen on all interfaces. In a process of
            # its own its pages would cost bokeh's imports, and show what the scheduler's show of all.
            worker_dashboard_address=None if processes else f"{LOOPBACK}:0",
            preload=[interrupts.__name__] if processes else None,
            silence_logs=logging.ERROR,
        )
    if processes:
        cluster.sync(forgive_pauses, cluster.scheduler)
    return cluster


def dashboard_link(client: Client, identity: Mapping[str, Any], host: str | None = None) -> str | None:
    """Where the scheduler's dashboard answers, in the form that Dask's configuration gives it; None: it has none.

    `identity`: what the scheduler has told of itself (`Client.dashboard_link` asks for that, and waits without end).
    `host`: where the dashboard is, if not where the scheduler is reached. A form that cannot be filled in is left out:
    it may name a variable that only some environments have, and a link is nothing that work may end of.
    """
    if (port := identity["services"].get("dashboard")) is None:
        return None
    if host is None:
        scheduler: Any = client.scheduler
        host = get_address_host(scheduler.address)
        # That of a port of this machine, which a cluster on Kubernetes forwards.
        port = getattr(client.cluster, "forwarded_dashboard_port", None) or port
    host = f"[{host}]" if ":" in host else host
    try:
        return str(format_dashboard_link(host, port))
    except Exception:  # the form is anything that people write, and so is what is wrong with it
        scheme = "https" if dask.config.get("distributed.scheduler.dashboard.tls.cert") else "http"
        return f"{scheme}://{host}:{port}/status"


def _why(error: BaseException | None) -> str:
    """What waiting does not mend: certificates that do not fit, or a worker's address. "" of all else."""
    while error is not None and not isinstance(error, _FOR_GOOD):
        error = error.__cause__
    if error is None:
        return ""
    name = "" if isinstance(error, _OtherServerError) else f"{type(error).__name__}: "
    return f": {name}{' '.join(str(error).split())}"


def _security(tls: TlsFiles) -> Security:
    return Security(
        tls_ca_file=tls.tls_ca_file,
        tls_client_cert=tls.tls_cert_file,
        tls_client_key=tls.tls_key_file,
        require_encryption=True,
    )


async def _expect_scheduler(address: str, security: Security, timeout_seconds: float) -> None:
    """Raises whatever goes wrong, in time."""
    async with asyncio.timeout(timeout_seconds):
        # Less than all of it: its own error says why.
        args = security.get_connection_args("client")
        comm = await connect(address, timeout=0.9 * timeout_seconds, **args)
        try:
            identity = await send_recv(comm, op="identity", n_workers=0)
        except TypeError as error:
            raise _OtherServerError("a worker answers there, which has no workers of its own") from error
        finally:
            comm.abort()
    if identity["type"] != "Scheduler":
        raise _OtherServerError(f"a {identity['type']} answers there")
