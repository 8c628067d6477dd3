"""The pipeline from Python, for notebooks and scripts: compose a config, run it, score it, get rows as DataFrames.

    from pipeline import api

    config = api.compose(["experiment=dqn", "game=Pong", "seed=5", "budget.minutes=5"])
    result = api.train(config)
    print(result.score)
    runs = api.load_run(result.folder)
    runs.episodes.plot(x="total_frames", y="score")

    api.evaluate_runs(api.EvaluationRequest((result.folder,), protocols=("sticky",)))
    api.load_run(result.folder).evaluations.groupby(["protocol", "agent"])["score"].mean()

The same functions stand behind the command line; what can be foreseen raises a `pipeline.errors.PipelineError`.
"""

from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.experiments.curves.loggers import log_run
from pipeline.experiments.exports.folder import Export, export_policy
from pipeline.experiments.policy import Policy, load_policy
from pipeline.experiments.run import train
from pipeline.experiments.run_result import RunResult
from pipeline.experiments.scoring.afterwards import evaluate_runs
from pipeline.experiments.scoring.request import EvaluationRequest, find_runs
from pipeline.results.curves import learning_curves
from pipeline.results.load import LoadedRuns, load_run, load_runs
from pipeline.results.run_scores import run_scores
from pipeline.results.table import game_table

__all__ = [
    "EvaluationRequest",
    "Export",
    "LoadedRuns",
    "Policy",
    "RunConfig",
    "RunResult",
    "compose",
    "evaluate_runs",
    "export_policy",
    "find_runs",
    "game_table",
    "learning_curves",
    "load_policy",
    "load_run",
    "load_runs",
    "log_run",
    "run_scores",
    "train",
]
