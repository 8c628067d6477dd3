"""Costs that are measured, and what they predict, at a toy size."""

from pathlib import Path

import pandas as pd
import pytest

from studies.dba3c import simulation
from studies.dba3c.settings import OUTPUT
from studies.dba3c.simulation_grid import CHECK, SERVERS, STRAGGLERS, WORKERS, Case
from studies.simulation import cost_file
from studies.simulation.measured_costs import merged
from tests.studies.dba3c.toy import TINY, is_figure, learning_rows, printed


@pytest.mark.slow
def test_costs_are_measured_and_what_they_predict_stands_beside_a_real_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = (
        Case(WORKERS, 1, 0, 4, num_updates=10),
        Case(WORKERS, 4, 0, 4, num_updates=10),
        # More workers than steps that were measured.
        Case(WORKERS, 100_000, 0, 4, num_updates=10),
        Case(SERVERS, 4, 0, 2, num_updates=10),
        Case(STRAGGLERS, 3, 1, 2, 1, "exponential", 4.0, num_updates=10),
    )
    simulation.main(
        networks=("nature_grey",),
        check_networks=("nature_grey",),
        check_workers=(1,),
        num_rounds=2,
        worker_steps=80,
        num_cores=1,
        num_cost_updates=1,
        step_seconds=1.0,
        grid=grid,
        cluster="threads",
        overrides=TINY,
        output=tmp_path,
        figures=tmp_path,
    )
    (line,) = printed(capsys)
    ratio = line["simulated_data_points_per_second"] / line["measured_data_points_per_second"]
    assert line["error"] == pytest.approx(ratio - 1, abs=0.01)
    rows = pd.read_csv(tmp_path / "simulation.csv")
    assert rows["source"].tolist() == ["measured"] * 2 + ["simulated"] * 5
    assert rows["study"].tolist() == [CHECK, CHECK, CHECK, WORKERS, WORKERS, SERVERS, STRAGGLERS]
    for name in ("prediction", "workers", "servers", "stragglers"):
        assert is_figure(tmp_path / f"dba3c_simulated_{name}.png")
    first, second = cost_file.load(tmp_path / "costs.json", "nature_grey")
    assert first.calls.message.server.fixed > 0
    assert min(second.steps.alone) > 0
    both = merged([first, second])
    assert both.steps.alone == first.steps.alone + second.steps.alone
    message = both.calls.message.caller.fixed
    assert message == pytest.approx((first.calls.message.caller.fixed + second.calls.message.caller.fixed) / 2)
    cost_file.append(tmp_path / "costs.json", "another", "abacus, float32", both)
    assert cost_file.load(tmp_path / "costs.json", "another") == [both]
    assert cost_file.load(tmp_path / "costs.json", "nature_grey") == [first, second]


def test_costs_of_another_processor_are_not_added_to(tmp_path: Path) -> None:
    costs = tmp_path / "costs.json"
    (known,) = cost_file.load(OUTPUT / "costs.json", "nature_grey")[:1]
    cost_file.append(costs, "nature_grey", "abacus, float32", known)
    with pytest.raises(SystemExit, match=r"costs\.json was measured on abacus, float32, "):
        simulation.main(networks=("nature_grey",), check_networks=(), num_rounds=2, output=tmp_path, figures=tmp_path)
    assert cost_file.load(costs, "nature_grey") == [known]


def test_time_to_a_score_is_drawn_from_measured_updates_and_simulated_seconds(tmp_path: Path) -> None:
    runs, curves = learning_rows(["workers_1", "base", "workers_4", "workers_8"])
    simulated = pd.DataFrame(
        {"study": WORKERS, "network": "dba3c_quick", "num_workers": [1, 2, 3, 4], "num_servers": 4}
    ).assign(seconds_per_update=0.1)
    simulation.draw_time_to_score(simulated, tmp_path, tmp_path)
    assert list(tmp_path.iterdir()) == [], "nothing has been learned yet"
    runs.to_csv(tmp_path / "learning.csv")
    curves.to_csv(tmp_path / "learning_curves.csv")
    simulation.draw_time_to_score(simulated, tmp_path, tmp_path)
    assert is_figure(tmp_path / "dba3c_simulated_time_to_score.png")
