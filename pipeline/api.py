"""The pipeline from Python: compose a config, run it, get the rows as DataFrames. For notebooks and scripts.

    from pipeline import api

    config = api.compose(["experiment=dqn", "game=Pong", "budget.minutes=5"])
    result = api.train(config)
    runs = api.load_run(result.folder)
    runs.episodes.plot(x="total_frames", y="score")

The same functions stand behind the command line; what can be foreseen raises a `pipeline.errors.PipelineError`.
"""

from pipeline.experiments.config import RunConfig
from pipeline.experiments.config_overrides import compose
from pipeline.experiments.run import RunResult, train
from pipeline.results.curves import learning_curves
from pipeline.results.load import LoadedRuns, load_run, load_runs
from pipeline.results.table import game_table

__all__ = [
    "LoadedRuns",
    "RunConfig",
    "RunResult",
    "compose",
    "game_table",
    "learning_curves",
    "load_run",
    "load_runs",
    "train",
]
