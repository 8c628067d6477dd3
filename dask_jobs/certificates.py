"""Certificates of a Dask cluster: three PEM files, as settings name them, and every mistake in naming them.

Hydra reads this module at the start of every program that it finds the launcher beside: it imports light things only.
Not here: connections that use them (`scheduler`).
"""

import os
from pathlib import Path
from typing import NamedTuple, Protocol

TLS = "tls://"
"""What the address of a scheduler with certificates begins with."""


class TlsFiles(NamedTuple):
    """What one shows, and what it trusts; paths of PEM files."""

    tls_ca_file: str
    """Certificate of the authority that signed those of the cluster."""
    tls_cert_file: str
    """One's own certificate."""
    tls_key_file: str
    """The private key of that certificate."""


class HasTlsFiles(Protocol):
    """Settings with the three files; None: not given."""

    @property
    def tls_ca_file(self) -> str | None:
        """See `TlsFiles`."""
        ...

    @property
    def tls_cert_file(self) -> str | None:
        """See `TlsFiles`."""
        ...

    @property
    def tls_key_file(self) -> str | None:
        """See `TlsFiles`."""
        ...


def given_tls_files(settings: HasTlsFiles) -> dict[str, str]:
    """Paths of those of the three that are given, by the names of their settings. "~" is the home."""
    files = {name: getattr(settings, name) for name in TlsFiles._fields}
    return {name: os.path.expanduser(file) for name, file in files.items() if file is not None}


def tls_mistakes(settings: HasTlsFiles, address: str | None = None) -> list[str]:
    """What is wrong with them, one line each, beginning with the setting's name. `address`: the scheduler's."""
    found, given = [], given_tls_files(settings)
    if given and len(given) < len(TlsFiles._fields):
        missing = ", ".join(name for name in TlsFiles._fields if name not in given)
        found.append(f"{missing} is missing: TLS needs all of {', '.join(TlsFiles._fields)}")
    if given and address is not None and not address.startswith(TLS):
        found.append(f"address={address} must begin with {TLS} where certificates are given")
    return found + [f"{name}={file}: there is no such file" for name, file in given.items() if not Path(file).is_file()]
