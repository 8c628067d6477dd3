"""Hosts of a scheduler that somebody has started: a run joins them, beside others, and leaves them running."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dask_jobs.addresses import address_mistakes
from pipeline.cluster.config import ClusterConfig, cluster_kind, common_settings, missing_file
from pipeline.errors import PlacementError

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy.cluster import Cluster
    from distributed.security import Security

ADDRESS = "address"
_TLS = "tls://"
_TLS_FILES = ("tls_ca_file", "tls_cert_file", "tls_key_file")


@cluster_kind(ADDRESS)
@dataclass(frozen=True)
class AddressConfig(ClusterConfig):
    """Where the scheduler is, and what it has to be shown."""

    can_tell_hosts_before_start: ClassVar[bool] = False
    is_shared: ClassVar[bool] = True
    serves_sweeps: ClassVar[bool] = True

    address: str | None
    """The scheduler's: tcp://host:port, or tls://host:port."""
    tls_ca_file: str | None
    """Certificate (PEM) of the authority that signed the cluster's certificates; None: no TLS."""
    tls_cert_file: str | None
    """This run's own certificate (PEM)."""
    tls_key_file: str | None
    """The private key (PEM) of that certificate."""

    @property
    def tls_files(self) -> Mapping[str, str]:
        """Those of the three TLS files that are given, by the names of their settings."""
        return {name: file for name in _TLS_FILES if (file := getattr(self, name)) is not None}

    def mistakes(self) -> list[str]:
        found = super().mistakes()
        if self.address is None:
            found.append("address is missing: kind=address needs cluster.address=tcp://host:port")
        else:
            found += [f"address={line}" for line in address_mistakes(self.address)]
        if self.tls_files and len(self.tls_files) < len(_TLS_FILES):
            missing = ", ".join(name for name in _TLS_FILES if name not in self.tls_files)
            found.append(f"{missing} is missing: TLS needs all of {', '.join(_TLS_FILES)}")
        if self.tls_files and self.address is not None and not self.address.startswith(_TLS):
            found.append(f"address={self.address} must begin with {_TLS} where certificates are given")
        return found + [mistake for name in _TLS_FILES for mistake in missing_file(name, getattr(self, name))]

    def num_hosts_to_come(self, num_wanted: int) -> int:
        return self.num_hosts or 1

    def start(self, num_hosts: int, threads_per_host: int) -> None:
        return None

    def connect(self, cluster: "Cluster | None") -> "Client":
        return _connect(self)


def at_scheduler(asked: ClusterConfig, address: str | None) -> AddressConfig:
    """The scheduler at `address`, with those settings of `asked` that every kind has, and its certificates if any."""
    certificates: dict[str, Any] = dict.fromkeys(_TLS_FILES)
    if isinstance(asked, AddressConfig):
        certificates |= asked.tls_files
    return AddressConfig(**common_settings(asked) | {"kind": ADDRESS}, address=address, **certificates)


def _connect(config: AddressConfig) -> "Client":
    from distributed import Client
    from distributed.security import Security

    # None takes what Dask's own configuration says of TLS.
    security = None
    if config.tls_files:
        security = Security(
            tls_ca_file=config.tls_ca_file,
            tls_client_cert=config.tls_cert_file,
            tls_client_key=config.tls_key_file,
            require_encryption=True,
        )
    unanswered = PlacementError(
        f"no scheduler answers at {config.address} within {config.start_timeout_seconds:g} s "
        f"{_certificates(config)}; start one with `dask scheduler`, or use cluster=threads. "
        "A scheduler with TLS answers only at tls://host:port, and only to cluster.tls_ca_file, tls_cert_file and "
        "tls_key_file of its own authority"
    )
    # Found out here: a Client that finds it out in its constructor keeps a running loop, and the collector that
    # finds such a client while another one starts waits for that one's lock for ever.
    if config.address is not None and config.address.startswith("tls://") and not _can_encrypt(security or Security()):
        raise unanswered
    try:
        return Client(config.address, timeout=config.start_timeout_seconds, direct_to_workers=True, security=security)
    except OSError as error:
        raise unanswered from error


def _can_encrypt(security: "Security") -> bool:
    return security.get_connection_args("client").get("ssl_context") is not None


def _certificates(config: AddressConfig) -> str:
    return f"to the certificate {config.tls_cert_file}" if config.tls_files else "without certificates"
