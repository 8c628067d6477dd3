"""Where the files of a run are, wherever its program goes meanwhile: the settings that name them, as absolute paths.

Not here: the files of a cluster, which are read when it is started (`pipeline.cluster.tls`).
"""

from dataclasses import replace
from pathlib import Path

from pipeline.config.run_config import RunConfig
from pipeline.run_folders import at_home


def placed(config: RunConfig) -> RunConfig:
    """The same run, whose `results_dir`, `init_from` and `evaluation.start_states` are absolute."""
    init_from, start_states = config.init_from, config.evaluation.start_states
    return replace(
        config,
        results_dir=_absolute(config.results_dir),
        init_from=None if init_from is None else _absolute(init_from),
        evaluation=replace(config.evaluation, start_states=None if start_states is None else _absolute(start_states)),
    )


def _absolute(word: str) -> str:
    return str(Path(at_home(word)).absolute())
