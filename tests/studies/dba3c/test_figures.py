"""What figures of DBA3C are made of."""

import math
from pathlib import Path

from studies.dba3c import figures, learning_cases
from tests.studies.dba3c.toy import learning_rows, network_speeds


def test_figures_say_how_many_runs_diverged(tmp_path: Path) -> None:
    runs, _ = learning_rows((*learning_cases.MODEL_CASES, *learning_cases.LARGE_MODEL_CASES))
    runs.loc[0, ["end_reason", "evaluation_mean"]] = "diverged", math.nan
    speeds = network_speeds()
    title = figures.models_figure(speeds.rounds, speeds.many_workers, runs).get_suptitle()
    assert title.endswith("; 1 of dba3c_authors diverged")


def test_a_run_that_never_reaches_the_goal_counts_as_one_that_takes_for_ever() -> None:
    runs, curves = learning_rows(["workers_1", "base", "workers_4", "workers_8"])
    curves.loc[curves["case"] == "base", "score"] = 7.9
    times = figures.times_to_goal(curves, runs)
    assert times["num_workers"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert times["minutes"].tolist() == [1.0, 1.0, math.inf, math.inf, 1.0, 1.0, 1.0, 1.0]
    # 10 steps, of which each of 4 workers puts 5 into an update.
    assert times["updates"].iloc[-1] == 0.5
