"""A small round of everything: parts, real runs beside the simulation of the same, a small grid, and rows of roles."""

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from measuring.processor import named_here
from measuring.provenance import provenance
from studies.gorila_growth import costs, growth, senders, simulation
from studies.gorila_growth.costs import Measured, SliceBytes
from studies.gorila_growth.grid import BUNDLES, CHECK, CHECKED, MACHINES, MEMORY, PROCESSES, THREADS, WIRES, Case
from studies.gorila_growth.real_runs import RealRun
from tests.studies.gorila_growth.test_experiment import PARTS

TINY = (
    "network=dqn_2013",
    "network.hidden_units=16",
    "topology.num_lanes=4",
    "replay.batch_size=4",
    "replay.min_transitions=64",
    "algorithm.steps_per_update=2",
    "precision=float32",
)
TINY_WORKERS = (
    "network.torso=dqn_2013",
    "network.hidden_units=16",
    "topology.num_lanes=2",
    "algorithm.batch_size=10",
    "precision=float32",
)
MEASURED = Measured(PARTS, full_speed=0.75, num_cores=2)


def test_roles_stand_where_the_plan_of_the_run_puts_them() -> None:
    case = Case(BUNDLES, MACHINES, 3, 2)
    far = simulation.simulated(case, MEASURED, "Pong")
    # Sixteen lanes: a play of 2 s, four gradients of 1 s; the network alone takes time.
    assert far.steps_per_second == pytest.approx(3 * 16 / 6.0, rel=0.01)
    assert far.waited_share < 0.01
    slow = simulation.simulated(Case(BUNDLES, MACHINES, 3, 2, gigabits_per_second=1e-7), MEASURED, "Pong")
    assert slow.waited_share > 0.5
    thin = MEASURED.costs.wire._replace(push_bytes=SliceBytes(0.0, 0.4))
    fewer_bytes = MEASURED._replace(costs=MEASURED.costs._replace(wire=thin))
    quick = simulation.simulated(Case(BUNDLES, MACHINES, 3, 2, gigabits_per_second=1e-7), fewer_bytes, "Pong")
    assert quick.steps_per_second > slow.steps_per_second


def test_a_case_of_this_machine_has_the_cores_that_its_costs_were_measured_on() -> None:
    case = Case(CHECK, THREADS, 4, 2)
    two, eight = (simulation.simulated(case, MEASURED._replace(num_cores=count), "Pong") for count in (2, 8))
    assert eight.steps_per_second > 1.5 * two.steps_per_second


def test_parts_are_measured_before_each_run_of_their_wire_and_all_wires_get_their_turn() -> None:
    before = [simulation.wires_before(number, CHECKED, (*WIRES, MEMORY)) for number in range(len(CHECKED))]
    assert [wires[0] for wires in before] == [case.wire for case in CHECKED]
    assert [wires[1:] for wires in before] == [["bfloat16"], ["factors"]] * 3
    assert simulation.wires_before(0, CHECKED, ("float32", "memory")) == ["float32"]


def test_parts_of_another_processor_are_simulated_and_not_mixed_with_runs_of_this_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "costs.json"
    costs.append(path, "float32", "nothing", "abacus, float32", MEASURED)
    simulation.main(
        wires=("float32",),
        checked=(Case(CHECK, THREADS, 1, 2),),
        grid=tuple(Case(BUNDLES, MACHINES, count, 16, num_gradients=6) for count in (1, 3, 5)),
        output=tmp_path,
        figures=tmp_path,
    )
    assert f"{path} is of {named_here('abacus, float32')}: on this " in capsys.readouterr().err
    assert len(costs.load(path, "float32")) == 1 and not (tmp_path / "growth.csv").exists()
    assert simulation.simulation_rows(tmp_path).frame()["study"].tolist() == [CHECK, BUNDLES, BUNDLES, BUNDLES]


def test_a_prediction_stands_beside_runs_of_its_own_processor(tmp_path: Path) -> None:
    costs.append(tmp_path / "costs.json", "float32", "nothing", "avx2, float32", MEASURED)
    models = [str(provenance()["cpu"])] * 2 + ["another"]
    real = pd.DataFrame(
        {
            "processor": ["avx2, float32", "avx512, bfloat16", "avx2, float32"],
            "cpu": models,
            "num_cores": os.cpu_count(),
        }
    )
    real["steps_per_second"] = [100.0, 400.0, 200.0]
    assert simulation.runs_beside(real, tmp_path / "costs.json")["steps_per_second"].tolist() == [100.0]


def test_parts_that_are_missing_on_another_processor_are_named(tmp_path: Path) -> None:
    costs.append(tmp_path / "costs.json", "float32", "nothing", "abacus, float32", MEASURED)
    with pytest.raises(SystemExit, match="no parts of factors, memory"):
        simulation.main(wires=("float32", "factors", "memory"), output=tmp_path, figures=tmp_path)


def test_a_run_of_another_processor_does_not_count_as_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Sequence[str]] = []

    def run(words: Sequence[str]) -> RealRun:
        measured.append(words)
        return RealRun(1, 2.0, 3.0, 0.0, 0.0, 0.0, 4, 5)

    monkeypatch.setattr(growth, "real_run", run)
    for kind, count in (("avx2, float32", 1), ("avx2, float32", 1), ("avx512, bfloat16", 2)):
        monkeypatch.setattr(growth, "processor_here", lambda precision, kind=kind: kind)
        growth.main(num_rounds=1, worker_counts=(1,), shard_counts=(), output=tmp_path)
        assert len(measured) == count
    assert growth.growth_rows(tmp_path).frame()["processor"].tolist() == ["avx2, float32", "avx512, bfloat16"]


@pytest.mark.slow
def test_parts_are_measured_and_what_they_predict_stands_beside_real_runs(tmp_path: Path) -> None:
    simulation.main(
        num_rounds=1,
        bundle_steps=1_200,
        part_seconds=0.5,
        num_cores=1,
        wires=("float32", "factors"),
        checked=(Case(CHECK, PROCESSES, 2, 2),),
        grid=tuple(Case(BUNDLES, MACHINES, count, 16) for count in (1, 5, 9)),
        overrides=TINY,
        output=tmp_path,
        figures=tmp_path,
    )
    (measured,), (factored,) = (costs.load(tmp_path / "costs.json", wire) for wire in ("float32", "factors"))
    assert factored.costs.wire.push_bytes.of(1000) != measured.costs.wire.push_bytes.of(1000) == 4_000
    assert min(measured.costs.play_seconds) > 0 and min(measured.costs.gradient_seconds) > 0
    assert measured.costs.direct.push.fixed > 0 and measured.costs.wire.message.server.fixed > 0
    rows, real = pd.read_csv(tmp_path / "simulation.csv"), pd.read_csv(tmp_path / "growth.csv")
    assert rows["study"].tolist() == [CHECK, BUNDLES, BUNDLES, BUNDLES]
    assert real["num_roles"].tolist() == [2]
    assert (real["steps_per_second"] > 0).all() and (real["peak_bytes"] > 50e6).all()
    assert {path.name for path in tmp_path.glob("*.png")} == {
        f"gorila_growth_{name}.png" for name in ("prediction", "bundles", "published")
    }


@pytest.mark.slow
def test_workers_and_shards_grow_in_real_runs(tmp_path: Path) -> None:
    def main() -> str:
        growth.main(
            num_rounds=1,
            role_steps=1_200,
            worker_steps=1_200,
            worker_counts=(2,),
            shard_counts=(3,),
            clusters=(THREADS,),
            overrides=TINY,
            worker_overrides=TINY_WORKERS,
            output=tmp_path,
        )
        return (tmp_path / "growth.csv").read_text()

    first = main()
    assert [line.split(",")[0] for line in first.splitlines()] == ["study", "workers", "shards"]
    assert main() == first, "what is there is not measured again"


@pytest.mark.slow
def test_rows_of_many_roles_are_all_written(tmp_path: Path) -> None:
    senders.main(num_rounds=1, role_counts=(6,), seconds=2.0, row_seconds=0.5, output=tmp_path)
    (row,) = pd.read_csv(tmp_path / "senders.csv").to_dict("records")
    assert row["num_missing_rows"] == row["num_lapsed"] == 0
    assert row["rows_per_second"] > 0 and row["look_seconds"] > 0
