"""The decisions of a run's life, without a clock and without a cluster: events and times in, what to do out.

    Life        when the run ends and why, what follows an error, what an interrupt leaves out
    HostWait    how long a host is waited for when all roles are placed anew
    Every       what is due every so often

Not here: doing it (`pipeline.experiments.training`, `pipeline.experiments.run`), what becomes of single roles and their
hosts (`pipeline.topologies.fleet`), when a checkpoint is due (`pipeline.experiments.saving`).
"""

import math
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from pipeline.config.course import BudgetConfig, fraction_spent
from pipeline.errors import DivergedError, PipelineError, RemoteLostError, RoleFailedError, SchedulerLostError

BUDGET, SCORE, INTERRUPTED = "budget", "score", "interrupted"
"""Why a run ends that ends with a result."""


@dataclass(frozen=True)
class RunTiming:
    """How often a coordinator looks after its run, and how long it waits for whom."""

    tick_seconds: float = 0.25
    """Between two looks."""
    publish_seconds: float = 2.0
    """How often others see how far the run is."""
    leave_seconds: float = 60.0
    """How long roles may take, all together, to finish their step and leave."""
    hurried_seconds: float = 8.0
    """The same once somebody has told the run to end: a batch system kills soon after it has said so."""
    farewell_seconds: float = 5.0
    """How long each of a run that has failed is waited for."""
    silent_seconds: float = 5.0
    """How long a host is waited for without a word."""


class Look(NamedTuple):
    """What the coordinator sees of its run at one moment."""

    num_frames: int
    """Emulator frames of all roles together."""
    wall_seconds: float
    """Of training, pauses between resumes not counted."""
    best_mean: float | None = None
    """Best mean score of an evaluation during training; None: there was none."""
    all_left: bool = False
    """Every role has left with its work done."""
    is_interrupted: bool = False


class Recover(NamedTuple):
    """All roles leave, and a new generation begins where the newest checkpoint is."""


class Saves(Enum):
    """What a run that ends with an error saves of what was learned since its newest checkpoint."""

    ALL = "what its shards have"
    KEPT = "what the command has kept in memory: its shards cannot be asked any more"
    NOTHING = "nothing: it is not worth to go on from"


class Fail(NamedTuple):
    """The run ends with this error."""

    error: Exception
    saves: Saves


class Life:
    """One run, from its first generation to its end."""

    def __init__(
        self,
        budget: BudgetConfig,
        max_restarts: int,
        *,
        evaluates_when_interrupted: bool = True,
        num_begun: int = 0,
    ) -> None:
        """`num_begun`: the highest generation that an earlier start of the run has begun."""
        self._budget = budget
        self._max_restarts = max_restarts
        self.evaluates_when_interrupted = evaluates_when_interrupted
        """Else an interrupted run leaves them to whoever resumes it."""
        self._num_begun = num_begun
        self.generation = num_begun
        """The highest that has begun, in any start of the run."""
        self._num_lost = 0
        """Generations that ended with the loss of a shard."""

    def begin_generation(self, of_checkpoint: int) -> int:
        """Number of the generation that begins from a checkpoint of another: higher than any before."""
        # Not of the checkpoint alone: generations that were lost before their first one, and starts that were killed
        # before it, have used up theirs, and what they left or still write goes by their numbers.
        self.generation = max(self.generation, of_checkpoint) + 1
        return self.generation

    def end_reason(self, look: Look) -> str | None:
        """Why the training ends now, the first of INTERRUPTED, BUDGET and SCORE that is true; None: it goes on."""
        if look.is_interrupted:
            return INTERRUPTED
        # Roles that play to a number of steps leave by themselves, maybe before anybody has counted their frames.
        if look.all_left or self.has_reached(BUDGET, look):
            return BUDGET
        return SCORE if self.has_reached(SCORE, look) else None

    def has_reached(self, limit: str, look: Look) -> bool:
        """Whether a run is at its limit of that kind, BUDGET or SCORE; no run is at one of another kind."""
        if limit == BUDGET:
            return fraction_spent(self._budget, look.num_frames, look.wall_seconds) >= 1
        goal = self._budget.score
        return limit == SCORE and goal is not None and look.best_mean is not None and look.best_mean >= goal

    def after_error(
        self, error: Exception, *, was_foreseen: bool = False, is_interrupted: bool = False
    ) -> Recover | Fail:
        """What follows when a generation ends with an error, be it one of ours or not.

        `was_foreseen`: a host has left because its time was over, which may happen as often as it likes.
        `is_interrupted`: the run begins no other generation, and ends in order however often it has lost a shard.
        """
        if isinstance(error, SchedulerLostError):
            return Fail(error, Saves.KEPT)
        if isinstance(error, RemoteLostError):
            self._num_lost += not was_foreseen
            if is_interrupted or 0 < self._max_restarts >= self._num_lost:
                return Recover()
            why = f"shards were lost {self._num_lost} times, the last time because {error}"
            return Fail(RoleFailedError(why), Saves.KEPT)
        # What diverged is not worth to go on from: the newest checkpoint is from before.
        return Fail(error, Saves.NOTHING if isinstance(error.__cause__, DivergedError) else Saves.ALL)

    @staticmethod
    def error_reason(error: BaseException) -> str:
        """Why a run ended that ended with an error, or at once by a second Ctrl-C."""
        if isinstance(error, KeyboardInterrupt):
            return INTERRUPTED
        name = "" if isinstance(error, PipelineError) else f"{type(error).__name__}: "
        return f"error: {name}{error}"

    def plays_final_games(self, reason: str, *, is_interrupted: bool) -> bool:
        """Whether the final evaluation follows a training that ended so; `is_interrupted`: meanwhile, or by then."""
        if reason == INTERRUPTED and self.generation == self._num_begun:
            return False  # told to end before anything began
        return self.evaluates_when_interrupted or not (is_interrupted or reason == INTERRUPTED)

    def final_reason(self, reason: str, *, has_all_games: bool) -> str:
        """Why the run ended, once its final evaluation is over: with all of its games, or cut short."""
        return reason if has_all_games or self.evaluates_when_interrupted else INTERRUPTED


class Waiting(Enum):
    """What to do while there is no room for all roles."""

    AGAIN = "look again"
    WITHOUT = "plan without those that the run can do without"
    KEEP = "keep the plan of before: no generation will begin"


class NoRoom(NamedTuple):
    """The answer to one look that has found no room."""

    then: Waiting
    is_told: bool
    """The user is told now that a host is waited for."""


class HostWait:
    """A host that may be on its way in place of a lost one."""

    def __init__(self, begun: float, timeout_seconds: float, silent_seconds: float) -> None:
        """`begun`: when, on the clock that `look` is told of."""
        self._begun = begun
        self._timeout_seconds = timeout_seconds
        self._silent_seconds = silent_seconds
        self._has_told = False

    def look(self, now: float, *, is_interrupted: bool) -> NoRoom:
        """What to do at `now`, when there is still no room."""
        waited_seconds = now - self._begun
        is_told = not self._has_told and waited_seconds > self._silent_seconds
        self._has_told = self._has_told or is_told
        if is_interrupted:
            return NoRoom(Waiting.KEEP, is_told)
        return NoRoom(Waiting.WITHOUT if waited_seconds > self._timeout_seconds else Waiting.AGAIN, is_told)


class Every:
    """Something that is due every so often, the first time at once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._done_at = -math.inf

    def is_due(self, now: float) -> bool:
        """True if it is time, and it counts as done then."""
        if now - self._done_at < self._seconds:
            return False
        self._done_at = now
        return True
