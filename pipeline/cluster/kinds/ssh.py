"""A Dask cluster over ssh: one process per host on the machines that are named, and a scheduler on the first of them.

Nothing has to run there before; Python and this installation have to be there.
"""

from typing import Any

from distributed import SSHCluster
from distributed.deploy.spec import SpecCluster
from distributed.deploy.ssh import Worker

from pipeline.cluster.config import SshConfig
from pipeline.cluster.hosts import GPU


def start_ssh(config: SshConfig, threads_per_host: int) -> SpecCluster:
    """The cluster with its scheduler running; its hosts are started when it is entered.

    Raises what asyncssh and Dask raise when a machine cannot be reached or nothing can be started there.
    """
    connect: dict[str, Any] = {
        "username": config.user,
        "port": config.port,
        "client_keys": None if config.key_file is None else [config.key_file],
        "known_hosts": config.known_hosts_file,
    }
    # What is left out, asyncssh takes from ssh's own configuration; that None means "no check" is its convention.
    connect = {name: value for name, value in connect.items() if value is not None}
    if not config.check_host_keys:
        connect["known_hosts"] = None
    network = {} if config.interface is None else {"interface": config.interface}
    # A scheduler whose coordinator was killed has nobody to stop it: roles leave after their lease, then it goes.
    idle_seconds = config.start_timeout_seconds + config.lease_seconds
    # The scheduler alone first: a host that cannot be started would leave it behind, with nobody who knows of it.
    cluster: SpecCluster = SSHCluster(
        [config.hosts[0]],
        connect_options=connect,
        scheduler_options={
            "dashboard_address": config.dashboard_address,
            "idle_timeout": f"{idle_seconds:g}s",
            **network,
        },
        remote_python=config.python,
    )
    host: dict[str, Any] = {"nthreads": threads_per_host, "memory_limit": 0, **network}
    if config.gpus_per_host:
        host["resources"] = {GPU: config.gpus_per_host}
    cluster.worker_spec = {
        index: {
            "cls": Worker,
            "options": {
                "address": machine,
                "connect_options": connect,
                # Named like its entry here, so that it is known which one to start again when it is lost.
                "kwargs": {"name": index, **host},
                "remote_python": config.python,
            },
        }
        for index, machine in enumerate(config.machines)
    }
    return cluster
