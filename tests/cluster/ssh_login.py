"""How a test logs in to the ssh server that it has started."""

from pathlib import Path
from typing import Any, NamedTuple

from tests.cluster.ssh_server import LOOPBACK


class Server(NamedTuple):
    """Where the ssh server listens, and the files of a client that may log in."""

    port: int
    key_file: Path
    known_hosts_file: Path

    def settings(self, **changes: Any) -> dict[str, Any]:
        """Settings of a cluster of two hosts on this server."""
        settings = {
            "hosts": (LOOPBACK,) * 3,
            "port": self.port,
            "key_file": str(self.key_file),
            "known_hosts_file": str(self.known_hosts_file),
        }
        return settings | changes
