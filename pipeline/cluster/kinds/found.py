"""Hosts of the scheduler that Dask's own configuration names, as hosted notebooks set it for their users."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pipeline.cluster.config import ClusterConfig, cluster_kind
from pipeline.errors import PlacementError

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy.cluster import Cluster


@cluster_kind("found")
@dataclass(frozen=True)
class FoundConfig(ClusterConfig):
    """The address is that of DASK_SCHEDULER_ADDRESS; there are no settings but those of all kinds."""

    can_tell_hosts_before_start: ClassVar[bool] = False
    is_shared: ClassVar[bool] = True

    def num_hosts_to_come(self, num_wanted: int) -> int:
        return self.num_hosts or 1

    def start(self, num_hosts: int, threads_per_host: int) -> None:
        return None

    def connect(self, cluster: "Cluster | None") -> "Client":
        import dask
        from distributed import Client

        address = dask.config.get("scheduler-address", None)
        if address is None:
            raise PlacementError("no scheduler is named: set DASK_SCHEDULER_ADDRESS, or use cluster=address")
        try:
            return Client(address, timeout=self.start_timeout_seconds, direct_to_workers=True)
        except OSError as error:
            raise PlacementError(f"no scheduler answers at {address} (DASK_SCHEDULER_ADDRESS)") from error
