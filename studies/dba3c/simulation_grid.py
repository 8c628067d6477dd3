"""Which clusters are simulated, and why.

Not here: what a simulation needs besides (`studies.dba3c.simulation`).
"""

from dataclasses import dataclass

from pipeline.roles.straggler import CONSTANT, EXPONENTIAL, Stragglers

CHECK, WORKERS, SERVERS, STRAGGLERS = "check", "workers", "servers", "stragglers"
NONE = "none"
"""Distribution of a delay that nobody has."""


@dataclass(frozen=True)
class Case:
    """One cluster."""

    study: str
    num_workers: int
    """N"""
    num_backup_workers: int
    """b"""
    num_servers: int
    """S"""
    num_stragglers: int = 0
    distribution: str = NONE
    delay_steps: float = 0.0
    """Mean of a straggler's delay, in mean steps of a worker."""
    num_updates: int = 100

    def stragglers(self, mean_step_seconds: float) -> Stragglers:
        """Who is slow on purpose, and how: the last workers."""
        num_started = self.num_workers + self.num_backup_workers
        mean_seconds = self.delay_steps * mean_step_seconds
        return tuple(
            (index, self.distribution, mean_seconds) for index in range(num_started - self.num_stragglers, num_started)
        )


def _stragglers(num_started: int, num_servers: int, delay_steps: float) -> tuple[Case, ...]:
    kinds = ((0, NONE, 0.0), *((n, kind, delay_steps) for n in (1, 4) for kind in (CONSTANT, EXPONENTIAL)))
    return tuple(
        Case(STRAGGLERS, num_started - num_backup, num_backup, num_servers, *kind)
        for kind in kinds
        for num_backup in (0, 1, 2, 4)
    )


GRID: tuple[Case, ...] = (
    # The authors' best command has 4 servers and 64 workers that train (Adamski et al. 2018, authors' code), each with
    # gradients of 32 steps; ours: on to a thousand, for fewer updates, which take longer to simulate.
    *(Case(WORKERS, count, 0, 4) for count in (1, 2, 4, 8, 16, 32, 64)),
    *(Case(WORKERS, count, 0, 4, num_updates=30) for count in (128, 256, 512, 1000)),
    *(Case(SERVERS, workers, 0, servers) for workers in (16, 64, 256) for servers in (1, 2, 4, 8)),
    # As many workers as the authors had, of which an update needs all but b.
    *_stragglers(num_started=64, num_servers=4, delay_steps=4.0),
)
