import dataclasses
import shutil
from pathlib import Path

import pandas as pd
import pytest

from pipeline.errors import RunFolderError
from pipeline.results.load import load_run, load_runs, of_known_games
from pipeline.rows import ActorCriticUpdateRow, EpisodeRow, EvaluationRow, UpdateRow
from tests.results.run_folders import actor_critic_update, append_rows, episode, evaluation, update, write_run


def test_every_row_comes_back_with_its_run_and_its_types(tmp_path: Path) -> None:
    written = [episode(-20.5), episode(3.0, truncated=True, lane=2)]
    folder = write_run(tmp_path, [*written, update(), evaluation(-21.0)], experiment="dqn", game="Breakout", seed=7)
    loaded = load_run(folder)
    assert loaded.problems == ()
    keys = ["experiment", "game", "seed"]
    assert loaded.episodes[keys].to_numpy().tolist() == [["dqn", "Breakout", 7]] * 2
    assert [EpisodeRow(*row) for row in loaded.episodes.drop(columns=keys).itertuples(index=False)] == written
    assert list(loaded.updates.columns) == keys + [field.name for field in dataclasses.fields(UpdateRow)]
    fields = [field.name for field in dataclasses.fields(EvaluationRow)]
    assert list(loaded.evaluations.columns) == keys + fields
    assert loaded.evaluations[["seed", "episode_seed"]].to_numpy().tolist() == [[7, 70]]
    assert loaded.episodes.dtypes[["lane", "score", "truncated"]].tolist() == ["int64", "float64", "bool"]
    assert pd.isna(loaded.updates["heldout_max_q"][0])


def test_facts_of_the_run_are_there_and_missing_ones_are_absent(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [episode(1.0)], commit="abc", end_reason="budget", versions={"torch": "2"})
    run = load_run(folder).runs.iloc[0]
    assert (run["commit"], run["end_reason"], run["folder"]) == ("abc", "budget", str(folder))
    assert run["wall_seconds"] is None


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_last_line_that_a_killed_run_cut_off_is_skipped_and_named(tmp_path: Path, newline: str) -> None:
    folder = write_run(tmp_path, [episode(1.0), episode(2.0), update(), evaluation(0.0)])
    path = folder / "episodes.csv"
    whole = path.read_text().replace("\n", newline)
    # 10.0 seconds, cut off after the 1: all columns are there, and one is wrong.
    path.write_bytes(whole.encode()[: -len("0.0" + newline)])
    loaded = load_run(folder)
    assert loaded.episodes["score"].tolist() == [1.0]
    assert len(loaded.problems) == 1
    assert loaded.problems[0].startswith(f"{path}: the last line is cut off and was skipped: 'bundle-0,0,250,")


@pytest.mark.parametrize("behind", [b"bundle-0,\xff\xfe", b"\x00" * 4096])
def test_a_last_line_that_is_not_text_is_skipped_and_named_in_short(tmp_path: Path, behind: bytes) -> None:
    folder = write_run(tmp_path, [episode(1.0)])
    with (folder / "episodes.csv").open("ab") as file:
        file.write(behind)
    loaded = load_run(folder)
    assert loaded.episodes["score"].tolist() == [1.0]
    (problem,) = [line for line in loaded.problems if "the last line is cut off and was skipped: " in line]
    assert problem.isprintable() and len(problem) < len(str(folder)) + 350


def test_missing_and_empty_files_are_named_and_give_no_rows(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [episode(1.0)])
    (folder / "config.yaml").unlink()
    (folder / "updates.csv").touch()
    loaded = load_run(folder)
    assert loaded.problems == (
        f"{folder / 'config.yaml'}: missing",
        f"{folder / 'updates.csv'}: empty",
        f"{folder / 'evaluations.csv'}: missing",
    )
    assert len(loaded.updates) == len(loaded.evaluations) == 0
    assert loaded.evaluations["score"].dtype == "float64"


def test_a_run_without_run_json_is_known_by_its_path(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [episode(1.0)], experiment="gorila", game="Pong", seed=3)
    (folder / "run.json").unlink()
    loaded = load_run(folder)
    assert loaded.episodes[["experiment", "game", "seed"]].to_numpy().tolist() == [["gorila", "Pong", 3]]
    assert f"{folder / 'run.json'}: missing" in loaded.problems


def test_a_run_without_run_json_that_was_copied_is_known_by_its_config(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [evaluation(1.0)], experiment="gorila", game="Pong", seed=3)
    (folder / "run.json").unlink()
    (folder / "config.yaml").write_text("experiment: gorila\ngame: Pong\nseed: 3\nbudget:\n  frames: 7\n")
    moved = folder.rename(tmp_path / "pong")
    keys = [["gorila", "Pong", 3]]
    assert load_run(moved).evaluations[["experiment", "game", "seed"]].to_numpy().tolist() == keys
    (moved / "evaluations.csv").unlink()
    assert load_run(moved).runs[["experiment", "game", "seed"]].to_numpy().tolist() == keys
    (moved / "config.yaml").write_text("experiment: [gorila]\ngame: ../Pong\nseed: 1.5\n")
    with pytest.raises(RunFolderError, match="is no run folder"):
        load_run(moved)


def test_a_run_of_which_nothing_says_the_game_can_be_read_and_has_no_place_among_others(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [episode(1.0)])
    (folder / "run.json").unlink()
    moved = folder.rename(tmp_path / "7")
    assert load_run(moved).episodes["game"].tolist() == [""]
    write_run(tmp_path, [episode(2.0)], game="Hero")
    loaded = load_runs(tmp_path)
    assert loaded.runs["game"].tolist() == ["", "Hero"]
    known = of_known_games(loaded)
    assert known.runs["game"].tolist() == known.episodes["game"].tolist() == ["Hero"]
    assert known.problems[-1] == f"{moved}: left out: no game that there is stands in run.json, config.yaml or the path"
    assert of_known_games(known) == known


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run.json", "{", "run.json cannot be read: it is no JSON"),
        ("run.json", "[]", "run.json cannot be read: it is JSON, and no object"),
        ("run.json", '{"seed": "one"}', "seed must be a whole number"),
        ("run.json", '{"game": "../../README"}', r"run\.json: game=../../README: there is no such game"),
        (
            "episodes.csv",
            "role,lane\nbundle-0,0\n",
            "has the columns role, lane; this version needs role, lane, end_step",
        ),
        ("episodes.csv", None, "line 3 has fewer than 10 values"),
        ("episodes.csv", "role,lane\xff\n", "is not text"),
    ],
)
def test_a_damaged_file_is_refused_with_its_path(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    folder = write_run(tmp_path, [episode(1.0)])
    path = folder / name
    cut_off = path.read_text() + "bundle-0,0,1,2,3.0,4,False,0.5,7\n"
    path.write_text(cut_off if text is None else text, encoding="latin-1")
    with pytest.raises(RunFolderError, match=message) as caught:
        load_run(folder)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("column", ["score", "epsilon", "wall_seconds"])
def test_a_file_without_a_column_that_was_always_there_is_foreign(tmp_path: Path, column: str) -> None:
    folder = write_run(tmp_path, [evaluation(1.0)])
    path = folder / "evaluations.csv"
    rows = pd.read_csv(path)
    rows.drop(columns=column).to_csv(path, index=False, lineterminator="\n")
    with pytest.raises(RunFolderError, match=r"evaluations\.csv has the columns"):
        load_run(folder)
    assert load_runs(tmp_path).runs.empty


def test_the_mark_that_excel_writes_before_a_file_is_read_over(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [episode(1.0)])
    path = folder / "episodes.csv"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_run(folder).episodes["score"].tolist() == [1.0]


@pytest.mark.parametrize("score", [float("inf"), float("nan")])
def test_a_game_without_a_finite_score_is_refused_by_its_line(tmp_path: Path, score: float) -> None:
    folder = write_run(tmp_path, [episode(1.0), episode(score)])
    with pytest.raises(RunFolderError, match=r"episodes\.csv: line 3 has no finite score"):
        load_run(folder)


def test_who_has_no_use_for_the_updates_of_q_learners_has_none_and_all_else(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [update(mean_q=0.75), episode(1.0)], experiment="gorila")
    write_run(tmp_path, [actor_critic_update(mean_entropy=1.25)], experiment="dba3c")
    with (folder / "updates.csv").open("a") as file:
        file.write("bundle-0,1")
    whole, light = (load_runs(tmp_path / "runs", with_updates=wanted) for wanted in (True, False))
    assert (len(whole.updates), len(light.updates)) == (1, 0)
    assert light.updates.dtypes.equals(whole.updates.dtypes)
    assert light.problems == whole.problems and any("updates.csv" in line for line in light.problems)
    assert light.runs.equals(whole.runs) and light.episodes.equals(whole.episodes)
    assert light.actor_critic_updates.equals(whole.actor_critic_updates) and len(light.actor_critic_updates) == 1


def test_updates_of_either_kind_of_algorithm_are_told_by_their_header(tmp_path: Path) -> None:
    q_learning = write_run(tmp_path, [update(mean_q=0.75)], experiment="gorila")
    write_run(tmp_path, [actor_critic_update(mean_entropy=1.25)], experiment="dba3c")
    loaded = load_runs(q_learning.parents[2])
    assert loaded.updates[["experiment", "mean_q"]].to_numpy().tolist() == [["gorila", 0.75]]
    assert loaded.actor_critic_updates[["experiment", "mean_entropy"]].to_numpy().tolist() == [["dba3c", 1.25]]
    fields = [field.name for field in dataclasses.fields(ActorCriticUpdateRow)]
    assert list(loaded.actor_critic_updates.columns) == ["experiment", "game", "seed", *fields]


def test_evaluations_of_before_a_rule_was_added_were_played_without_it(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [evaluation(3.0, frame_skip=6, min_frame_skip=6)])
    path = folder / "evaluations.csv"
    pd.read_csv(path).drop(columns=["sampled", "max_equal_actions", "min_frame_skip"]).to_csv(path, index=False)
    evaluations = load_run(folder).evaluations
    assert evaluations[["max_equal_actions", "frame_skip", "min_frame_skip"]].to_numpy().tolist() == [[0, 6, 6]]
    assert evaluations["sampled"].tolist() == [False]
    assert evaluations.dtypes[["sampled", "max_equal_actions", "min_frame_skip"]].tolist() == ["bool", "int64", "int64"]


def test_a_line_with_too_many_values_is_refused_and_not_cut_to_size(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [episode(1.0)])
    path = folder / "episodes.csv"
    path.write_text(path.read_text().replace("10.0\n", "10.0,11.0\n"))
    with pytest.raises(RunFolderError, match="loss of data"):
        load_run(folder)


def test_rows_of_before_a_measure_was_added_are_read_without_it(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [update(mean_loss=0.75), update(mean_loss=0.5)])
    path = folder / "updates.csv"
    rows = pd.read_csv(path).drop(columns="waited_seconds")
    rows.to_csv(path, index=False)
    updates = load_run(folder).updates
    assert updates["waited_seconds"].isna().all()
    assert updates["mean_loss"].tolist() == [0.75, 0.5]
    assert updates.columns.tolist() == load_run(write_run(tmp_path / "new", [update()])).updates.columns.tolist()


def test_a_folder_without_any_file_of_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="is no run folder"):
        load_run(tmp_path)


def test_bad_folders_are_named_and_the_others_loaded(tmp_path: Path) -> None:
    good = write_run(tmp_path, [episode(1.0), evaluation(2.0)], seed=0)
    also_good = write_run(tmp_path, [episode(5.0), update()], seed=1, commit="abc")
    bad = write_run(tmp_path, [episode(9.0)], seed=2)
    (bad / "run.json").write_text("{")
    loaded = load_runs(good.parents[2])
    assert loaded.runs["folder"].tolist() == [str(good), str(also_good)]
    assert loaded.episodes[["seed", "score"]].to_numpy().tolist() == [[0, 1.0], [1, 5.0]]
    assert loaded.problems[-1].startswith(f"{bad}: skipped: ")
    assert f"{good / 'updates.csv'}: missing" in loaded.problems


def test_a_copy_of_a_run_is_named_and_does_not_count_twice(tmp_path: Path) -> None:
    run = write_run(tmp_path, [evaluation(2.0)], seed=0)
    copy = Path(shutil.copytree(run, run.with_name("0_before")))
    loaded = load_runs(run.parents[2])
    assert len(loaded.evaluations) == 1
    assert loaded.problems[-1] == f"{copy}: skipped: it is run gorila/Pong/0 like {run}"


def test_of_copies_the_one_that_has_come_furthest_counts(tmp_path: Path) -> None:
    run = write_run(tmp_path, [evaluation(2.0, total_frames=1_000)], seed=0)
    old = Path(shutil.copytree(run, run.with_name("-1 before")))
    append_rows(run, [evaluation(3.0, 1, total_frames=5_000)])
    loaded = load_runs(run.parents[2])
    assert loaded.runs["folder"].tolist() == [str(run)] and len(loaded.evaluations) == 2
    assert loaded.problems[-1] == f"{old}: skipped: it is run gorila/Pong/0 like {run}"


def test_no_runs_at_all_are_empty_frames_with_all_columns(tmp_path: Path) -> None:
    loaded = load_runs(tmp_path)
    assert [len(frame) for frame in loaded[:5]] == [0, 0, 0, 0, 0]
    assert "score" in loaded.episodes
    assert loaded.problems == ()
    assert load_runs(tmp_path / "nothing").problems == (f"{tmp_path / 'nothing'}: no such folder",)


def test_rows_appended_after_a_resume_belong_to_the_same_run(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [episode(1.0)])
    append_rows(folder, [episode(2.0)])
    assert load_run(folder).episodes["score"].tolist() == [1.0, 2.0]
