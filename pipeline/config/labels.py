"""The name of a protocol says how games are played, and rows tell a part of it: a run may not begin under a wrong one.

Not here: what rows do not tell (`pipeline.evaluation.protocol`), a run that is evaluated later
(`pipeline.experiments.scoring.afterwards`).
"""

from pipeline.config.run_config import RunConfig
from pipeline.errors import ConfigError
from pipeline.evaluation.protocol import untold
from pipeline.run_folders import CONFIG


def mislabelled(run: RunConfig) -> list[str]:
    """Mistakes of a run that begins with a protocol's name for other games; none of one that goes on as it began."""
    begins = run.overwrite or not (run.folder / CONFIG).is_file()
    return untold(run.evaluation) if begins else []


def rightly_labelled(run: RunConfig) -> RunConfig:
    """The run itself. Raises ConfigError with what `mislabelled` finds."""
    if mistakes := mislabelled(run):
        raise ConfigError(mistakes)
    return run
