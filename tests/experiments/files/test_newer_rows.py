"""What a run that goes back to a checkpoint sets aside: rows, scores and games of parameters that were lost."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.experiments.files.newer_rows import set_newer_aside, set_newer_checkpoints_aside
from pipeline.numbered_files import path_of
from pipeline.results.load import load_run
from pipeline.rows import Row
from pipeline.run_folders import recording_name
from tests.experiments.files.test_run_folder import EPISODE, EVALUATION, UPDATE
from tests.experiments.smoke_runs import opened, smoke_config


def test_rows_newer_than_a_checkpoint_are_set_aside(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    episodes = [replace(EPISODE, wall_seconds=seconds) for seconds in (1.0, 2.0, 3.0)]
    folder.write([*episodes, replace(UPDATE, wall_seconds=2.5), replace(EVALUATION, wall_seconds=2.0)])
    folder.close()
    assert set_newer_aside(folder.path, 7, 2.0, {}) == 2
    loaded = load_run(folder.path)
    assert list(loaded.episodes["wall_seconds"]) == [1.0, 2.0]
    assert len(loaded.updates) == 0 and len(loaded.evaluations) == 1
    discarded = folder.path / "discarded"
    assert [path.name for path in sorted(discarded.iterdir())] == ["episodes.csv", "updates.csv"]
    assert (discarded / "episodes.csv").read_text().endswith(",3.0\n")
    assert set_newer_aside(folder.path, 7, 2.0, {}) == 0


def test_scores_of_lost_parameters_and_their_games_are_set_aside_but_not_the_random_player_s(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    # What tells is the version: two sets of parameters may have been taken within one second.
    players = [("checkpoint", 5), ("checkpoint", 9), ("training", 8), ("best", 8), ("best", 7), ("random", 0)]
    rows = [replace(EVALUATION, agent=agent, version=version, wall_seconds=2.0) for agent, version in players]
    folder.write(rows)
    folder.close()
    names = [recording_name(row.protocol, row.agent, row.version, sampled=row.sampled) for row in rows]
    (folder.path / "recordings").mkdir()
    for name in names:
        (folder.path / "recordings" / name).touch()
    assert set_newer_aside(folder.path, 7, 2.0, {}) == 3
    left = load_run(folder.path).evaluations
    assert list(zip(left["agent"], left["version"], strict=True)) == [players[0], *players[4:]]
    kept = {path.name for path in (folder.path / "recordings").iterdir()}
    aside = {path.name for path in (folder.path / "discarded" / "recordings").iterdir()}
    assert kept == {names[0], *names[4:]} and aside == set(names[1:4])


def test_newer_checkpoints_are_set_aside_each_under_a_name_of_its_own_and_from_another_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_disk(*_: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    folder, disk = opened(smoke_config(tmp_path)), tmp_path / "disk"
    disk.mkdir()
    folder.checkpoints.symlink_to(disk)
    monkeypatch.setattr(os, "rename", other_disk)
    for content in (b"first", b"second"):
        for version in (3, 9):
            path_of(folder.checkpoints, version).write_bytes(content)
        set_newer_checkpoints_aside(folder.path, 3)
    assert [path.name for path in disk.iterdir()] == [f"{3:012d}.npz"]
    aside = folder.path / "discarded" / "checkpoints"
    assert {path.name: path.read_bytes() for path in aside.iterdir()} == {
        f"{9:012d}.npz": b"first",
        f"{9:012d}.1.npz": b"second",
    }


def test_of_a_role_whose_clock_lags_those_rows_are_set_aside_that_it_wrote_after_the_checkpoint(
    tmp_path: Path,
) -> None:
    folder = opened(smoke_config(tmp_path))
    roles = ("bundle-0", "bundle-1", "bundle-2")
    folder.write([replace(EPISODE, role=role, wall_seconds=seconds) for role in roles for seconds in (1.5, 2.0)])
    folder.close()
    # The checkpoint was written when bundle-1's clock stood at 1.5, the others' at 2.0.
    assert set_newer_aside(folder.path, 7, 2.0, {"bundle-0": 2.0, "bundle-1": 1.5}) == 1
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
    folder = opened(smoke_config(tmp_path))
    folder.write([row])
    folder.close()
    path = folder.path / name
    whole = path.read_text()
    path.write_text(whole + cut)
    assert set_newer_aside(folder.path, 7, 100.0, {}) == 1
    assert path.read_text() == whole
