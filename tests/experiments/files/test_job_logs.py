"""What jobs print stays in the folder of their run, which is opened after they began."""

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pipeline.config.overrides import compose
from pipeline.errors import RunFolderError
from pipeline.experiments.files.job_logs import JOBS, jobs_kept
from pipeline.experiments.files.run_folder import check_folder
from tests.experiments.smoke_runs import opened


def test_a_folder_that_is_emptied_keeps_what_jobs_print_and_what_they_go_on_to_print(tmp_path: Path) -> None:
    words = ["experiment=smoke_gorila", "game=Pong", f"results_dir={tmp_path}"]
    folder = opened(compose(words)).path
    (folder / "notes.txt").touch()
    (folder / JOBS).mkdir()
    with (folder / JOBS / "slurm-7.out").open("w", buffering=1) as printed:
        printed.write("before\n")
        with jobs_kept(folder):
            opened(compose([*words, "overwrite=true"]))
        printed.write("after\n")
    assert (folder / JOBS / "slurm-7.out").read_text() == "before\nafter\n"
    assert not (folder / "notes.txt").exists() and (folder / "config.yaml").exists()
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_what_a_start_that_was_killed_has_put_aside_comes_back(tmp_path: Path) -> None:
    words = ["experiment=smoke_gorila", "game=Pong", f"results_dir={tmp_path}"]
    folder = opened(compose(words)).path
    killed: list[AbstractContextManager[None]] = []
    for name in ("slurm-6.out", "slurm-7.out"):
        (folder / JOBS).mkdir()
        (folder / JOBS / name).touch()
        killed.append(jobs_kept(folder))
        killed[-1].__enter__()
    with jobs_kept(folder):
        opened(compose([*words, "overwrite=true"]))
    assert sorted(path.name for path in (folder / JOBS).iterdir()) == ["slurm-6.out", "slurm-7.out"]
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_folders_behind_links_of_one_name_keep_their_own(tmp_path: Path) -> None:
    links = []
    for name in ("x", "y"):
        (tmp_path / "disk" / name / JOBS).mkdir(parents=True)
        (tmp_path / "disk" / name / JOBS / f"slurm-{name}.out").touch()
        (tmp_path / name).mkdir()
        links.append(tmp_path / name / "0")
        links[-1].symlink_to(tmp_path / "disk" / name)
    with jobs_kept(links[0]), jobs_kept(links[1]):
        pass
    assert [[path.name for path in (link / JOBS).iterdir()] for link in links] == [["slurm-x.out"], ["slurm-y.out"]]


def test_a_start_that_is_refused_puts_back_nothing_of_the_one_that_has_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "0"
    (folder / JOBS).mkdir(parents=True)
    (folder / JOBS / "slurm-6.out").touch()
    with jobs_kept(folder):
        (folder / JOBS).mkdir()
        (folder / JOBS / "slurm-7.out").touch()
        with pytest.raises(RunFolderError), jobs_kept(folder):
            assert not (folder / JOBS).exists()
            raise RunFolderError("is used")
        assert [path.name for path in (folder / JOBS).iterdir()] == ["slurm-7.out"]
    assert sorted(path.name for path in (folder / JOBS).iterdir()) == ["slurm-6.out", "slurm-7.out"]


def test_a_folder_without_jobs_is_left_alone(tmp_path: Path) -> None:
    with jobs_kept(tmp_path / "0"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_jobs_whose_run_never_began_do_not_take_its_folder(tmp_path: Path) -> None:
    config = compose(["experiment=smoke_gorila", "game=Pong", f"results_dir={tmp_path}"])
    (config.folder / JOBS).mkdir(parents=True)
    check_folder(config)
