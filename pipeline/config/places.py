"""Where the files of a run are, wherever its program goes meanwhile: the settings that name them, as absolute paths.

Not here: the files of a cluster, whose paths are made when it is started (`pipeline.cluster.kinds`).
"""

from dataclasses import replace

from pipeline.config.run_config import RunConfig
from pipeline.run_folders import absolute


def placed(config: RunConfig) -> RunConfig:
    """The same run, whose `results_dir`, `init_from` and `evaluation.start_states` are absolute."""
    init_from, start_states = config.init_from, config.evaluation.start_states
    return replace(
        config,
        results_dir=str(absolute(config.results_dir)),
        init_from=init_from and str(absolute(init_from)),
        evaluation=replace(config.evaluation, start_states=start_states and str(absolute(start_states))),
    )
