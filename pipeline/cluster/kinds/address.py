"""Hosts of a scheduler that somebody has started: a run joins them, beside others, and leaves them running."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dask_jobs.addresses import address_mistakes
from dask_jobs.certificates import TlsFiles, tls_mistakes
from pipeline.cluster.config import ClusterConfig, cluster_kind, common_settings
from pipeline.cluster.groups import num_in_groups
from pipeline.cluster.tls import TlsConfig
from pipeline.errors import PlacementError

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy.cluster import Cluster

ADDRESS = "address"


@cluster_kind(ADDRESS)
@dataclass(frozen=True)
class AddressConfig(TlsConfig):
    """Where the scheduler is, and what it has to be shown."""

    can_tell_hosts_before_start: ClassVar[bool] = False
    is_shared: ClassVar[bool] = True
    serves_sweeps: ClassVar[bool] = True
    group_settings: ClassVar[tuple[str, ...] | None] = ()

    address: str | None
    """The scheduler's: tcp://host:port, or tls://host:port."""

    def mistakes(self) -> list[str]:
        found = super().mistakes()
        if self.address is None:
            found.append("address is missing: kind=address needs cluster.address=tcp://host:port")
        else:
            found += [f"address={line}" for line in address_mistakes(self.address)]
        return found + tls_mistakes(self, self.address)

    def num_hosts_to_come(self, num_wanted: int) -> int:
        return self.num_hosts or max(num_in_groups(self.groups), 1)

    def start(self, num_hosts: int, threads_per_host: int) -> None:
        return None

    def connect(self, cluster: "Cluster | None") -> "Client":
        return _connect(self)


def at_scheduler(asked: ClusterConfig, address: str | None) -> AddressConfig:
    """The scheduler at `address`, with those settings of `asked` that every kind has, and its certificates if any.

    Without groups: whoever grants hosts knows none.
    """
    certificates: dict[str, Any] = dict.fromkeys(TlsFiles._fields)
    if isinstance(asked, AddressConfig):
        certificates |= asked.tls_files
    return AddressConfig(**common_settings(asked) | {"kind": ADDRESS, "groups": ()}, address=address, **certificates)


def _connect(config: AddressConfig) -> "Client":
    from dask_jobs.scheduler import UnansweredError, join

    assert config.address is not None
    tls = TlsFiles(**config.tls_files) if config.tls_files else None
    try:
        return join(config.address, tls, config.start_timeout_seconds, direct_to_workers=True, set_as_default=True)
    except UnansweredError as error:
        raise PlacementError(
            f"{error}; start one with `dask scheduler`, or use cluster=threads. A scheduler with TLS answers only at "
            "tls://host:port, and only to cluster.tls_ca_file, tls_cert_file and tls_key_file of its own authority"
        ) from error
