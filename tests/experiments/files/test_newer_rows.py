"""What a run that goes back to a checkpoint sets aside: rows, scores and games of parameters that were lost."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.experiments.files.run_folder import open_folder
from pipeline.results.load import load_run
from pipeline.rows import Row
from pipeline.run_folders import recording_name
from tests.experiments.files.test_run_folder import EPISODE, EVALUATION, UPDATE
from tests.experiments.smoke_runs import smoke_config


def test_rows_newer_than_a_checkpoint_are_set_aside(tmp_path: Path) -> None:
    folder = open_folder(smoke_config(tmp_path))
    episodes = [replace(EPISODE, wall_seconds=seconds) for seconds in (1.0, 2.0, 3.0)]
    folder.write([*episodes, replace(UPDATE, wall_seconds=2.5), replace(EVALUATION, wall_seconds=2.0)])
    folder.close()
    assert folder.discard_rows_after(2.0) == 2
    loaded = load_run(folder.path)
    assert list(loaded.episodes["wall_seconds"]) == [1.0, 2.0]
    assert len(loaded.updates) == 0 and len(loaded.evaluations) == 1
    discarded = folder.path / "discarded"
    assert [path.name for path in sorted(discarded.iterdir())] == ["episodes.csv", "updates.csv"]
    assert (discarded / "episodes.csv").read_text().endswith(",3.0\n")
    assert folder.discard_rows_after(2.0) == 0


def test_scores_of_lost_parameters_and_their_games_are_set_aside_but_not_the_random_player_s(tmp_path: Path) -> None:
    folder = open_folder(smoke_config(tmp_path))
    (folder.path / "checkpoints" / "best").mkdir(parents=True)
    (folder.path / "checkpoints" / "best" / f"{7:012d}.npz").touch()
    players = [("checkpoint", 5, 2.0), ("checkpoint", 9, 9.0), ("training", 8, 8.0)]
    players += [("best", 7, 7.0), ("best", 6, 6.0), ("random", 0, 9.5)]
    rows = [replace(EVALUATION, agent=agent, version=v, wall_seconds=seconds) for agent, v, seconds in players]
    folder.write(rows)
    folder.close()
    names = [recording_name(row.protocol, row.agent, row.version, sampled=row.sampled) for row in rows]
    (folder.path / "recordings").mkdir()
    for name in names:
        (folder.path / "recordings" / name).touch()
    assert folder.discard_rows_after(2.0) == 3
    left = load_run(folder.path).evaluations
    assert list(zip(left["agent"], left["version"], strict=True)) == [("checkpoint", 5), ("best", 7), ("random", 0)]
    kept = {path.name for path in (folder.path / "recordings").iterdir()}
    aside = {path.name for path in (folder.path / "discarded" / "recordings").iterdir()}
    assert kept == {names[0], names[3], names[5]} and aside == {names[1], names[2], names[4]}


def test_of_a_role_whose_clock_lags_those_rows_are_set_aside_that_it_wrote_after_the_checkpoint(
    tmp_path: Path,
) -> None:
    folder = open_folder(smoke_config(tmp_path))
    roles = ("bundle-0", "bundle-1", "bundle-2")
    folder.write([replace(EPISODE, role=role, wall_seconds=seconds) for role in roles for seconds in (1.5, 2.0)])
    folder.close()
    # The checkpoint was written when bundle-1's clock stood at 1.5, the others' at 2.0.
    assert folder.discard_rows_after(2.0, {"bundle-0": 2.0, "bundle-1": 1.5}) == 1
    kept = load_run(folder.path).episodes
    assert list(zip(kept["role"], kept["wall_seconds"], strict=True)) == [
        ("bundle-0", 1.5),
        ("bundle-0", 2.0),
        ("bundle-1", 1.5),
        ("bundle-2", 1.5),
        ("bundle-2", 2.0),
    ]


@pytest.mark.parametrize(
    ("row", "name", "cut"),
    [
        (EPISODE, "episodes.csv", "bundle-0,3,100,800,12.0,50,False,0.5,7,1.2"),
        (EPISODE, "episodes.csv", "bundle-0,3,10"),
        (EVALUATION, "evaluations.csv", "noop_sta"),
    ],
)
def test_a_line_that_a_kill_or_a_full_disk_cut_short_is_set_aside(
    tmp_path: Path, row: Row, name: str, cut: str
) -> None:
    folder = open_folder(smoke_config(tmp_path))
    folder.write([row])
    folder.close()
    path = folder.path / name
    whole = path.read_text()
    path.write_text(whole + cut)
    assert folder.discard_rows_after(100.0) == 1
    assert path.read_text() == whole
