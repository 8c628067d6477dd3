"""A role that writes the natural numbers as rows, one a step."""

import threading
from collections.abc import Iterable

from pipeline.cluster.coordination.tasks import ServerAddresses
from pipeline.interfaces import RowSink, Servers
from pipeline.roles.progress import RoleProgress
from pipeline.rows import EpisodeRow, Row

NO_SERVERS = ServerAddresses((), ())
"""It talks to nobody."""


class CountingRole:
    """Its spec is (name, steps after which it is done or None). A step takes about 10 ms."""

    def __init__(self, spec: tuple[str, int | None], servers: Servers, rows: RowSink) -> None:
        self._name, self._max_steps = spec
        self._rows = rows
        self._num_steps = 0
        self._pace = threading.Event()

    @property
    def done(self) -> bool:
        """True after the last number."""
        return self._num_steps == self._max_steps

    def step(self) -> None:
        """Write the next number."""
        self._pace.wait(0.01)
        self._num_steps += 1
        self._rows.emit(EpisodeRow(self._name, 0, self._num_steps, 0, 0.0, 0, False, 0.0, 0, 0.0))

    def progress(self) -> RoleProgress:
        """The newest number."""
        return RoleProgress(self._num_steps, 0, 0, 0.0, 0, 0.0)

    def close(self) -> None:
        """Holds nothing."""


def numbers(rows: Iterable[Row], role: str) -> list[int]:
    """What a role wrote, in the order of `rows`."""
    return [row.end_step for row in rows if isinstance(row, EpisodeRow) and row.role == role]
