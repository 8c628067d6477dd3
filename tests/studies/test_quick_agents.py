"""The comparison of agents at a toy size, and what is made of its rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipeline.config.overrides import compose
from studies import quick_agents, row_file
from studies.quick_agents import CASES, improvements, roles_table, time_to_score
from studies.row_file import RowFile
from studies.trained_runs import CurveRow, CurvesFile, TrainedRow

TINY = (
    "network.hidden_units=16",
    "topology.num_lanes=8",
    "replay.batch_size=4",
    "replay.min_transitions=64",
    "budget.frames=24_000",
    "algorithm.steps_per_update=32",
    "evaluation=smoke",
    "progress=none",
)


def curves(**scores: list[float]) -> pd.DataFrame:
    """Two runs a case, one point above and one below these scores, which come a minute and 1,000 steps apart."""
    return pd.concat(
        pd.DataFrame(
            {
                "case": case,
                "seed": seed,
                "game": "Breakout",
                "steps": 1_000 * np.arange(1, len(of_case) + 1),
                "wall_seconds": 60.0 * np.arange(1, len(of_case) + 1),
                "score": np.array(of_case) + (1.0 if seed else -1.0),
            }
        )
        for case, of_case in scores.items()
        for seed in (0, 1)
    )


@pytest.mark.slow
def test_missing_runs_are_made_once_compared_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--seeds", "0", "--cases", "dqn", "one_bundle", "--runs-dir", str(tmp_path / "runs")]
    arguments += ["--output", str(tmp_path), "--figures", str(tmp_path), "--overrides", *TINY]
    quick_agents.main(arguments)
    rows = pd.read_csv(tmp_path / "runs.csv")
    assert list(rows["case"]) == ["dqn", "one_bundle"] and (rows["frames"] >= 24_000).all()
    assert (rows["num_updates"] > 0).all() and (rows["evaluation_episodes"] > 0).all()
    curves_of_both = (tmp_path / "curves.csv").read_text()
    assert set(pd.read_csv(tmp_path / "curves.csv")["case"]) == {"dqn", "one_bundle"}
    assert list(pd.read_csv(tmp_path / "improvements.csv")["case"]) == ["one_bundle"]
    assert (tmp_path / "quick_agents.png").read_bytes().startswith(b"\x89PNG")
    written = (tmp_path / "runs.csv").read_text()
    (tmp_path / "runs.csv").unlink()
    quick_agents.main(arguments)
    again, facts = pd.read_csv(tmp_path / "runs.csv"), ["case", "num_updates", "wall_seconds"]
    assert again[facts].equals(rows[facts]), "folders that are done are read, not trained again"
    assert (tmp_path / "curves.csv").read_text() == curves_of_both, "a run has one curve"
    (tmp_path / "runs.csv").write_text(written)
    quick_agents.main(arguments)
    assert (tmp_path / "runs.csv").read_text() == written
    assert [json.loads(line)["num_runs"] for line in capsys.readouterr().out.splitlines()] == [2, 2, 2]


def test_tables_are_of_one_game(tmp_path: Path) -> None:
    rows = [
        TrainedRow(case, seed, game, 480_000, 29_000, score, score, score, score, 30, 300.0, "abc")
        for case in CASES
        for seed in (0, 1)
        for game, score in (("Breakout", 10.0), ("Pong", -20.0))
    ]
    RowFile(tmp_path / "runs.csv", TrainedRow, ()).append(*rows)
    points = [
        CurveRow(row.case, row.seed, row.game, row.frames, steps, seconds, row.training_mean)
        for row in rows
        for steps, seconds in ((1_000, 60.0), (2_000, 300.0))
    ]
    CurvesFile(tmp_path / "curves.csv").put(*points)
    made = quick_agents.tables(tmp_path)
    assert "| `gorila` | 10.0, 10.0 | 10.0 |" in made["scores"]
    assert "-20" not in made["time_to_score"]


def test_runs_of_another_processor_are_refused_before_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_agents, "_train", lambda *_: pytest.fail("it was trained"))
    run = TrainedRow("dqn", 0, "Breakout", 480_000, 29_000, 1.0, 1.0, 1.0, 1.0, 30, 300.0, "abc")
    point = CurveRow("dqn", 0, "Breakout", 480_000, 1_000, 60.0, 1.0)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(row_file, "processor_here", lambda precision: "abacus, float32")
        quick_agents._run_rows(tmp_path / "a").append(run)
        quick_agents._curve_rows(tmp_path / "b").put(point)
    for folder, name in (("a", "runs"), ("b", "curves")):
        with pytest.raises(SystemExit, match=rf"{name}\.csv was measured on abacus, float32, .*: nothing was measured"):
            places = ["--output", str(tmp_path / folder), "--figures", str(tmp_path)]
            quick_agents.main(["--cases", "gorila", *places])


def test_the_rows_that_are_committed_are_of_the_processor_that_the_page_names() -> None:
    folder = Path(__file__).resolve().parents[2] / "results" / "quick_agents"
    for rows in (quick_agents._run_rows(folder), quick_agents._curve_rows(folder)):
        assert set(row_file.kinds_of(rows.frame())) == {"avx512, bfloat16, AMD EPYC, 2 cores"}
    assert "2 cores of an AMD EPYC with AVX-512 bfloat16" in (folder / "README.md").read_text()


@pytest.mark.parametrize("case", CASES)
def test_all_cases_have_the_same_schedule(case: str) -> None:
    ours, baseline = (compose([*CASES[name], "game=Breakout"]) for name in (case, "dqn"))
    assert ours.budget == baseline.budget
    assert ours.algorithm.kind == "q_learning"
    assert ours.optimizer == baseline.optimizer
    assert ours.param_server.target_period_updates == baseline.param_server.target_period_updates


def test_improvements_are_over_the_baseline_run_by_run() -> None:
    scores = {"dqn": [3.0, 5.0], "apex": [4.0, 6.0], "rainbow": [9.0, 8.0]}
    runs = pd.DataFrame(
        [{"case": case, "evaluation_mean": score} for case, of_case in scores.items() for score in of_case]
    )
    found = improvements(runs).set_index("case")
    assert found["probability"].to_dict() == {"apex": 0.75, "rainbow": 1.0}
    assert found["mean_score"].to_dict() == {"apex": 5.0, "rainbow": 8.5}
    assert improvements(runs[runs["case"] != "dqn"]).empty


def test_separate_roles_stand_beside_bundles_pair_by_pair() -> None:
    scores = {"gorila": [21.2, 23.9, 17.5], "global": [14.3, 20.6, 15.5], "dqn": [1.0]}
    rows = [{"case": case, "evaluation_mean": score} for case, of_case in scores.items() for score in of_case]
    assert "| `global` | 1 of 9 pairs | 0.11 [" in roles_table(pd.DataFrame(rows))


def test_minutes_are_drawn_of_those_alone_that_had_the_machine_to_themselves() -> None:
    frames, minutes = quick_agents.agents_figure(curves(dqn=[1.0, 2.0], apex=[1.0, 2.0])).axes
    # Two runs and their mean.
    assert (len(frames.get_lines()), len(minutes.get_lines())) == (6, 3)


def test_another_game_does_not_take_the_place_of_what_is_published(tmp_path: Path) -> None:
    rows = [
        TrainedRow(case, seed, "Pong", 480_000, 29_000, 1.0, 1.0, 1.0, 1.0, 30, 300.0, "abc")
        for case in ("dqn", "gorila")
        for seed in (0, 1)
    ]
    points = [CurveRow(row.case, row.seed, "Pong", row.frames, steps, steps, 1.0) for row in rows for steps in (1, 2)]
    quick_agents._run_rows(tmp_path).append(*rows)
    quick_agents._curve_rows(tmp_path).put(*points)
    arguments = ["--cases", "dqn", "--seeds", "0", "--output", str(tmp_path), "--figures", str(tmp_path)]
    quick_agents.main([*arguments, "--game", "Pong"])
    derived = {"improvements_pong.csv", "time_to_score_pong.csv", "quick_agents_pong.png"}
    assert {path.name for path in tmp_path.iterdir()} == {"runs.csv", "curves.csv", *derived}


def test_the_time_to_a_score_is_that_of_its_first_reach_or_never() -> None:
    found = time_to_score(curves(dqn=[0.0, 2.0, 9.0], gorila=[3.0, 1.0, 1.0]), baseline_minutes=2.5)
    assert set(found["score"]) == {2.0}
    minutes = {(row["case"], row["seed"]): row["minutes"] for row in found.to_dict("records")}
    assert minutes == {("dqn", 0): 3.0, ("dqn", 1): 2.0, ("gorila", 0): 1.0, ("gorila", 1): 1.0}
    never = time_to_score(curves(dqn=[5.0], gorila=[1.0]), baseline_minutes=1.0)
    assert np.isinf(never["minutes"][never["case"] == "gorila"]).all()
