"""Files of a deterministic run's roles: what is damaged is told with its name, and the one before it is taken.

That a run goes on bit for bit from them: `tests.experiments.test_exact`.
"""

import contextlib
import errno
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from pipeline.errors import CheckpointError
from pipeline.experiments.exact import ExactRun
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint, Fit
from pipeline.experiments.files.exact import ExactFiles, keep_rows
from pipeline.experiments.files.run_folder import CHECKPOINTS, RunFolder
from pipeline.param_server.snapshot import first_snapshot
from pipeline.results.load import load_run
from pipeline.roles.cuts import Cut
from pipeline.roles.progress import RoleProgress
from pipeline.rows import EpisodeRow
from pipeline.states import pack
from tests.experiments.smoke_runs import opened, smoke_config

FIT = Fit(3, ())
EPISODE = EpisodeRow("bundle-0", 3, 100, 800, 12.0, 50, False, 0.5, 7, 1.25)


class Count(NamedTuple):
    """What these roles remember."""

    number: int


class Other(NamedTuple):
    """What roles of another version do."""

    numbers: tuple[int, ...]


def save(folder: Path, version: int, num_games: int = 0) -> Path:
    """A checkpoint of a run with the states of its role beside it; the file of those. It counts so many games."""
    folder = folder / CHECKPOINTS
    files = ExactFiles(folder, Count)
    folder.mkdir(exist_ok=True)
    progress = RoleProgress(version, version, version, 0.0, 0, 0.0)
    num_rows = {"EpisodeRow": num_games}
    files.write(version, Cut("bundle-0", progress, {"bundle-0": pack(Count(version))}, num_rows, {}), {}, 0)
    server = first_snapshot(np.zeros(FIT.num_parameters, np.float32))._replace(versions=(version,))
    checkpoint.save(folder, Checkpoint(server, {"bundle-0": progress}, 0), keep=2)
    return files.path_of(version)


def test_a_run_goes_on_from_the_newest_states_that_can_be_read_and_says_which_could_not(tmp_path: Path) -> None:
    save(tmp_path, 7)
    newest = save(tmp_path, 9)
    said: list[str] = []
    found = ExactRun(tmp_path, 2, Count).find_start(FIT, said.append)
    assert found is not None and found[0].server.version == 9 and said == []
    newest.write_bytes(newest.read_bytes()[:-30])
    found = ExactRun(tmp_path, 2, Count).find_start(FIT, said.append)
    assert found is not None and found[0].server.version == 7 and found[1] == {"EpisodeRow": 0}
    (line,) = said
    assert line.startswith(f"{newest} cannot be read: ") and line.endswith("; the checkpoint before it is taken")


def test_a_run_goes_on_from_where_it_has_all_rows_and_else_says_which_are_lost(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path)).path
    games = [replace(EPISODE, score=float(i)) for i in range(4)]
    for version, num_games in ((7, 2), (9, 4)):
        save(folder, version, num_games)
    with contextlib.closing(RunFolder(folder)) as written:
        written.write(games[:3])  # a kill came before the fourth
    said: list[str] = []
    exact = ExactRun(folder, 2, Count)
    found = exact.find_start(FIT, said.append)
    assert found is not None and found[0].server.version == 7 and found[1] == {"EpisodeRow": 2}
    assert said == [
        "1 rows of episodes.csv of the checkpoint of update 9 are not whole; the checkpoint before it is taken"
    ]
    # Of the first two one is damaged: no checkpoint has them both, and the older one lacks fewer.
    path = folder / "episodes.csv"
    header, first, *others = path.read_text().splitlines()
    path.write_text("\n".join([header, first[:20], *others]) + "\n")
    said.clear()
    found = exact.find_start(FIT, said.append)
    assert found is not None and found[0].server.version == 7
    assert said == [
        "1 rows of episodes.csv are lost, which the checkpoint of update 7 counts: they are not whole, and no "
        "checkpoint has all of its rows"
    ]
    assert exact.desk.start is not None and exact.desk.start.num_rows == {"EpisodeRow": 1}
    assert keep_rows(folder, found[1]) == 2, "the damaged one, and the third"
    assert list(load_run(folder).episodes["score"]) == [1.0]


def test_states_and_checkpoints_that_do_not_fit_the_run_are_told_by_their_file(tmp_path: Path) -> None:
    states = save(tmp_path, 7)
    with pytest.raises(CheckpointError, match=rf"bit for bit; {states} cannot be read: bundle-0: the saved state is "):
        ExactRun(tmp_path, 2, Other).find_start(FIT, print)
    with pytest.raises(CheckpointError, match=r"7\.npz holds 3 parameters, the network has 4"):
        ExactRun(tmp_path, 2, Count).find_start(Fit(4, ()), print)


def test_states_that_cannot_be_deleted_end_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    states = [save(tmp_path, version) for version in (7, 8, 9)]  # two checkpoints are kept

    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", str(path))

    with monkeypatch.context() as refused:
        refused.setattr(Path, "unlink", refuse)
        ExactFiles(tmp_path / CHECKPOINTS, Count).delete_without_checkpoint({})
    assert all(path.exists() for path in states)
    ExactFiles(tmp_path / CHECKPOINTS, Count).delete_without_checkpoint({})
    assert [path.exists() for path in states] == [False, True, True]


def test_a_run_without_states_begins_anew(tmp_path: Path) -> None:
    assert ExactRun(tmp_path, 2, Count).find_start(FIT, print) is None
    # As a start leaves it before any role has learned.
    save(tmp_path, 0).unlink()
    assert ExactRun(tmp_path, 2, Count).find_start(FIT, print) is None


def test_checkpoints_whose_states_are_gone_are_not_begun_anew_over(tmp_path: Path) -> None:
    states = save(tmp_path, 7)
    states.unlink()
    with pytest.raises(CheckpointError, match=r"exact lacks what belongs to them; put it back"):
        ExactRun(tmp_path, 2, Count).find_start(FIT, print)
