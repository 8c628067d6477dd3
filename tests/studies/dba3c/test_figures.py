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


def test_times_are_drawn_of_the_runs_of_one_commit() -> None:
    runs, curves = learning_rows(("base", "steps_10", "async", *learning_cases.SETTINGS_CASES[2:]))
    runs["run_commit"] = ["old" if seed == 0 else "new" for seed in runs["seed"]]
    runs.loc[runs["case"] == "base", "run_commit"] = "other"
    assert set(zip(*figures.of_one_commit(runs)[["case", "seed"]].to_numpy().T, strict=True)) == {
        (case, 1) for case in runs["case"] if case != "base"
    }, "the newest of those with as many cases"
    steps, minutes = figures.sync_figure(curves, runs).axes
    assert sorted(str(line.get_label()) for line in minutes.get_lines()) == ["async, seed 1", "steps_10, seed 1"]
    assert len(steps.get_lines()) == 6 and minutes.get_title() == "runs of new"
    scores, rates = figures.settings_figure(runs).axes
    dots = [[len(line.get_xdata()) for line in axes.get_lines()[::2]][:5] for axes in (scores, rates)]  # type: ignore[arg-type]
    assert dots == [[2, 2, 2, 2, 2], [1, 0, 1, 1, 1]]


def test_a_panel_says_where_files_differed_from_the_commit_of_its_runs() -> None:
    runs, curves = learning_rows(("base", "steps_10", "async"))
    minutes = figures.sync_figure(curves, runs.assign(run_commit="0123456789abcdef+")).axes[1]
    assert minutes.get_title() == "runs of 0123456+"


def test_workers_are_timed_within_one_commit() -> None:
    runs, curves = learning_rows(learning_cases.WORKER_CASES)
    runs["run_commit"] = ["other" if case == "base" else "one" for case in runs["case"]]
    minutes, updates = figures.workers_figure(curves, runs).axes
    of = [{str(line.get_label()): line for line in axes.get_lines()}["measured"] for axes in (minutes, updates)]
    assert [list(line.get_xdata()) for line in of] == [[1, 3, 4], [1, 2, 3, 4]]  # type: ignore[arg-type]


def test_a_run_that_never_reaches_the_goal_counts_as_one_that_takes_for_ever() -> None:
    runs, curves = learning_rows(["workers_1", "base", "workers_4", "workers_8"])
    curves.loc[curves["case"] == "base", "score"] = 7.9
    times = figures.times_to_goal(curves, runs)
    assert times["num_workers"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert times["minutes"].tolist() == [1.0, 1.0, math.inf, math.inf, 1.0, 1.0, 1.0, 1.0]
    # 10 steps, of which each of 4 workers puts 5 into an update.
    assert times["updates"].iloc[-1] == 0.5
