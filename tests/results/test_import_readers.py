import math
from pathlib import Path

import pandas as pd
import pytest

from pipeline.errors import RunFolderError
from pipeline.results.import_readers import COLUMNS, Reader, read_dopamine, read_dqn_zoo, read_sb3
from tests.results.foreign_files import write_dopamine, write_dqn_zoo, write_monitor


def points(reader: Reader, path: Path) -> pd.DataFrame:
    frame = pd.concat([read() for _, read in reader(path)], ignore_index=True)
    assert tuple(frame.columns) == COLUMNS
    return frame


def rows(frame: pd.DataFrame, *columns: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in frame[list(columns)].to_numpy().tolist()]


def test_games_of_several_monitors_are_one_run_in_order_of_their_ends(tmp_path: Path) -> None:
    write_monitor(tmp_path / "a2c" / "0.monitor.csv", [(1.0, 100, 1.0), (2.0, 100, 5.0)])
    write_monitor(tmp_path / "a2c" / "1.monitor.csv", [(3.0, 50, 1.0)], t_start=1002.0)
    found = points(read_sb3, tmp_path / "a2c")
    assert rows(found, "frames", "score") == [(100.0, 1.0), (150.0, 3.0), (250.0, 2.0)]
    assert rows(found, "agent", "game", "run", "kind")[0] == ("a2c", "Breakout", "a2c", "games")


def test_each_folder_of_monitors_is_a_run_of_the_agent_that_the_folder_above_names(tmp_path: Path) -> None:
    for run in ("Pong_1", "Pong_2"):
        write_monitor(tmp_path / "dqn" / run / "monitor.csv", [(-21.0, 800, 1.0)], "ALE/Pong-v5")
    assert rows(points(read_sb3, tmp_path / "dqn"), "agent", "game", "run") == [
        ("dqn", "Pong", "Pong_1"),
        ("dqn", "Pong", "Pong_2"),
    ]


@pytest.mark.parametrize(
    ("environment", "frames"),
    [("PongNoFrameskip-v4", 10.0), ("ALE/Pong-v5", 40.0), ("Pong-v4", math.nan), ("PongDeterministic-v4", math.nan)],
)
def test_steps_are_frames_where_the_environment_fixes_how_many(tmp_path: Path, environment: str, frames: float) -> None:
    write_monitor(tmp_path / "monitor.csv", [(1.0, 10, 1.0)], environment)
    assert points(read_sb3, tmp_path)["frames"].tolist() == pytest.approx([frames], nan_ok=True)


def test_a_last_line_that_a_kill_cut_off_is_no_game(tmp_path: Path) -> None:
    path = write_monitor(tmp_path / "monitor.csv", [(1.0, 10, 1.0)])
    path.write_text(path.read_text() + "4.0,1")
    assert points(read_sb3, tmp_path)["score"].tolist() == [1.0]


def test_more_columns_in_a_monitor_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "monitor.csv").write_text('#{"t_start": 1.0, "env_id": "Pong-v4"}\nr,l,t,lives\n2.0,10,1.0,3\n')
    assert points(read_sb3, tmp_path)["score"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("r,l,t\n1.0,10,1.0\n", "does not begin with a line like"),
        ('#{"t_start": 1.0}\nr,l,t\n', "does not begin with a line like"),
        ('#{"t_start": 1.0, "env_id": null}\nr,l,t\n', "None is none of the 49"),
        ('#{"t_start": 1.0, "env_id": "CartPole-v1"}\nr,l,t\n', "CartPole-v1 is none of the 49"),
        ('#{"t_start": 1.0, "env_id": "Pong-v4"}\nr,l\n1.0,10\n', "no table with the columns r, l, t"),
        ('#{"t_start": 1.0, "env_id": "Pong-v4"}\nr,l,t\nx,10,1.0\n', "no table with the columns r, l, t"),
    ],
)
def test_a_file_that_is_no_monitor_s_says_why(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "monitor.csv").write_text(text)
    with pytest.raises(RunFolderError, match=why):
        points(read_sb3, tmp_path)


def test_monitors_of_two_games_in_one_folder_are_no_run(tmp_path: Path) -> None:
    write_monitor(tmp_path / "0.monitor.csv", [], "PongNoFrameskip-v4")
    write_monitor(tmp_path / "1.monitor.csv", [], "BreakoutNoFrameskip-v4")
    with pytest.raises(RunFolderError, match="several environments: BreakoutNoFrameskip-v4, PongNoFrameskip-v4"):
        points(read_sb3, tmp_path)


def test_runs_of_dopamine_begin_where_iterations_begin_again(tmp_path: Path) -> None:
    path = write_dopamine(tmp_path / "beamrider.json", [("DQN", [1.0, 2.0]), ("DQN", [3.0, 4.0]), ("C51", [5.0])])
    found = points(read_dopamine, path)
    assert rows(found, "agent", "run", "frames", "score") == [
        ("DQN", "1", 1e6, 1.0),
        ("DQN", "1", 2e6, 2.0),
        ("DQN", "2", 1e6, 3.0),
        ("DQN", "2", 2e6, 4.0),
        ("C51", "1", 1e6, 5.0),
    ]
    assert set(found["game"]) == {"BeamRider"} and set(found["kind"]) == {"means"}


def test_a_folder_of_dopamine_s_data_gives_the_49_games_and_networks_apart(tmp_path: Path) -> None:
    write_dopamine(tmp_path / "airraid.json", [("DQN", [1.0])])
    write_dopamine(tmp_path / "pong.json", [("DQN", [2.0])])
    write_dopamine(tmp_path / "pong_Impala.json", [("DQN", [3.0])])
    (tmp_path / "pong.vg.json").write_text('{"data": {"url": "data/pong.json"}}')
    assert rows(points(read_dopamine, tmp_path), "agent", "game") == [("DQN", "Pong"), ("DQN (Impala)", "Pong")]


@pytest.mark.parametrize("text", ["{", '{"a": 1}', '[{"Agent": "DQN", "Value": 1}]'])
def test_what_is_not_dopamine_s_data_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "pong.json").write_text(text)
    with pytest.raises(RunFolderError, match="no list of objects with Agent, Iteration and Value"):
        points(read_dopamine, tmp_path)


def test_evaluations_of_dqn_zoo_are_told_apart_by_game_and_seed(tmp_path: Path) -> None:
    phases = [
        ("beam_rider", 2, 1, "20.0"), ("beam_rider", 2, 0, "10.0"), ("solaris", 1, 1, "7.0"), ("pong", 1, 1, "nan")
    ]  # fmt: skip
    path = write_dqn_zoo(tmp_path / "double_q.csv", phases)
    assert points(read_dqn_zoo, path).to_numpy().tolist() == [
        ["double_q", "BeamRider", "2", "means", 0.0, 10.0],
        ["double_q", "BeamRider", "2", "means", 1e6, 20.0],
    ]


def test_the_table_of_a_single_run_of_dqn_zoo_lacks_game_and_seed(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("iteration,frame,eval_episode_return\n0,0,1.0\n")
    with pytest.raises(RunFolderError, match=r"results.csv is no table with the columns environment_name, seed, frame"):
        points(read_dqn_zoo, tmp_path)
