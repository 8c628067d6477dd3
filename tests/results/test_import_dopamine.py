import json
import math
import re
from pathlib import Path

import pytest

from pipeline.errors import RunFolderError
from pipeline.results.import_dopamine import read_dopamine
from tests.results.foreign_files import write_dopamine
from tests.results.test_import_readers import points, refused, rows


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


def test_a_folder_of_dopamine_s_data_gives_games_and_networks_apart(tmp_path: Path) -> None:
    write_dopamine(tmp_path / "airraid.json", [("DQN", [1.0])])
    write_dopamine(tmp_path / "pong.json", [("DQN", [2.0])])
    write_dopamine(tmp_path / "pong_Impala.json", [("DQN", [3.0])])
    (tmp_path / "pong.vg.json").write_text('{"data": {"url": "data/pong.json"}}')
    assert rows(points(read_dopamine, tmp_path), "agent", "game") == [
        ("DQN", "AirRaid"),
        ("DQN", "Pong"),
        ("DQN (Impala)", "Pong"),
    ]


def test_agents_of_dopamine_may_take_turns_and_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    records = [record(agent, iteration, value) for iteration, value in ((0, 1), (1, 2.5)) for agent in ("DQN", "C51")]
    (tmp_path / "beam_rider.json").write_text("\ufeff" + json.dumps(records), encoding="utf-8")
    assert rows(points(read_dopamine, tmp_path), "agent", "run", "frames", "score") == [
        ("DQN", "1", 1e6, 1.0),
        ("DQN", "1", 2e6, 2.5),
        ("C51", "1", 1e6, 1.0),
        ("C51", "1", 2e6, 2.5),
    ]


def test_an_iteration_may_have_a_value_of_each_run_and_one_that_lacks_some_is_left_out(tmp_path: Path) -> None:
    values = [(0, 1.0), (0, 2.0), (1, 3.0), (2, 4.0), (2, 5.0), (3, 6.0), (4, 7.0), (4, 8.0)]
    path = tmp_path / "pong_CNN.json"
    path.write_text(json.dumps([record("DQN", *point) for point in values] + [record("C51", 0, 9.0)]))
    ((_, read),) = read_dopamine(path, refused)
    assert rows(read().frame, "agent", "run", "frames", "score") == [
        ("DQN (CNN)", "1", 1e6, 1.0),
        ("DQN (CNN)", "2", 1e6, 2.0),
        ("DQN (CNN)", "1", 3e6, 4.0),
        ("DQN (CNN)", "2", 3e6, 5.0),
        ("DQN (CNN)", "1", 5e6, 7.0),
        ("DQN (CNN)", "2", 5e6, 8.0),
        ("C51 (CNN)", "1", 1e6, 9.0),
    ]
    left_out = "iteration 1 and 1 more lack values of some runs, and nobody can tell of which: they are left out"
    assert read().remarks == (f"{path}: DQN: {left_out}",)


def test_an_iteration_in_which_no_game_ended_has_no_mean(tmp_path: Path) -> None:
    records = [record("DQN", 0, None), record("DQN", 1, math.nan), record("DQN", 2, 3)]
    (tmp_path / "pong.json").write_text(json.dumps(records))
    assert rows(points(read_dopamine, tmp_path), "frames", "score") == [(3e6, 3.0)]


def record(agent: object, iteration: object, value: object) -> dict[str, object]:
    return {"Agent": agent, "Iteration": iteration, "Value": value}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "pong.json is no JSON, or no whole one: Expecting property name enclosed in double quotes: line 1"),
        ('[{"Agent": "DQN",\n "Iteration": 0, "Value": 1}', "no whole one: Expecting ',' delimiter: line 2 column"),
        ("[]\n[]", "pong.json is no JSON, or no whole one: Extra data: line 2 column 1"),
        ('{"a": 1}', "pong.json is no list of objects with Agent, Iteration and Value"),
        ('[{"Agent": "DQN", "Value": 1}]', "pong.json, record 1 is no object with Agent, Iteration and Value"),
        (json.dumps([record("DQN", 0, "21,0")]), "record 1: Agent 'DQN', Iteration 0, Value '21,0' are no text, whole"),
        (json.dumps([record("DQN", 0, 1), record("DQN", 1.5, 1)]), "record 2: Agent 'DQN', Iteration 1.5, Value 1 are"),
        (json.dumps([record("DQN", 0, True)]), "record 1: Agent 'DQN', Iteration 0, Value True are no text, whole"),
        (json.dumps([record("DQN", 0, math.inf)]), "Value inf are no text, whole number and number"),
        (json.dumps([record("DQN", 3, 1)]), "record 1: iteration 3 of DQN follows nothing: records are missing"),
        (json.dumps([record("DQN", i, 1) for i in (0, 0, 2, 2)]), "record 3: iteration 2 of DQN follows iteration 0"),
        (json.dumps([record("DQN", i, 1) for i in (0, 1, 1, 0)]), "record 3: iteration 1 of DQN follows iteration 1"),
    ],
)
def test_what_is_not_dopamine_s_data_is_an_error_with_its_place(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "pong.json").write_text(text)
    with pytest.raises(RunFolderError, match=re.escape(why)):
        points(read_dopamine, tmp_path)


def test_a_file_that_is_called_like_no_game_is_an_error(tmp_path: Path) -> None:
    write_dopamine(tmp_path / "pongs.json", [("DQN", [1.0])])
    with pytest.raises(RunFolderError, match=r"pongs.json: 'pongs' is none of the Atari games"):
        points(read_dopamine, tmp_path)
