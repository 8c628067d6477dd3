"""What a run is worth by its own files: the mean score of its last parameters under its own protocol.

Not here: playing the games (`pipeline.experiments.scoring.at_the_end`), other parameters and protocols
(`pipeline.results.run_scores`).
"""

from pathlib import Path
from typing import Any

from pipeline.config.run_config import RunConfig
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.evaluation_rows import played_fields
from pipeline.experiments.files.run_folder import CHECKPOINTS
from pipeline.results.load import load_run
from pipeline.results.run_scores import LAST, run_scores
from pipeline.results.scores import MeanInterval


def final_score(folder: Path, config: RunConfig) -> MeanInterval | None:
    """Mean of the games with its 95 % interval over them; None if nobody has played the last parameters so.

    Raises RunFolderError for a folder that cannot be read.
    """
    wanted: dict[str, Any] = {"agent": LAST, "protocol": config.evaluation.protocol}
    wanted |= played_fields(config.network, config.evaluation)
    # Not the newest that were played: Ctrl-C may have skipped the evaluation of the last ones.
    if checkpoint.any_in(folder / CHECKPOINTS):
        wanted["version"] = checkpoint.newest_version(folder / CHECKPOINTS)
    scores = run_scores(load_run(folder))
    for field, value in wanted.items():
        scores = scores[scores[field] == value]
    if scores.empty:
        return None
    score = scores.iloc[0]
    return MeanInterval(float(score["score"]), float(score["low"]), float(score["high"]), int(score["episodes"]))
