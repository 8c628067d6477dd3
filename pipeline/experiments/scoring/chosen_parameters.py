"""Which parameters of a run are meant: the newest, the best, or those of a version.

Not here: what is done with them (`pipeline.experiments.scoring.afterwards`, `pipeline.experiments.policy`).
"""

from collections.abc import Callable
from pathlib import Path

from pipeline.config.words import listed
from pipeline.errors import CheckpointError, told
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint, Fit
from pipeline.experiments.scoring.request import NEWEST
from pipeline.numbered_files import numbers_in, path_of
from pipeline.rows import BEST


def chosen_checkpoint(
    checkpoints: Path, which: str, fit: Fit, say: Callable[[str], None] = told
) -> tuple[Path, Checkpoint]:
    """Path and content of the one in `checkpoints` that is called `which`: "newest", "best" or a version.

    `say` is told of each newer one that cannot be read. Raises CheckpointError, naming what is there, if it is none, or
    cannot be used.
    """
    if which == NEWEST:
        return _newest(checkpoints, fit, say)
    if which == BEST:
        if not checkpoint.any_in(checkpoints / BEST):
            raise CheckpointError(
                "checkpoint=best: there is none, since only a training with training_evaluation.every_frames keeps one"
            )
        return _newest(checkpoints / BEST, fit, say)
    # Of a version that both have, it is the same.
    folders = checkpoints / BEST, checkpoints
    there = {version: path_of(folder, version) for folder in folders for version in numbers_in(folder)}
    if not which.isdecimal() or int(which) not in there:
        versions = f"; there is {listed(map(str, sorted(there)))}" if there else "; there is none"
        raise CheckpointError(f"checkpoint={which} must be {NEWEST}, {BEST} or a version that is there{versions}")
    path = there[int(which)]
    return path, checkpoint.load(path, fit)


def _newest(checkpoints: Path, fit: Fit, say: Callable[[str], None]) -> tuple[Path, Checkpoint]:
    loaded = checkpoint.load_newest(checkpoints, fit, say)
    return path_of(checkpoints, loaded.server.version), loaded
