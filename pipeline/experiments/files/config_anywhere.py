"""The config of a finished run, read where its cluster may be unknown: another machine, or certificates that are gone.

Not here: a run that goes on, whose cluster counts (`pipeline.experiments.files.run_folder.read_config`).
"""

from pathlib import Path

from pipeline.config.overrides import compose_onto
from pipeline.config.run_config import RunConfig
from pipeline.errors import ConfigError
from pipeline.experiments.files.run_folder import check_version, names_the_unusable, saved_settings


def config_anywhere(folder: Path) -> RunConfig:
    """What the run was, with `cluster=threads` in place of its cluster.

    Raises RunFolderError if there is no config, it is of another version, or something else that it names cannot be
    used here.
    """
    saved = saved_settings(folder)
    check_version(folder, saved)
    try:
        return compose_onto(saved, ["cluster=threads"], ("cluster",))
    except ConfigError as error:
        raise names_the_unusable(folder, error) from error
