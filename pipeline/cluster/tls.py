"""Certificates of a cluster whose hosts are on other machines: one authority, and one certificate that it signed.

Scheduler, hosts and command show the same one, so that whoever has its key belongs to the cluster.
Not here: who is given them, and how (`pipeline.cluster.kinds`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.cluster.config import ClusterConfig, missing_file

if TYPE_CHECKING:
    from distributed.security import Security

TLS = "tls://"
_TLS_FILES = ("tls_ca_file", "tls_cert_file", "tls_key_file")


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
        return {name: file for name in _TLS_FILES if (file := getattr(self, name)) is not None}

    def tls_mistakes(self) -> list[str]:
        """What is wrong with the three files, one line each, beginning with the field's name."""
        found = []
        if self.tls_files and len(self.tls_files) < len(_TLS_FILES):
            missing = ", ".join(name for name in _TLS_FILES if name not in self.tls_files)
            found.append(f"{missing} is missing: TLS needs all of {', '.join(_TLS_FILES)}")
        return found + [mistake for name in _TLS_FILES for mistake in missing_file(name, getattr(self, name))]

    def security(self) -> "Security | None":
        """For a scheduler and hosts that find the files under the same absolute paths; None: no TLS."""
        if not self.tls_files:
            return None
        from distributed.security import Security

        ca_file, cert_file, key_file = (_absolute(self.tls_files[name]) for name in _TLS_FILES)
        own = {
            f"tls_{role}_{part}": file
            for role in ("client", "scheduler", "worker")
            for part, file in (("cert", cert_file), ("key", key_file))
        }
        return Security(tls_ca_file=ca_file, require_encryption=True, **own)

    def tls_environment(self) -> Mapping[str, str]:
        """Variables that have Dask on another machine take the files, which lie there under the same absolute paths."""
        if not self.tls_files:
            return {}
        ca_file, cert_file, key_file = (_absolute(self.tls_files[name]) for name in _TLS_FILES)
        begin = "DASK_DISTRIBUTED__COMM__TLS__"
        own = {
            f"{begin}{role}__{part}": file
            for role in ("CLIENT", "SCHEDULER", "WORKER")
            for part, file in (("CERT", cert_file), ("KEY", key_file))
        }
        return {f"{begin}CA_FILE": ca_file, **own, "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}


def no_tls() -> dict[str, None]:
    """The settings of a cluster without."""
    return dict.fromkeys(_TLS_FILES)


def _absolute(file: str) -> str:
    return str(Path(file).expanduser().absolute())
