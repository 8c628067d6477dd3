"""Where a run begins: at a checkpoint of its own, with the parameters of another run, or with new ones.

    resume=true   its newest checkpoint that can be used; whatever is newer goes to `discarded/`
    init_from=…   parameters of another run (`pipeline.experiments.warm_start`)
    neither       new parameters, drawn from the seed

Not here: what can be told of it before anything is changed (`pipeline.experiments.start_check`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from pipeline.config.run_config import RunConfig
from pipeline.experiments.exact import ExactRun
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.run_folder import RunFolder
from pipeline.experiments.plan import first_parameters
from pipeline.experiments.specs import checkpoint_fit, how_replays_go_on
from pipeline.experiments.warm_start import begin_warm, sentence_of
from pipeline.param_server.snapshot import first_snapshot


class Beginning(NamedTuple):
    """Of one start of a run."""

    start: Checkpoint
    goes_on: bool = False
    """With a checkpoint of the run's own."""
    origin: dict[str, Any] | None = None
    """What the parameters of a new run were taken from, for `run.json`; None: from nothing."""


def begin(
    config: RunConfig,
    typed: RunConfig,
    folder: RunFolder,
    exact: ExactRun | None,
    say: Callable[[str], None],
    trains_from: Callable[[Checkpoint], bool],
) -> Beginning:
    """Find it, and make the folder fit to it: a checkpoint is there, and nothing newer.

    `config`: as `placed` makes it of `typed`. `exact`: of a deterministic run. `trains_from`: whether a training
    follows. Raises CheckpointError, RunFolderError or ExportError where what is to be gone on from cannot be read.
    """
    if config.resume:
        if (start := _resumed(config, folder, exact, say, trains_from)) is not None:
            return Beginning(start, goes_on=True)
        say(f"nothing to resume in {folder.path}: it begins anew")
    origin = None
    if config.init_from is None:
        start = Checkpoint(first_snapshot(first_parameters(config)), {}, generation=0)
    else:
        start, origin = begin_warm(config, say)
        origin |= {"path": typed.init_from}
        say(sentence_of(origin))
    checkpoint.save(folder.checkpoints, start, config.checkpoint.keep)
    return Beginning(start, origin=origin)


def _resumed(
    config: RunConfig,
    folder: RunFolder,
    exact: ExactRun | None,
    say: Callable[[str], None],
    trains_from: Callable[[Checkpoint], bool],
) -> Checkpoint | None:
    """None: there is no checkpoint."""
    fit = checkpoint_fit(config)
    found = None if exact is None else exact.find_start(fit, say)
    if found is None and not checkpoint.any_in(folder.checkpoints):
        return None
    if found is not None:
        start, num_rows = found
        # Where none follows, rows of the training's last moments would not be made again.
        discarded = folder.go_back_exactly(start, num_rows if trains_from(start) else None)
        how = "bit for bit"
    else:
        start = checkpoint.load_newest(folder.checkpoints, fit, say)
        # A deterministic run has only that of its beginning then: the first step follows, and the first row.
        discarded = folder.go_back_to(start) if exact is None else folder.go_back_exactly(start, {})
        how = how_replays_go_on(config) if exact is None and trains_from(start) else ""
    say(
        f"resumed at update {start.server.version:,}, {config.num_frames(start.num_steps):,} frames; "
        + (f"{how}; " if how else "")
        + f"{discarded} newer rows set aside in discarded/"
    )
    return start
