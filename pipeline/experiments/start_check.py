"""What a run would begin with, before anything is started or changed.

Not here: beginning with it (`pipeline.experiments.run`).
"""

from rich.markup import escape

from pipeline.config.run_config import RunConfig
from pipeline.config.warm_start import warm_start_mistakes
from pipeline.errors import CheckpointError, ConfigError, ExportError, RunFolderError
from pipeline.experiments.exact import exact_run
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.run_folder import CHECKPOINTS, check_folder
from pipeline.experiments.specs import checkpoint_fit
from pipeline.experiments.warm_start import begin_warm


def remarks_on_folder(config: RunConfig, typed: RunConfig) -> list[str]:
    """What would become of the run's folder, in markup; `typed` as in `check_start`."""
    try:
        does = "go on with" if check_start(config, typed) else "begin anew in"
    except (RunFolderError, CheckpointError, ExportError) as error:
        return [f"[yellow]warning:[/yellow] without plan=true this is refused: {escape(str(error))}"]
    return [f"it would {does} {escape(str(typed.folder))}"]


def check_start(config: RunConfig, typed: RunConfig) -> bool:
    """Whether the run will go on with what is in its folder.

    `config`: as `placed` makes it of `typed`, whose settings are compared with those in the folder.
    Raises a PipelineError where the folder, or what is in it, or another run, to go on from, is unfit.
    """
    check_folder(typed, config.folder)
    if mistakes := warm_start_mistakes(config):
        raise ConfigError(mistakes)
    checkpoints = config.folder / CHECKPOINTS
    if not (config.resume and checkpoint.any_in(checkpoints)):
        if config.init_from is not None:
            # Read here already: what is damaged or does not fit is to leave no folder that counts as taken.
            begin_warm(config, lambda _line: None)
        return False
    fit = checkpoint_fit(config)
    try:
        if (exact := exact_run(config)) is not None and exact.find_start(fit, lambda _line: None) is not None:
            return True
        checkpoint.load_newest(checkpoints, fit)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; to begin anew: overwrite=true, or another seed or results_dir") from error
    return True
