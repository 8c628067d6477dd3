"""When the evaluations of a run reached the authors' stop, from run folders written row by row."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline.rows import EvaluationRow
from studies.dba3c import stops
from tests.results.run_folders import evaluation, write_run

PROCESSOR = {"processor": "AMD EPYC", "precision": "bfloat16"}
HOSTS = [
    {"roles": ["worker-0", "shard-0"], **PROCESSOR},
    {"roles": ["worker-1"], "instructions": "avx512", **PROCESSOR},
    {"roles": ["evaluator"], "processor": "Xeon", "precision": "float32"},
]


def played(scores: list[float], frames: int, hours: float, **changes: Any) -> list[EvaluationRow]:
    """One evaluation."""
    own: dict[str, Any] = {"protocol": "ba3c_50_nature", "agent": "training"} | changes
    own |= {"total_frames": frames, "wall_seconds": 3600 * hours}
    return [evaluation(score, number, frames // 8, **own) for number, score in enumerate(scores)]


def written_stops(tmp_path: Path) -> pd.DataFrame:
    """The rows that the command writes, and its figures are drawn."""
    written = ["--output", str(tmp_path), "--figures", str(tmp_path)]
    stops.main(["--runs-dir", str(tmp_path / "runs"), *written])
    return pd.read_csv(tmp_path / "stops.csv")


def test_the_first_mean_at_a_goal_says_what_it_took(tmp_path: Path) -> None:
    rows = [
        *played([21.0, 21.0], 1_000_000, 0.1, agent="random"),
        *played([21.0, 21.0], 1_000_000, 0.1, protocol="noop_starts"),
        *played([9.0, 9.0], 2_000_000, 0.5),
        *played([8.0, 12.0], 4_000_000, 1.0),
        *played([20.0, 12.0], 6_000_000, 1.5, agent="checkpoint"),
    ]
    write_run(tmp_path, rows, "dba3c", commit="0123456789abcdef+", compute_threads=2, hosts=HOSTS)
    ten, eighteen = written_stops(tmp_path).to_dict("records")
    assert (ten["goal"], ten["mean"], ten["steps"], ten["hours"]) == (10.0, 10.0, 1.0, 1.0)
    assert (ten["num_cores"], ten["core_hours"], ten["num_games"]) == (4, 4.0, 2)
    assert (ten["last_mean"], ten["last_steps"], ten["commit"]) == (16.0, 1.5, "0123456789abcdef+")
    assert math.isnan(ten["over_claim"]), "the authors claim nothing of Pong"
    assert eighteen["goal"] == 18.0 and math.isnan(eighteen["core_hours"]), "it was never reached"
    assert (tmp_path / "dba3c_stops_pong.png").read_bytes().startswith(b"\x89PNG")


def test_only_the_authors_own_game_and_goal_stand_beside_their_claim(tmp_path: Path) -> None:
    for seed, score in enumerate((300.0, 299.0)):
        folder_rows = played([score], 40_000_000, 8.0)
        write_run(tmp_path, folder_rows, "ba3c", "Breakout", seed, compute_threads=1, hosts=HOSTS)
    reached, missed = written_stops(tmp_path).to_dict("records")
    assert reached["core_hours"] == 16.0
    assert reached["over_claim"] == pytest.approx(16 / 256, abs=1e-4)
    assert math.isnan(missed["over_claim"])


def test_a_goal_that_was_never_reached_has_no_costs_in_the_table(tmp_path: Path) -> None:
    rows = [*played([9.0, 13.0], 4_000_000, 1.0), *played([12.0, 12.0], 4_400_000, 1.1, agent="checkpoint")]
    write_run(tmp_path, rows, "dba3c", commit="0123456789abcdef", compute_threads=1, hosts=HOSTS)
    written_stops(tmp_path)
    _, _, ten, eighteen = stops.stops_table(stops.read_stops(tmp_path)).splitlines()
    end = "|  | AMD EPYC, avx512, bfloat16; AMD EPYC, bfloat16 | 12.0 after 1.10 | 0123456 |"
    assert ten == f"| `dba3c/Pong/0` | 10 | 11.0 | 1.00 | 1.00 | 2 | 2.00 {end}"
    assert eighteen == f"| `dba3c/Pong/0` | 18 | never |  |  | 2 |  {end}"


def test_notes_beside_the_runs_are_no_runs(tmp_path: Path) -> None:
    write_run(tmp_path, played([12.0, 12.0], 4_000_000, 1.0), "dba3c", compute_threads=1, hosts=HOSTS)
    (tmp_path / "runs" / "dba3c" / "Pong" / "0.processor.txt").write_text("avx2, float32, AMD EPYC, 2 cores\n")
    assert written_stops(tmp_path)["seed"].tolist() == [0, 0]


def test_a_protocol_that_no_run_was_played_under_writes_nothing(tmp_path: Path) -> None:
    write_run(tmp_path, played([12.0], 4_000_000, 1.0), "dba3c", compute_threads=1, hosts=HOSTS)
    written = ["--output", str(tmp_path), "--figures", str(tmp_path)]
    with pytest.raises(SystemExit, match=r"no evaluation under ba3c_50_natur below .*: nothing was written"):
        stops.main(["--runs-dir", str(tmp_path / "runs"), "--protocol", "ba3c_50_natur", *written])
    assert not (tmp_path / "stops.csv").exists()


@pytest.mark.parametrize("words", [["--experiments", "ba3c"], ["--protocol", "sticky"], ["--runs-dir", "elsewhere"]])
def test_other_runs_do_not_take_the_place_of_what_is_published(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stops, "evaluation_means", lambda *_: pytest.fail("it was read"))
    for place in ([], ["--output", str(tmp_path)], ["--figures", str(tmp_path)]):
        word = words[0].removeprefix("--")
        with pytest.raises(SystemExit, match=f"is of other runs than these, which differ in {word}.* Name --[of]"):
            stops.main([*words, *place])


def test_hours_are_drawn_of_the_runs_of_one_commit() -> None:
    old, runs = "0123456789ab-dirty", [("dba3c", 0), ("ba3c", 0), ("dba3c", 1)]
    curves = pd.DataFrame(
        [
            {"run": f"{experiment}/{seed}", "experiment": experiment, "game": "Pong", "seed": seed, "commit": commit}
            for (experiment, seed), commit in zip(runs, (old, old, "new"), strict=True)
        ]
    ).assign(mean=1.0, steps=1.0, hours=1.0, core_hours=1.0, num_cores=2, num_games=50)
    figure = stops.stops_figure(curves)
    assert [axes.get_title() for axes in figure.axes] == ["", *["runs of 0123456+"] * 2]
    labels = [
        [str(line.get_label()) for line in axes.get_lines() if "seed" in str(line.get_label())] for axes in figure.axes
    ]
    ours = ["ba3c, seed 0 (2 cores)", "dba3c, seed 0 (2 cores)"]
    assert sorted(labels[0]) == [*ours, "dba3c, seed 1 (2 cores)"]
    assert sorted(labels[1]) == sorted(labels[2]) == ours


def test_a_folder_without_runs_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no run of dba3c, dba3c_large_batch, ba3c below .*runs"):
        written_stops(tmp_path)
