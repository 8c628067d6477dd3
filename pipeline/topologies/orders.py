"""What the supervision of a fleet orders. Plain values, carried out in turn.

Not here: who gives them (`pipeline.topologies.supervision`), who carries them out (`pipeline.topologies.fleet`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Say:
    """Tell the user."""

    sentence: str


@dataclass(frozen=True)
class Cancel:
    """Cancel a role, and forget it."""

    role: str


@dataclass(frozen=True)
class Start:
    """Start a role."""

    role: str
    host: str
    """Address."""
    number: int
    """Counts the starts of this role in this generation from 1."""


@dataclass(frozen=True)
class Fail:
    """Raise this error: a RemoteLostError ends the generation, any other one the run."""

    error: Exception


Order = Say | Cancel | Start | Fail
