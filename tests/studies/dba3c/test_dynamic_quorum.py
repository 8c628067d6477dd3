"""A quorum that is chosen, simulated and real, and the tables of both."""

from pathlib import Path

import pandas as pd
import pytest

from measuring.processor import processor_here
from studies.dba3c import dynamic_quorum
from studies.dba3c.settings import OUTPUT
from studies.simulation import cost_file


@pytest.mark.slow
def test_each_quorum_has_a_row_for_each_straggler_and_what_is_there_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dynamic_quorum, "DISTRIBUTIONS", ("constant",))
    monkeypatch.setattr(dynamic_quorum, "_NUM_REAL", 2)
    monkeypatch.setattr(dynamic_quorum, "_REAL_SIZES", ("2", "chosen"))
    for _ in range(2):
        dynamic_quorum.main(
            num_rounds=1, run_seconds=100.0, num_updates=30, overrides=("budget.frames=1_200",), output=tmp_path
        )
    rows = pd.read_csv(tmp_path / "dynamic_quorum.csv")
    of_costs = {facts["processor"] for facts in cost_file.measured_on(OUTPUT / "costs.json")}
    assert set(rows[rows["source"] == "simulated"]["processor"]) == of_costs
    assert set(rows[rows["source"] == "measured"]["processor"]) == {processor_here()}
    assert rows["source"].value_counts().to_dict() == {"simulated": 30, "measured": 4}
    simulated = rows[(rows["source"] == "simulated") & (rows["distribution"] == "constant")]
    of_one = simulated[simulated["num_stragglers"] == 1].set_index("quorum")["data_points_per_second"]
    assert of_one["chosen"] > 1.5 * of_one["16"]
    tables = dynamic_quorum.dynamic_quorum_tables(rows)
    assert tables["dynamic_quorum_measured"].count("\n") == 3 and " (of " in tables["dynamic_quorum_simulated"]


def test_the_costs_that_it_simulates_with_are_there() -> None:
    assert (OUTPUT / "costs.json").is_file()
