"""Whether a client still has the connection to its scheduler that it began with.

When it breaks (a laptop that slept, another network), Dask's client connects anew under its old name. Its scheduler may
miss the old connection later than that, and then forgets what the new one has asked for; or the first messages on the
new one come in another order than the client expects. Either way it hears nothing any more, in silence, and another
client has to take its place. Not here: who does that (`command`).
"""

import time

from distributed import Client

from dask_jobs.watched_time import waits

_CONNECTING_SECONDS = 15.0
_LOOK_SECONDS = 0.1


def let_close(client: Client) -> None:
    """Before its end: one that listens no more, because of an error, would raise that error when it is closed."""
    listening = client._handle_report_task
    if listening is not None and listening.done():
        client._handle_report_task = None


class ConnectionBrokenError(Exception):
    """The client has connected anew, or cannot."""


class Connection:
    """Of one client, from now on."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._first = client.scheduler_comm

    @property
    def is_broken(self) -> bool:
        """Whether it is another one by now, or one that nobody listens to; of a client that is closed it is not."""
        listening = self._client._handle_report_task
        is_deaf = listening is not None and listening.done() and self._client.status != "closed"
        return is_deaf or (self._client.status == "running" and self._client.scheduler_comm is not self._first)

    def settle(self) -> None:
        """Wait while the client connects anew, which it gives up by itself."""
        for seconds in waits(_CONNECTING_SECONDS):
            if self._client.status != "connecting" or self.is_broken:
                return
            time.sleep(min(seconds, _LOOK_SECONDS))
