import io
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from pipeline.experiments.run import train
from pipeline.experiments.scoring.final_score import final_score
from tests.experiments.smoke_runs import smoke_config


@pytest.mark.slow
def test_the_score_is_that_of_the_last_parameters_under_the_run_s_own_protocol(tmp_path: Path) -> None:
    config = smoke_config(tmp_path, "progress=none")
    result = train(config, Console(file=io.StringIO()))
    folder = result.folder
    assert folder is not None
    path = folder / "evaluations.csv"
    games = pd.read_csv(path)
    last = games["agent"] == "checkpoint"
    score = final_score(folder, config)
    assert score is not None and result.score is not None and score.mean == result.score.mean
    assert (score.mean, score.num_episodes) == (games[last]["score"].mean(), last.sum())
    # Played again later with other settings, and earlier by older parameters.
    otherwise = games[last].assign(epsilon=0.5, score=1000.0, version=games["version"].max() + 1)
    older = games[last].assign(version=games["version"].max() - 1, score=2e3)
    pd.concat([games, otherwise, older]).to_csv(path, index=False)
    again = final_score(folder, config)
    assert again is not None and again.mean == score.mean
    # Ctrl-C skipped the evaluation of the last ones.
    pd.concat([games[~last], older]).to_csv(path, index=False)
    assert final_score(folder, config) is None
