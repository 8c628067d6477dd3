"""The config of a finished run, read where its cluster may be unknown: another machine, or certificates that are gone.

Not here: a run that goes on, whose cluster counts (`pipeline.experiments.files.run_folder.read_config`).
"""

from pathlib import Path

from pipeline.config.overrides import compose_onto
from pipeline.config.run_config import RunConfig
from pipeline.errors import ConfigError, RunFolderError
from pipeline.experiments.files.run_folder import CONFIG, check_version, saved_settings


def config_anywhere(folder: Path) -> RunConfig:
    """What the run was, with `cluster=threads` in place of its cluster.

    Raises RunFolderError if there is no config, it is of another version, or something else that it names is not here.
    """
    saved = saved_settings(folder)
    check_version(folder, saved)
    try:
        return compose_onto(saved, ["cluster=threads"], ("cluster",))
    except ConfigError as error:
        raise RunFolderError(f"{folder / CONFIG} names what is not here: {'; '.join(error.mistakes)}") from error
