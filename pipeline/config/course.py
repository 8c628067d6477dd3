"""How a run goes on: when it ends, how often it saves itself, and when it is scored beside the training.

Not here: what it computes, and where it lives (`pipeline.config.run_config`).
"""

import math
from dataclasses import dataclass
from typing import TypeVar

from pipeline.schedules import share_spent

_NumberT = TypeVar("_NumberT", int, float)


@dataclass(frozen=True)
class BudgetConfig:
    """When a run ends: at whichever limit comes first."""

    frames: int | None
    """Emulator frames of all actors together; None: no such limit."""
    minutes: float | None
    """Wall-clock minutes, pauses between resumes not counted; None: no such limit."""
    score: float | None
    """Mean score of one evaluation during training; None: no such limit."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.frames is None and self.minutes is None:
            found.append("frames and budget.minutes are both null: a run needs at least one of them")
        if self.frames is not None and self.frames < 1:
            found.append(f"frames={self.frames} must be at least 1, or null")
        if self.minutes is not None and self.minutes <= 0:
            found.append(f"minutes={self.minutes} must be positive, or null")
        return found

    def doubled(self, num_frames: int, wall_seconds: float) -> list[str]:
        """On a command line, the limits that a run has reached with so many frames and seconds, doubled.

        More than once where it was resumed with a limit that lay behind it.
        """
        found = []
        if self.frames is not None and num_frames >= self.frames:
            found.append(f"budget.frames={_doubled_beyond(self.frames, num_frames):_}")
        if self.minutes is not None and wall_seconds >= 60 * self.minutes:
            found.append(f"budget.minutes={_doubled_beyond(self.minutes, wall_seconds / 60):g}")
        return found


def _doubled_beyond(limit: _NumberT, reached: float) -> _NumberT:
    times: int = 2 ** max(1, math.floor(math.log2(reached / limit)) + 1)
    return limit * times


def fraction_spent(budget: BudgetConfig, num_frames: int, wall_seconds: float) -> float:
    """How much of its budget a run has spent, 0.0 to 1.0; of two limits the nearer one counts."""
    return share_spent((num_frames, budget.frames), (wall_seconds / 60, budget.minutes))


@dataclass(frozen=True)
class TrainingEvaluationConfig:
    """Evaluations beside the training, under the run's protocol, on a host of their own."""

    every_frames: int | None
    """Emulator frames of all actors from the start of one to the start of the next; None: there are none."""
    num_episodes: int
    """Games of each."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.every_frames is not None and self.every_frames < 1:
            found.append(f"every_frames={self.every_frames} must be at least 1, or null for none")
        if self.num_episodes < 1:
            found.append(f"num_episodes={self.num_episodes} must be at least 1")
        return found


@dataclass(frozen=True)
class CheckpointConfig:
    """How often a run saves itself."""

    every_minutes: float
    """Wall-clock minutes between two checkpoints."""
    keep: int
    """Newest checkpoints that are kept."""
    memory_seconds: float | None
    """Between two snapshots that the command itself keeps in memory, for when a host with a shard dies; None: none."""
    replay: bool
    """The owner of a replay saves it as often, below the run's folder, and goes on with it when it is started again.
    A deterministic run does so in any case."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.every_minutes <= 0:
            found.append(f"every_minutes={self.every_minutes} must be positive")
        if self.keep < 1:
            found.append(f"keep={self.keep} must be at least 1")
        if self.memory_seconds is not None and self.memory_seconds <= 0:
            found.append(f"memory_seconds={self.memory_seconds} must be positive, or null for no snapshots in memory")
        return found
