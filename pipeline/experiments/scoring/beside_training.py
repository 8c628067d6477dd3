"""Evaluations beside the training, one after the other, on a host of their own; the best parameters are kept.

    every `every_frames`:   checkpoint -> Dask task on the evaluator's host -> rows "training" -> mean score
                            the best mean so far -> checkpoints/best/, recordings/

The maximum of noisy means is too high, so at the end the best parameters are played again, from other seeds
(`pipeline.experiments.scoring.at_the_end`). Departure: Mnih et al. 2015 report that maximum.
Not here: the games (`pipeline.evaluation`), when a mean ends the run (`pipeline.experiments.life`).
"""

import json
import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pipeline.checked_files import bytes_in, json_in
from pipeline.cluster.coordination.tasks import RoleAddress
from pipeline.cluster.session import Session
from pipeline.config.run_config import EVALUATOR, RunConfig
from pipeline.errors import (
    CallTimeoutError,
    CheckpointError,
    PipelineError,
    RecordingError,
    RemoteLostError,
    RoleFailedError,
    UnreachableError,
)
from pipeline.evaluation import recordings
from pipeline.evaluation.play import PlayedGame
from pipeline.evaluation.start_states import StartStates
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.evaluation_rows import newest_frames
from pipeline.experiments.files.run_folder import CHECKPOINTS, RECORDINGS
from pipeline.experiments.scoring.hosted import HostedEvaluation, Listener
from pipeline.experiments.scoring.queue import Fate
from pipeline.experiments.scoring.tasks import evaluator_spec
from pipeline.numbered_files import numbers_in, path_of
from pipeline.roles.evaluator import evaluate_params
from pipeline.rows import BEST, TRAINING, EvaluationRow
from pipeline.topologies.patience import Patience
from pipeline.whole_file import whole_text

NO_HOST = ""
"""In place of an address: the evaluator waits for a host that is free."""

_SCORE = "score.json"
_RESULT_SECONDS = 10.0
"""How long a host may take to hand over games that it has played; nothing else is looked after meanwhile."""


class TrainingEvaluation:
    """Looked after by the coordinator, `check` after `check`; at most one evaluation is under way."""

    def __init__(
        self,
        session: Session,
        config: RunConfig,
        host: str,
        folder: Path,
        say: Callable[[str], None],
        starts: StartStates | None,
        patience: Patience | None = None,
    ) -> None:
        """`folder` is the run's; `say` is told if its best score so far cannot be read.

        `starts` is what games go on from, if the protocol names some.
        """
        self.host = host
        """Address of the evaluator's host, or NO_HOST; a new one counts from the next evaluation on."""
        self._session = session
        self._config = config
        assert config.training_evaluation.every_frames is not None, "none is wanted"
        self._every_frames = config.training_evaluation.every_frames
        self._starts = starts
        self._patience = patience or Patience()
        self._recordings = folder / RECORDINGS
        self._folder = folder / CHECKPOINTS / BEST
        self._hosted: HostedEvaluation | None = None
        self._silent: HostedEvaluation | None = None
        """Given up, and maybe not gone: until it is, none is started on its host, unless that has another thread."""
        self._playing: Checkpoint | None = None
        self._num_started = 0
        self._due_frames: int | None = None
        """None until it is known what an earlier start has played: its rows may be set aside before the first look."""
        self._run = folder
        self._has_no_host = False
        self.best_mean = _best_mean(self._folder / _SCORE, say)
        """The best mean score so far, of a resumed run as well; None before the first."""

    def check(
        self, num_frames: int, take: Callable[[], Checkpoint | None], free_hosts: set[str], listener: Listener
    ) -> tuple[list[EvaluationRow], str]:
        """Rows of an evaluation that has ended since the last call, and what happened, in a sentence or none.

        Starts one of what `take` gives when it is due; None: it is not there yet. If the evaluator's host is gone, one
        of `free_hosts` takes over. `listener` is told how far it is.
        """
        if self._due_frames is None:
            self._due_frames = self._mark_after(newest_frames(self._run, TRAINING))
        present = self._session.fit_hosts()
        if self.host not in present:
            if self._hosted is not None:
                self._hosted.fate(present)  # it is given up for what is seen now
            return [], self._move(free_hosts)
        if self._hosted is None:
            if self._would_wait_behind_a_silent_one(free_hosts):
                return [], self._move_away(free_hosts)
            return [], self._start(take, listener) if num_frames >= self._due_frames else ""
        if (fate := self._hosted.fate(present)) is Fate.PLAYING:
            return [], self._hosted.news()
        hosted, self._hosted = self._hosted, None
        if fate in (Fate.SILENT, Fate.UNHEARD):
            hosted.cancel()
            self._silent, self._due_frames = hosted, 0
            waits = f"{EVALUATOR} says nothing on {self.host}: it is given up, and begins again once a thread is free"
            return [], self._move_away(free_hosts) or waits
        if fate is Fate.LOST:
            hosted.cancel()
        games = _games_of(hosted) if fate is Fate.ENDED else []
        return [game.row for game in games], self._judge(games)

    def went_back(self) -> None:
        """The run has gone back to a checkpoint: what is due is told by the rows that are left."""
        self._due_frames = None

    def cancel(self) -> None:
        """Give up what is being played; it is played anew at the next `check`."""
        if self._hosted is not None:
            self._hosted.cancel()
            self._hosted = None
            self._due_frames = 0

    def _start(self, take: Callable[[], Checkpoint | None], listener: Listener) -> str:
        try:
            if (taken := take()) is None:
                return ""
        except (CallTimeoutError, UnreachableError) as error:
            # Where this is no passing weakness, the run's own checkpoints will find out.
            self._due_frames = self._mark_after(self._due_frames or 0)
            return f"an evaluation is left out: {error}"
        frames = self._config.num_frames(taken.num_steps)
        episodes = self._config.training_evaluation.num_episodes
        spec = evaluator_spec(self._config, taken, TRAINING, self._starts)
        spec = replace(spec, evaluation=replace(spec.evaluation, num_episodes=episodes))
        attempt = self._num_started + 1
        address = RoleAddress(self._session.run_id, EVALUATOR, attempt, self._config.cluster.lease_seconds)
        params = taken.server.params
        try:
            self._hosted = HostedEvaluation(
                self._session,
                evaluate_params,
                spec,
                params,
                self.host,
                address,
                name=EVALUATOR,
                listener=listener,
                patience=self._patience,
            )
        except RemoteLostError:
            # The next check knows that the host is gone, and the evaluation is still due.
            return ""
        self._due_frames = self._mark_after(frames)
        self._num_started = attempt
        self._playing = taken
        return ""

    def _mark_after(self, frames: int) -> int:
        return frames - frames % self._every_frames + self._every_frames

    def _judge(self, games: list[PlayedGame]) -> str:
        # None where the roles were told to leave meanwhile, as before a new generation, or where its host was lost.
        if not games or self._playing is None:
            self._due_frames = 0
            return ""
        first, mean = games[0].row, statistics.fmean(game.row.score for game in games)
        sentence = f"evaluation at {first.total_frames:,} frames: mean {mean:.1f} over {len(games)} games"
        if self.best_mean is None or mean > self.best_mean:
            try:
                self._keep(self._playing, {"mean_score": mean, "num_episodes": len(games), "protocol": first.protocol})
                self.best_mean = mean
                recordings.save(self._recordings, games)
            except (CheckpointError, RecordingError, OSError) as error:
                # The training is worth more than the best of it so far.
                sentence += f", the best so far, of which not all could be kept: {error}"
        return sentence

    def _keep(self, played: Checkpoint, score: dict[str, object]) -> None:
        path = checkpoint.save(self._folder, played, keep=2)
        whole_text(self._folder / _SCORE, json.dumps(score) + "\n")
        # By hand: the best may be older than the best before, after the run went back to a checkpoint.
        for other in numbers_in(self._folder):
            if (its := path_of(self._folder, other)) != path:
                its.unlink()

    def _would_wait_behind_a_silent_one(self, free_hosts: set[str]) -> bool:
        silent = self._silent
        if silent is None or silent.host != self.host or silent.task.done():
            return False
        return self.host not in free_hosts  # one with another thread is

    def _move_away(self, free_hosts: set[str]) -> str:
        """Of a host that is there: one may wait for its thread, but not longer than for another host."""
        if not (others := free_hosts - {self.host}):
            return ""
        before, self.host, self._silent = self.host, min(others), None
        return f"{EVALUATOR} says nothing on {before} and goes on at {self.host}"

    def _move(self, free_hosts: set[str]) -> str:
        self.cancel()
        self._silent = None
        lost = (
            f"{EVALUATOR} has left its host to a role that the run needs"
            if self.host == NO_HOST
            else f"{EVALUATOR} was lost with its host {self.host}"
        )
        if not free_hosts:
            told, self._has_no_host = self._has_no_host, True
            return "" if told else f"{lost}: nothing is evaluated until another host is free"
        self.host, self._has_no_host = min(free_hosts), False
        return f"{lost} and goes on at {self.host}"


def _best_mean(path: Path, say: Callable[[str], None]) -> float | None:
    """What is written beside the best parameters so far; None if nothing is, or what is cannot be read."""
    if not path.exists():
        return None
    try:
        mean = json_in(bytes_in(path)).get("mean_score")
        if not isinstance(mean, int | float) or not math.isfinite(mean):
            raise ValueError("mean_score is no number")
    except (OSError, ValueError, OverflowError) as error:  # OverflowError: of hundreds of digits
        say(f"{path} cannot be read: {error}; the next evaluation counts as the best so far")
        return None
    return float(mean)


def _games_of(hosted: HostedEvaluation) -> list[PlayedGame]:
    """What was played; nothing if it was lost with its host. Raises RoleFailedError with what it failed of."""
    try:
        return hosted.games(EVALUATOR, _RESULT_SECONDS) or []
    except RoleFailedError:
        raise
    except PipelineError as error:
        # As it is, it would be taken for one of the run's own: a setting that is wrong, a shard that is lost.
        raise RoleFailedError(f"{EVALUATOR} failed: {error!r}") from error
