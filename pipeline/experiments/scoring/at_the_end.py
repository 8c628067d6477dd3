"""The evaluation at the end of a run: the last parameters, the best ones, and the random player beside them.

Departure: Mnih et al. 2015 report the best of many evaluations during training. The best of noisy means is too high, so
the last parameters count here, and the best ones by games that they were not chosen by.
Not here: the games (`pipeline.evaluation`), the tasks that play them (`pipeline.experiments.scoring.tasks`), the table
made of the rows (`pipeline.results.table`).
"""

import threading
from collections.abc import Callable
from pathlib import Path

from pipeline.cluster.session import Session
from pipeline.config.run_config import RunConfig
from pipeline.errors import CheckpointError, RecordingError, RoleFailedError
from pipeline.evaluation import recordings
from pipeline.evaluation.start_states import StartStates
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.evaluation_rows import keys_in, keys_of, keys_of_random
from pipeline.experiments.files.run_folder import CHECKPOINTS, RECORDINGS
from pipeline.experiments.scoring.tasks import Evaluation, evaluator_spec, play_all, unseen
from pipeline.experiments.specs import checkpoint_fit
from pipeline.rows import BEST, CHECKPOINT, EvaluationRow


def evaluate(
    session: Session,
    config: RunConfig,
    starts: StartStates | None,
    end: Checkpoint,
    interrupt: threading.Event,
    folder: Path,
    say: Callable[[str], None],
    *,
    waits_for_hosts: bool = True,
    show: Callable[[int, int], object] = unseen,
) -> list[EvaluationRow] | None:
    """Rows of all games, which are recorded in the folder.

    None if interrupted, or if no host is there and none is waited for. What the folder has all rows of is not played
    again: the random player, and the parameters of a run that was resumed and ended before it learned anything.
    `starts` is what games go on from, if the protocol names some. `show` is told how many games are over, of how many.
    If evaluations during training left a best checkpoint, it is played as well, from seeds of its own.
    Raises RoleFailedError when more hosts are lost meanwhile than `cluster.max_restarts` allows.
    """
    last = _of_params(config, end, CHECKPOINT, starts)
    evaluations = [last]
    if (best := _best(folder / CHECKPOINTS / BEST, config, say)) is not None:
        evaluations.append(_of_params(config, best, BEST, starts))
    played_before = keys_in(folder)
    evaluations = [one for one in evaluations if not keys_of(one.spec) <= played_before]
    if not keys_of_random(last.spec) <= played_before:
        evaluations.append(Evaluation(last.spec, load=None))
    try:
        cluster = config.cluster
        played = dict(
            play_all(session, cluster, evaluations, interrupt, say, waits_for_hosts=waits_for_hosts, show=show)
        )
    except RoleFailedError as error:
        saved = f"{error}; the training is saved up to update {end.server.version:,}, and resume=true"
        if waits_for_hosts:
            raise RoleFailedError(f"{saved} plays the evaluation again") from error
        say(f"{saved} goes on from there")
        return None
    if interrupt.is_set():
        return None
    for games in played.values():
        try:
            recordings.save(folder / RECORDINGS, games)
        except RecordingError as error:
            # Scores without their games are better than none.
            say(f"games are scored and not recorded: {error}")
    return [game.row for index in sorted(played) for game in played[index]]


def _best(checkpoints: Path, config: RunConfig, say: Callable[[str], None]) -> Checkpoint | None:
    if not checkpoint.any_in(checkpoints):
        return None
    try:
        return checkpoint.load_newest(checkpoints, checkpoint_fit(config), say)
    except CheckpointError as error:
        # Of the last parameters the scores are known all the same.
        say(f"the best parameters are not played again: {error}")
        return None


def _of_params(config: RunConfig, played: Checkpoint, agent: str, starts: StartStates | None) -> Evaluation:
    return Evaluation(evaluator_spec(config, played, agent, starts), lambda: played.server.params)
