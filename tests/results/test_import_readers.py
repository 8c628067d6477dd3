import math
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from pipeline.errors import RunFolderError
from pipeline.results.import_readers import COLUMNS, Reader, read_dqn_zoo, read_nnabla_rl, read_sb3
from tests.results.foreign_files import write_dqn_zoo, write_monitor, write_nnabla_rl

PONG = '#{"t_start": 1.0, "env_id": "Pong-v4"}'
ZOO = "environment_name,seed,iteration,frame,eval_episode_return"


def refused(error: OSError) -> None:
    """All folders of these tests may be looked into."""
    raise error


def points(reader: Reader, path: Path) -> pd.DataFrame:
    frame = pd.concat([read().frame for _, read in reader(path, refused)], ignore_index=True)
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


@pytest.mark.parametrize("behind", [b"4.0,10,1", b"4.0,\xff\xfe"])
def test_a_last_line_that_a_kill_cut_off_is_no_game(tmp_path: Path, behind: bytes) -> None:
    path = write_monitor(tmp_path / "monitor.csv", [(1.0, 10, 1.0)])
    path.write_bytes(path.read_bytes() + behind)
    ((_, read),) = read_sb3(tmp_path, refused)
    assert read().frame["score"].tolist() == [1.0]
    assert read().remarks == (f"{path}: line 4 is cut off and was skipped",)


def test_more_columns_in_a_monitor_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "monitor.csv").write_text('#{"t_start": 1.0, "env_id": "Pong-v4"}\nr,l,t,lives\n2.0,10,1.0,3\n')
    assert points(read_sb3, tmp_path)["score"].tolist() == [2.0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("r,l,t\n1.0,10,1.0\n", "monitor.csv, line 1 is not like"),
        ("", "monitor.csv, line 1 is not like"),
        ('#{"t_start": 1.0}\nr,l,t\n', "monitor.csv, line 1 is not like"),
        ('#{"t_start": "1.0", "env_id": "Pong-v4"}\nr,l,t\n', "monitor.csv, line 1 is not like"),
        ('#{"t_start": 1.0, "env_id": "CartPole-v1"}\nr,l,t\n', "CartPole-v1 is none of the Atari games"),
        (f"{PONG}\nr,l\n1.0,10\n", "monitor.csv, line 2: the header 'r,l' has no t; needed are r, l, t"),
        (f"{PONG}\nr;l;t\n1,0;10;1,0\n", "monitor.csv, line 2: the header 'r;l;t' has no r, l, t"),
        (f"{PONG}\nr,l,t,r\n1.0,10,1.0,2.0\n", "line 2: the header 'r,l,t,r' has r twice"),
        (f"{PONG}\nr,l,t\nx,10,1.0\n", "monitor.csv, line 3: r is 'x' and no number"),
        (f"{PONG}\nr,l,t\n2.0,10,1.0\n21,0,100,1,0\n", "line 4 has 5 values, its header 3: '21,0,100,1,0'; decimals"),
        (f'{PONG}\nr,l,t\n"21,0","100","1,0"\n', "monitor.csv, line 3: r is '21,0' and no number"),
        (f"{PONG}\nr,l,t\n2.0,10\n3.0,10,2.0\n", "monitor.csv, line 3 has 2 values, its header 3: '2.0,10'"),
        (f"{PONG}\nr,l,t\n2.0,10.5,1.0\n", "line 3: l is '10.5' and no whole number from 1 on"),
        (f"{PONG}\nr,l,t\n21,0,100\n", "line 3: l is '0' and no whole number from 1 on"),
        (f"{PONG}\nr,l,t\n2.0,1_0,1.0\n", "line 3: l is '1_0' and no number"),
        (f"{PONG}\nr,l,t\ninf,10,1.0\n", "line 3: r is 'inf' and no number"),
        (f"{PONG}\nr,l,t\n1.0,10,1.0\n{PONG}\nr,l,t\n2.0,10,1.0\n", "monitor.csv, line 4: another table begins here"),
        (f'{PONG}\nr,l,t\n1.0,"10,1.0\n', "monitor.csv, line 3: unexpected end of data"),
    ],
)
def test_a_file_that_is_no_monitor_s_says_why(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "monitor.csv").write_text(text)
    with pytest.raises(RunFolderError, match=re.escape(why)):
        points(read_sb3, tmp_path)


def test_a_game_that_is_called_none_is_that_of_the_folder_around_a_vector_s_monitor(tmp_path: Path) -> None:
    # VecMonitor knows no name, and the steps of whatever environment is inside.
    write_monitor(tmp_path / "a2c" / "BreakoutNoFrameskip-v4_1" / "monitor.csv", [(1.0, 10, 1.0)], "None")
    assert points(read_sb3, tmp_path / "a2c")[["game", "run"]].to_numpy().tolist() == [
        ["Breakout", "BreakoutNoFrameskip-v4_1"]
    ]
    assert math.isnan(points(read_sb3, tmp_path / "a2c")["frames"][0])
    write_monitor(tmp_path / "ppo" / "Breakouts" / "monitor.csv", [(1.0, 10, 1.0)], None)
    with pytest.raises(RunFolderError, match="no folder above is called like an environment of Atari"):
        points(read_sb3, tmp_path / "ppo")


def test_a_monitor_that_was_gone_on_with_has_its_games_in_the_order_in_which_they_were_played(tmp_path: Path) -> None:
    # `override_existing=False` writes no second header, and seconds begin at 0 again.
    games = [(1.0, 10, 5.0), (2.0, 10, 9.0), (3.0, 10, 2.0), (4.0, 10, 7.0), (5.0, 10, 1.0)]
    write_monitor(tmp_path / "0.monitor.csv", games)
    write_monitor(tmp_path / "1.monitor.csv", [(9.0, 10, 10.0)])
    assert points(read_sb3, tmp_path)["score"].tolist() == [1.0, 2.0, 9.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r\r\n"])
def test_a_monitor_is_read_as_other_programs_save_it_too(tmp_path: Path, newline: str) -> None:
    text = newline.join([PONG, "r,l,t,note", '-21.0,800,1.0,"lost, again"', "", "2e1,800,3.0,won", ""])
    (tmp_path / "monitor.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert points(read_sb3, tmp_path)["score"].tolist() == [-21.0, 20.0]


def test_a_copy_of_a_monitor_beside_it_does_not_count_twice(tmp_path: Path) -> None:
    path = write_monitor(tmp_path / "0.monitor.csv", [(1.0, 10, 1.0)])
    shutil.copy(path, tmp_path / "copy_of_0.monitor.csv")
    with pytest.raises(RunFolderError, match=r"copy_of_0.monitor.csv is a copy of 0.monitor.csv"):
        points(read_sb3, tmp_path)


def test_monitors_of_two_games_in_one_folder_are_no_run(tmp_path: Path) -> None:
    write_monitor(tmp_path / "0.monitor.csv", [], "PongNoFrameskip-v4")
    write_monitor(tmp_path / "1.monitor.csv", [], "BreakoutNoFrameskip-v4")
    with pytest.raises(RunFolderError, match="several environments: BreakoutNoFrameskip-v4, PongNoFrameskip-v4"):
        points(read_sb3, tmp_path)


def test_evaluations_of_dqn_zoo_are_told_apart_by_game_and_seed(tmp_path: Path) -> None:
    phases = [
        ("beam_rider", 2, 1, "20.0"), ("beam_rider", 2, 0, "10.0"), ("solaris", 1, 1, "7.0"), ("pong", 1, 1, "nan"),
        ("pong", 1, 2, ""),
    ]  # fmt: skip
    path = write_dqn_zoo(tmp_path / "double_q.csv", phases)
    assert points(read_dqn_zoo, path).to_numpy().tolist() == [
        ["double_q", "BeamRider", "2", "means", 0.0, 10.0],
        ["double_q", "BeamRider", "2", "means", 1e6, 20.0],
        ["double_q", "Solaris", "1", "means", 1e6, 7.0],
    ]


def test_the_table_of_a_single_run_of_dqn_zoo_is_known_by_its_folders(tmp_path: Path) -> None:
    text = "iteration,frame,eval_episode_return,state_value\n0,0,1.0,0.5\n1,1000000,3.0,0.5\n"
    for place in ("iqn/beam_rider/1", "iqn/beam_rider/2", "dqn/pong/1", "mine"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "results.csv").write_text(text)
    *found, (_, of_mine) = sorted(read_dqn_zoo(tmp_path, refused))
    assert [rows(read().frame, "agent", "game", "run", "score") for _, read in found] == [
        [("dqn", "Pong", "1", 1.0), ("dqn", "Pong", "1", 3.0)],
        [("iqn", "BeamRider", "1", 1.0), ("iqn", "BeamRider", "1", 3.0)],
        [("iqn", "BeamRider", "2", 1.0), ("iqn", "BeamRider", "2", 3.0)],
    ]
    with pytest.raises(RunFolderError, match=r"is not at <agent>/<game>/<seed>/results.csv"):
        of_mine()


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (["pong,1,0,0,1.0"] * 2, "dqn.csv, line 3: frame 0 of Pong, seed 1, is there twice"),
        (["pong,1,0,0,1.0", ZOO, "pong,2,0,0,1.0"], "dqn.csv, line 3: another table begins here"),
        (["pong,1,0,0,1.0", "pongs,1,0,0,1.0"], "dqn.csv, line 3: 'pongs' is none of the Atari games"),
        (["pong,1,0,0,1,5"], "dqn.csv, line 2 has 6 values, its header 5: 'pong,1,0,0,1,5'; decimals need a point"),
        (["pong,1,0,0"], "dqn.csv, line 2 has 4 values, its header 5"),
        (["pong,1.5,0,0,1.0"], "dqn.csv, line 2: seed is '1.5' and no whole number"),
        (["pong,1,0,-4,1.0"], "dqn.csv, line 2: frame is '-4' and no whole number"),
        (["pong,1,0,0,1 000.0"], "dqn.csv, line 2: eval_episode_return is '1 000.0' and no number"),
    ],
)
def test_a_line_of_dqn_zoo_that_says_something_else_is_named(tmp_path: Path, lines: list[str], why: str) -> None:
    (tmp_path / "dqn.csv").write_text("\n".join([ZOO, *lines]) + "\n")
    with pytest.raises(RunFolderError, match=re.escape(why)):
        points(read_dqn_zoo, tmp_path)


def test_each_table_of_nnabla_rl_is_a_run_of_the_game_that_a_folder_above_names(tmp_path: Path) -> None:
    place = tmp_path / "c51" / "BeamRiderNoFrameskip-v4_results"
    write_nnabla_rl(place / "seed-1" / "evaluation_result_scalar.tsv", [(250_000, 1.5), (500_000, 2.25)])
    write_nnabla_rl(place / "seed-10" / "evaluation_result_scalar.tsv", [(250_000, math.nan), (500_000, 4.0)])
    # Of all seeds together, and of what the best ones were.
    write_nnabla_rl(place / "evaluation_result_average_scalar.tsv", [(250_000, 9.0)])
    write_nnabla_rl(place / "seed-1" / "best_score_scalar.tsv", [(1, 9.0)])
    run = "BeamRiderNoFrameskip-v4_results/seed-1"
    assert points(read_nnabla_rl, tmp_path / "c51").to_numpy().tolist() == [
        ["c51", "BeamRider", run, "means", 1e6, 1.5],
        ["c51", "BeamRider", run, "means", 2e6, 2.25],
        ["c51", "BeamRider", f"{run}0", "means", 2e6, 4.0],
    ]
    (point, _) = rows(points(read_nnabla_rl, place / "seed-1" / "evaluation_result_scalar.tsv"), "agent", "score")
    assert point == ("seed-1", 1.5)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("iteration,mean\n1,2.0\n", "scalar.tsv, line 1: the header 'iteration,mean' has no iteration, mean"),
        ("step\tmean\n250\t1,5\n", "scalar.tsv, line 2: mean is '1,5' and no number"),
        ("iteration\tmean\n250\t1.5\n500\t2.0\n250\t1.0\n", "line 4: iteration 250 follows 500: two runs wrote this"),
        ("iteration\tmean\n250\t1.5\t3.0\n", "scalar.tsv, line 2 has 3 values, its header 2"),
    ],
)
def test_a_line_of_nnabla_rl_that_says_something_else_is_named(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "PongNoFrameskip-v4_results").mkdir()
    (tmp_path / "PongNoFrameskip-v4_results" / "evaluation_result_scalar.tsv").write_text(text)
    with pytest.raises(RunFolderError, match=re.escape(why)):
        points(read_nnabla_rl, tmp_path)


def test_files_behind_links_are_found_and_called_by_the_link_s_name(tmp_path: Path) -> None:
    write_monitor(tmp_path / "disk" / "x1" / "monitor.csv", [(1.0, 10, 1.0)])
    (tmp_path / "a2c").mkdir()
    (tmp_path / "a2c" / "Breakout_1").symlink_to(tmp_path / "disk" / "x1")
    (tmp_path / "ppo").symlink_to(tmp_path / "disk" / "x1")
    assert rows(points(read_sb3, tmp_path / "a2c"), "agent", "run") == [("a2c", "Breakout_1")]
    assert rows(points(read_sb3, tmp_path / "ppo"), "agent", "run") == [("ppo", "ppo")]
