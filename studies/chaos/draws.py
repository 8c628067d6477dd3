"""What is killed, when and how: drawn from the seed of a campaign. Logic without I/O.

Not here: what there is to kill at a moment (`studies.chaos.scene`).
"""

import signal
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

_STOP_SHARE = 0.2
_AT_ONCE_SHARE = 0.2
_LONGEST_DELAY_SECONDS = 8.0
_LONGEST_DELAY_AT_ONCE_SECONDS = 3.0
_STOP_SECONDS = (2.0, 20.0)

ThingT = TypeVar("ThingT")


class Draw(NamedTuple):
    """One kill that is to come."""

    victim: str
    """"host", "nanny", "scheduler" or "coordinator"."""
    signal: signal.Signals
    """SIGKILL, or SIGSTOP with a SIGCONT after it."""
    stop_seconds: float
    """How long it stands still; 0 for SIGKILL."""
    waits: bool
    """Whether the run shall have got over the kill before: new rows are there. Else it comes at once after it."""
    delay_seconds: float
    """After that."""
    which: float
    """Which of several, from 0 to 1: see `chosen`."""


def draw(seed: int, run: int, number: int, victims: Mapping[str, float]) -> Draw:
    """Kill `number` of a run. `victims` -> share of the kills; the shares make 1."""
    generator = np.random.default_rng([seed, run, number])
    victim = str(generator.choice(list(victims), p=list(victims.values())))
    stops = bool(generator.random() < _STOP_SHARE)
    waits = number == 0 or bool(generator.random() >= _AT_ONCE_SHARE)
    return Draw(
        victim,
        signal.SIGSTOP if stops else signal.SIGKILL,
        float(generator.uniform(*_STOP_SECONDS)) if stops else 0.0,
        waits,
        float(generator.uniform(0.0, _LONGEST_DELAY_SECONDS if waits else _LONGEST_DELAY_AT_ONCE_SECONDS)),
        float(generator.random()),
    )


def chosen(things: Sequence[ThingT], which: float) -> ThingT:
    """One of them, all alike where `which` is uniform from 0 to 1, without 1. Raises ValueError if there are none."""
    if not things:
        raise ValueError("nothing to choose from")
    return things[int(which * len(things))]
