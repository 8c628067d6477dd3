"""Certificates of a cluster whose hosts are on other machines: one authority, and one certificate that it signed.

Scheduler, hosts and command show the same one, so that whoever has its key belongs to the cluster.
Not here: mistakes in naming the files (`dask_jobs.certificates`), how hosts are given them (`pipeline.cluster.kinds`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dask_jobs.certificates import given_tls_files
from pipeline.cluster.config import ClusterConfig
from pipeline.run_folders import absolute

if TYPE_CHECKING:
    from distributed.security import Security

_ROLES = ("client", "scheduler", "worker")


@dataclass(frozen=True)
class TlsConfig(ClusterConfig):
    """What the kinds have whose hosts are reached through a network."""

    tls_ca_file: str | None
    """Certificate (PEM) of the authority that signed the cluster's certificates; None: no TLS."""
    tls_cert_file: str | None
    """This run's own certificate (PEM)."""
    tls_key_file: str | None
    """The private key (PEM) of that certificate."""

    @property
    def tls_files(self) -> Mapping[str, str]:
        """Those of the three TLS files that are given, by the names of their settings."""
        return given_tls_files(self)

    def security(self) -> "Security | None":
        """For a scheduler and hosts that find the files under the same absolute paths; None: no TLS."""
        if not self.tls_files:
            return None
        from distributed.security import Security

        # Given and not set: Dask's configuration is one for all threads of a program.
        ca_file, cert_file, key_file = self._absolute_files()
        of_roles = {
            f"tls_{role}_{kind}": file for role in _ROLES for kind, file in [("cert", cert_file), ("key", key_file)]
        }
        return Security(require_encryption=True, tls_ca_file=ca_file, **of_roles)

    def tls_environment(self) -> Mapping[str, str]:
        """Variables that have Dask on another machine take the files, which lie there under the same absolute paths."""
        return {
            f"DASK_{name.replace('.', '__').replace('-', '_').upper()}": str(value)
            for name, value in self._of_dask().items()
        }

    def _of_dask(self) -> dict[str, Any]:
        """Dask's own settings for the files; empty: no TLS."""
        if not self.tls_files:
            return {}
        ca_file, cert_file, key_file = self._absolute_files()
        tls = "distributed.comm.tls"
        return {
            "distributed.comm.require-encryption": True,
            f"{tls}.ca-file": ca_file,
            **{f"{tls}.{role}.cert": cert_file for role in _ROLES},
            **{f"{tls}.{role}.key": key_file for role in _ROLES},
        }

    def _absolute_files(self) -> tuple[str, str, str]:
        ca_file, cert_file, key_file = (str(absolute(file)) for file in self.tls_files.values())
        return ca_file, cert_file, key_file
