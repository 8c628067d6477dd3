"""Cells of the tables of learning, from made-up rows."""

import pandas as pd

from studies.dba3c.learning_tables import adam_table, cases_table, hidden_layer_table, sync_table, workers_table
from studies.dba3c.simulation_grid import WORKERS
from tests.studies.dba3c.toy import learning_rows


def runs_of(*cases: str) -> pd.DataFrame:
    """Two seeds of each; the first case diverged with seed 1."""
    runs, _ = learning_rows(cases)
    runs = runs.assign(sync=True, beta1=0.9, beta2=0.999, run_commit="0123456789abcdef")
    runs = runs.assign(evaluation_low=runs["evaluation_mean"] - 1, evaluation_high=runs["evaluation_mean"] + 1)
    runs.loc[1, ["end_reason"]] = "diverged"
    return runs


def test_a_run_that_is_missing_and_one_that_diverged_are_said_to_be_so() -> None:
    _, _, base, twice = cases_table(runs_of("base", "rate_1e-3").iloc[:3]).splitlines()
    assert base.endswith("| 12.0 [11.0, 13.0] | diverged | 0123456 |")
    assert twice.endswith("| 13.0 [12.0, 14.0] | not made | 0123456 |")
    assert "| nothing | 1,000 | 5 |" in base, "one worker's batch is the update"


def test_an_asynchronous_update_is_one_gradient() -> None:
    runs = runs_of("base", "steps_10", "async").assign(num_workers=2)
    runs.loc[runs["case"] == "async", "sync"] = False
    _, _, base, _, asynchronous = sync_table(runs).splitlines()
    assert base == "| `base` | synchronous | 10 | 12.0, 12.0 | 1.5, 1.5 | 0123456 |"
    assert asynchronous == "| `async` | asynchronous | 5 | 14.0, 14.0 | 1.5, 1.5 | 0123456 |"


def test_hidden_layers_stand_by_width_and_activation() -> None:
    runs = runs_of("dba3c_authors", "dba3c_authors_512", "ba3c_authors_128", "ba3c_authors")
    runs["network"] = runs["case"].map(
        {"dba3c_authors": "n 128", "dba3c_authors_512": "n 512", "ba3c_authors_128": "n 128", "ba3c_authors": "n 512"}
    )
    head, _, linear, prelu = hidden_layer_table(runs).splitlines()
    assert head == "| behind the hidden layer | 128 units | 512 units |"
    assert (
        linear
        == "| no activation | `dba3c_authors`: 12.0, 12.0 (10.0, 10.0) | `dba3c_authors_512`: 13.0, 13.0 (10.0, 10.0) |"
    )
    assert prelu == "| PReLU | `ba3c_authors_128`: 14.0, 14.0 (10.0, 10.0) | `ba3c_authors`: 15.0, 15.0 (10.0, 10.0) |"


def test_simulated_minutes_are_measured_updates_of_simulated_seconds() -> None:
    runs, curves = learning_rows(["workers_1", "base", "workers_4", "workers_8"])
    curves.loc[(curves["case"] == "base") & (curves["seed"] == 1), "score"] = 7.9
    simulated = pd.DataFrame({"study": WORKERS, "network": "dba3c_quick", "num_workers": [1, 2, 3, 4]})
    _, _, one, two, *_ = workers_table(runs, curves, simulated.assign(seconds_per_update=90.0)).splitlines()
    # 10 steps, of which one worker puts 5 into an update and two 10.
    assert one == "| 1 | 2, 2 | 1.0, 1.0 | 3.0, 3.0 | 0123456 |"
    assert two == "| 2 | 1, never | 1.0, never | 1.5, never | 1123456 |"


def test_betas_stand_beside_the_scores() -> None:
    _, _, paper, _ = adam_table(runs_of("adam_paper", "adam_usual")).splitlines()
    assert paper == "| `adam_paper` | 0.9, 0.999 | 10.0, 10.0 | 12.0, 12.0 | 2, 2 | 0123456 |"
