"""A Dask cluster in pods, through the operator of dask-kubernetes, which must be installed in the Kubernetes cluster.

Pods that die are started again by the operator.
"""

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import yaml

from pipeline.cluster.config import AskedHost, ClusterConfig, cluster_kind, missing_memory, negative_gpus
from pipeline.cluster.groups import HostGroup, declared, num_in_groups
from pipeline.cluster.host_settings import HOST_ENVIRONMENT

if TYPE_CHECKING:
    from distributed.deploy.cluster import Cluster

Spec = dict[str, Any]

_SCHEDULER_ENVIRONMENT = {
    # The same two settings as `session` gives to a scheduler that inherits them.
    "DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT": "60s",
    "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "30s",
}


@cluster_kind("kubernetes")
@dataclass(frozen=True)
class KubernetesConfig(ClusterConfig):
    """Scheduler and hosts in pods of their own, made by the Dask operator."""

    # Pods are seldom reachable from where the command was typed; the scheduler is.
    reaches_hosts: ClassVar[bool] = False
    group_settings: ClassVar[tuple[str, ...] | None] = ("host_cores", "memory_bytes", "gpus_per_host")
    needed_package: ClassVar[str | None] = "dask_kubernetes"

    image: str | None
    """Container image with this installation in it."""
    namespace: str | None
    """Where the pods live; None: the one that kubectl uses."""
    host_cores: int | None
    """Cores of each host; None: its compute threads."""
    gpus_per_host: int
    """GPUs (nvidia.com/gpu) of each host."""

    def mistakes(self) -> list[str]:
        found = super().mistakes() + missing_memory(self) + negative_gpus(self.gpus_per_host)
        if self.image is None:
            found.append("image is missing: kind=kubernetes needs cluster.image=registry/name:tag")
        if self.host_cores is not None and self.host_cores < 1:
            found.append(f"host_cores={self.host_cores} must be at least 1, or null")
        return found

    @property
    def asked_host(self) -> AskedHost:
        return AskedHost(self.host_cores, self.gpus_per_host)

    def start(self, num_hosts: int, threads_per_host: int) -> "Cluster":
        """The cluster, its hosts asked for but not waited for. Raises what dask-kubernetes raises where it cannot."""
        import kr8s
        from dask_kubernetes.operator import KubeCluster

        # Fails where there are no credentials: a KubeCluster would too, and complain again when the program ends.
        kr8s.api(namespace=self.namespace)
        ungrouped = num_hosts - num_in_groups(self.groups)
        cluster = KubeCluster(
            custom_cluster_spec=_spec(self, f"pipeline-{uuid.uuid4().hex[:8]}", ungrouped, threads_per_host),
            namespace=self.namespace,
            resource_timeout=int(self.start_timeout_seconds),
            quiet=True,
        )
        for group in self.groups:
            hosts = _hosts(self, group.size, threads_per_host, group)
            cluster.add_worker_group(group.name, custom_spec=hosts)
        started: Cluster = cluster
        return started

    def submission(self, num_hosts: int, threads_per_host: int) -> str:
        """The specification of the whole cluster, as YAML; its name is chosen at the start."""
        name = "pipeline-NAME"
        ungrouped = num_hosts - num_in_groups(self.groups)
        documents = [_spec(self, name, ungrouped, threads_per_host)]
        for group in self.groups:
            hosts = _hosts(self, group.size, threads_per_host, group)
            documents.append(
                {
                    "apiVersion": "kubernetes.dask.org/v1",
                    "kind": "DaskWorkerGroup",
                    "metadata": {"name": f"{name}-{group.name}"},
                    "spec": {"cluster": name, "worker": hosts},
                }
            )
        return yaml.safe_dump_all(documents, sort_keys=False)


def _hosts(config: KubernetesConfig, num_hosts: int, threads_per_host: int, group: HostGroup | None) -> Spec:
    """The pods of a group, or of none."""
    from dask_kubernetes.operator import make_worker_spec

    own = config.of_group(group)
    command = ["dask", "worker", "--nthreads", str(threads_per_host), "--memory-limit", "0"]
    if resources := declared(own.gpus_per_host, group):
        command += ["--resources", resources]
    spec: Spec = make_worker_spec(
        image=config.image,
        n_workers=num_hosts,
        worker_command=command,
        env=_environment(HOST_ENVIRONMENT),
        resources=_resources(own, threads_per_host),
    )
    return spec


def _spec(config: KubernetesConfig, name: str, num_hosts: int, threads_per_host: int) -> Spec:
    from dask_kubernetes.operator import make_cluster_spec

    spec: Spec = make_cluster_spec(
        name=name,
        image=config.image,
        # Kubernetes deletes a cluster whose run was killed: roles leave after their lease, then the scheduler is idle.
        idle_timeout=int(config.idle_seconds),
    )
    # Each kind of pod has an environment and resources of its own, where the function would give both the same.
    spec["spec"]["worker"] = _hosts(config, num_hosts, threads_per_host, None)
    (scheduler,) = spec["spec"]["scheduler"]["spec"]["containers"]
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
