"""A Dask cluster in pods, through the operator of dask-kubernetes, which must be installed in the Kubernetes cluster.

Pods that die are started again by the operator.
"""

import uuid
from typing import Any

import kr8s
import yaml
from dask_kubernetes.operator import KubeCluster, make_cluster_spec
from distributed.deploy.cluster import Cluster

from pipeline.cluster.config import KubernetesConfig
from pipeline.cluster.hosts import GPU, HOST_ENVIRONMENT

Spec = dict[str, Any]

_SCHEDULER_ENVIRONMENT = {
    # The same two settings as `session` gives to a scheduler that inherits them.
    "DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT": "60s",
    "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "30s",
}


def start_kubernetes(config: KubernetesConfig, num_hosts: int, threads_per_host: int) -> Cluster:
    """The cluster, its hosts asked for but not waited for. Raises what dask-kubernetes raises where it cannot."""
    # Fails where there are no credentials: a KubeCluster would too, and complain again when the program ends.
    kr8s.api(namespace=config.namespace)
    cluster: Cluster = KubeCluster(
        custom_cluster_spec=_spec(config, f"pipeline-{uuid.uuid4().hex[:8]}", num_hosts, threads_per_host),
        namespace=config.namespace,
        resource_timeout=int(config.start_timeout_seconds),
        quiet=True,
    )
    return cluster


def cluster_spec(config: KubernetesConfig, num_hosts: int, threads_per_host: int) -> str:
    """What would be handed to Kubernetes, as YAML; the name is chosen when it is."""
    return yaml.safe_dump(_spec(config, "pipeline-NAME", num_hosts, threads_per_host), sort_keys=False)


def _spec(config: KubernetesConfig, name: str, num_hosts: int, threads_per_host: int) -> Spec:
    command = ["dask", "worker", "--nthreads", str(threads_per_host), "--memory-limit", "0"]
    if config.gpus_per_host:
        command += ["--resources", f"{GPU}={config.gpus_per_host}"]
    spec: Spec = make_cluster_spec(
        name=name,
        image=config.image,
        n_workers=num_hosts,
        worker_command=command,
        # Kubernetes deletes a cluster whose run was killed: roles leave after their lease, then the scheduler is idle.
        idle_timeout=int(config.start_timeout_seconds + config.lease_seconds),
    )
    # Each kind of pod has an environment and resources of its own, where the function would give both the same.
    (host,) = spec["spec"]["worker"]["spec"]["containers"]
    (scheduler,) = spec["spec"]["scheduler"]["spec"]["containers"]
    host["env"] = _environment(HOST_ENVIRONMENT)
    host["resources"] = _resources(config, threads_per_host)
    scheduler["env"] = _environment(_SCHEDULER_ENVIRONMENT)
    scheduler["resources"] = {}
    return spec


def _resources(config: KubernetesConfig, threads_per_host: int) -> Spec:
    """Asked for and not to be exceeded: a pod that got more than it asked for is the first to be evicted."""
    amounts = {"cpu": str(config.host_cores or threads_per_host), "memory": str(config.memory_bytes)}
    if config.gpus_per_host:
        amounts["nvidia.com/gpu"] = str(config.gpus_per_host)
    return {"requests": amounts, "limits": dict(amounts)}


def _environment(variables: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in variables.items()]
