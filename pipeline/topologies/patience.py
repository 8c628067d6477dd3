"""How long is waited for a role, or for an evaluation, that says nothing, leaves or loses its host.

Not here: what becomes of it then (`pipeline.topologies.supervision`, `pipeline.experiments.scoring`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """How long a fleet waits for what."""

    odd_silence_seconds: float = 60.0
    """A role that has said nothing for so long is named. It tells of its progress twice a second when all is well."""
    lost_silence_seconds: float = 900.0
    """One that has said nothing for so long, or for `calls_in_a_step` deadlines of a call, is lost. Longer than Dask
    needs to miss a process that stands still, which it looks for every five minutes: what is left are threads that do.
    """
    calls_in_a_step: int = 3
    """Calls of one step that may each wait for their deadline: pull, push and commit."""
    missed_seconds: float = 660.0
    """Within so long Dask misses a host that stands still: it looks every five minutes for those of which it has heard
    nothing for as long."""
    untold_seconds: float = 5.0
    """How long a host is waited for without a word."""
    remind_seconds: float = 60.0
    """How often at most it is said that a role waits which nobody waits for."""
    look_seconds: float = 1.0
    """How often it is looked whether a host is there whose role is to leave."""
    release_seconds: float = 1.0
    """How long the leader may take to hear that nobody holds its quorum; asked again at the next look."""
    result_seconds: float = 10.0
    """How long what a role returned may take to arrive."""
