"""Run folders: never overwritten silently, written as rows come, trimmed back to a checkpoint."""

import re
import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from pipeline.config.tree import to_yaml
from pipeline.errors import RunFolderError, UnfitFolderError
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.exact import keep_rows
from pipeline.experiments.files.newer_rows import set_newer_aside
from pipeline.experiments.files.run_folder import RunFolder, check_folder
from pipeline.experiments.files.saved_config import config_anywhere, read_config
from pipeline.param_server.snapshot import first_snapshot
from pipeline.results.load import load_run, load_runs
from pipeline.rows import ROW_FILES, ActorCriticUpdateRow, EpisodeRow, EvaluationRow, UpdateRow
from pipeline.settings import as_settings
from tests.clusters import cluster_config
from tests.config.runs import run_of_yaml
from tests.experiments.smoke_runs import opened, smoke_config
from tests.killed import killed_while_writing
from tests.networks import modules

EPISODE = EpisodeRow("bundle-0", 3, 100, 800, 12.0, 50, False, 0.5, 7, 1.25)
UPDATE = UpdateRow("bundle-0", 100, 98, 1, 1, 0, 7, 800, 0.5, 1.5, 0.1, 0.2, 0.3, 2, 0.5, 600.0, 150.0, 90, 0.0, 1.5)
EVALUATION = EvaluationRow(
    "smoke", "checkpoint", 7, 800, 0, 99, 0, 2.0, 50, True, 0.05, False, 0, 4, 4, 0.0, 30, 400, False, True,
    "none", "", 2.0,
)  # fmt: skip

FILES = sorted(set(ROW_FILES.values()))


def save_checkpoint(folder: RunFolder) -> None:
    checkpoint.save(folder.checkpoints, Checkpoint(first_snapshot(np.zeros(3, np.float32)), {}, 1), keep=1)


def test_a_run_lives_at_experiment_game_seed_with_its_settings(tmp_path: Path) -> None:
    config = smoke_config(tmp_path, "seed=3")
    folder = opened(config)
    assert folder.path == config.folder == tmp_path / "smoke_gorila" / "Breakout" / "3"
    assert run_of_yaml((folder.path / "config.yaml").read_text()) == config


def test_a_taken_folder_is_refused_with_both_ways_out_and_left_alone(tmp_path: Path) -> None:
    config = smoke_config(tmp_path)
    opened(config)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for refuse in (check_folder, opened):
        with pytest.raises(RunFolderError, match=r"holds a run already.*resume=true.*overwrite=true"):
            refuse(config)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_overwrite_deletes_the_old_run(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    folder.write([EPISODE])
    folder.close()
    folder = opened(smoke_config(tmp_path, "overwrite=true"))
    assert {path.name for path in folder.path.iterdir()} == {"config.yaml", *FILES}
    assert [len((folder.path / name).read_text().splitlines()) for name in FILES] == [1, 1, 1]


def test_an_overwrite_that_was_cut_short_leaves_nothing_that_looks_like_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = opened(smoke_config(tmp_path))
    save_checkpoint(folder)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(shutil, "rmtree", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            opened(smoke_config(tmp_path, "overwrite=true"))
    assert not folder.path.exists() and load_runs(tmp_path).runs.empty
    assert [path.name.rpartition(".")[0] for path in folder.path.parent.iterdir()] == [".0.deleted"]
    again = opened(smoke_config(tmp_path, "overwrite=true"))
    assert not checkpoint.any_in(again.checkpoints)
    opened(smoke_config(tmp_path, "overwrite=true"))
    assert [path.name for path in folder.path.parent.iterdir()] == ["0"]


def test_a_link_to_nothing_is_named(tmp_path: Path) -> None:
    path = smoke_config(tmp_path).folder
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "gone")
    with pytest.raises(RunFolderError, match=r"0 is a link to .*gone, where nothing is: make that folder, or remove"):
        check_folder(smoke_config(tmp_path))


def raise_interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_what_is_no_run_folder_is_neither_filled_nor_deleted(tmp_path: Path) -> None:
    path = smoke_config(tmp_path).folder
    path.mkdir(parents=True)
    (path / "thesis.tex").touch()
    for words in ([], ["overwrite=true"], ["resume=true"]):
        with pytest.raises(RunFolderError, match="is there and is no run folder: move it away"):
            opened(smoke_config(tmp_path, *words))
    assert [entry.name for entry in path.iterdir()] == ["thesis.tex"]
    with pytest.raises(RunFolderError, match=r"cannot be written: .*thesis\.tex is read-only or no folder"):
        check_folder(smoke_config(path / "thesis.tex"))


def test_a_config_that_cannot_be_read_is_named_with_its_file(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    (folder.path / "config.yaml").write_text("")
    with pytest.raises(RunFolderError, match=r"smoke_gorila/Breakout/0/config\.yaml cannot be read: it is empty"):
        check_folder(smoke_config(tmp_path, "resume=true"))


def test_a_folder_of_another_version_is_told_as_that_with_its_commit_and_a_few_of_the_differences(
    tmp_path: Path,
) -> None:
    folder = opened(smoke_config(tmp_path))
    folder.write_run({"commit": "0123456789abcdef"})
    path = folder.path / "config.yaml"
    path.write_text("".join(line for line in path.read_text().splitlines(True) if "epsilon" not in line))
    with pytest.raises(RunFolderError) as refused:
        read_config(folder.path)
    first, *others = str(refused.value).splitlines()
    assert "was written by another version of pipeline, commit 0123456 of it: go on with that version" in first
    assert len(others) == 4 and others[-1].strip().startswith("and ") and others[-1].endswith(" more")


def test_a_run_is_resumed_on_another_cluster_where_its_old_one_cannot_be_used_any_more(tmp_path: Path) -> None:
    path = opened(smoke_config(tmp_path)).path / "config.yaml"
    here = path.read_text()
    before, cluster, after = re.split(r"(?<=\n)(?=cluster:|evaluation:)", here)
    assert cluster.startswith("cluster:")
    gone = OmegaConf.to_yaml({"cluster": as_settings(cluster_config("address", address="tls://here:8786"))})
    assert "tls_ca_file: null" in gone
    for old in (
        gone.replace("tls_ca_file: null", f"tls_ca_file: {tmp_path}/gone.pem"),
        "cluster:\n  kind: of_an_older_version\n  num_lions: 3\n",
    ):
        path.write_text(f"{before}{old}{after}")
        with pytest.raises(UnfitFolderError, match="names what cannot be used here: cluster"):
            read_config(path.parent)
        with pytest.raises(UnfitFolderError, match=r"cannot be resumed with other settings:\s+replay\.capacity: "):
            check_folder(smoke_config(tmp_path, "resume=true", "replay.capacity=5_000"))
        opened(smoke_config(tmp_path, "resume=true"))
        assert path.read_text() == here.replace("resume: false", "resume: true")


def test_rows_that_the_disk_refuses_are_told_as_what_they_are(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    (folder.path / "episodes.csv").unlink()
    (folder.path / "episodes.csv").symlink_to("/dev/full")
    folder._file(EpisodeRow).write("x")
    with pytest.raises(RunFolderError, match=r"the last rows could not be written: .*No space left"):
        folder.close()
    folder.close()


def test_a_disk_that_refuses_rows_is_told_at_once(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    (folder.path / "episodes.csv").unlink()
    (folder.path / "episodes.csv").symlink_to("/dev/full")
    with pytest.raises(RunFolderError, match=r"rows could not be written: .*No space left"):
        folder.write([EPISODE])
    with pytest.raises(RunFolderError):
        folder.close()


def test_a_resume_with_other_settings_is_refused_with_both_values(tmp_path: Path) -> None:
    opened(smoke_config(tmp_path))
    changed = smoke_config(tmp_path, "resume=true", "replay.batch_size=16", "budget.frames=99", "cluster=processes")
    with pytest.raises(RunFolderError, match=r"replay.batch_size: 8 in the run folder, 16 now") as refused:
        check_folder(changed)
    assert "budget" not in str(refused.value) and "cluster" not in str(refused.value)


def test_of_many_other_settings_the_first_dozen_is_named_and_the_way_out(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path)).path
    (folder / "config.yaml").write_text(to_yaml(smoke_config(tmp_path, experiment="smoke_rainbow")))
    with pytest.raises(UnfitFolderError, match=r"and \d+ more\nGive the same settings again") as refused:
        check_folder(smoke_config(tmp_path, "resume=true"))
    assert str(refused.value).count(" in the run folder, ") == 12


def test_a_resume_of_another_version_s_rows_is_refused(tmp_path: Path) -> None:
    updates = opened(smoke_config(tmp_path)).path / "updates.csv"
    updates.write_text(updates.read_text().replace(",waited_seconds", ""))
    with pytest.raises(RunFolderError, match=r"updates\.csv has the columns of another version"):
        check_folder(smoke_config(tmp_path, "resume=true"))


def test_the_update_rows_of_a_run_are_its_algorithm_s(tmp_path: Path) -> None:
    for experiment, row_type in (("smoke_gorila", UpdateRow), ("smoke_dba3c", ActorCriticUpdateRow)):
        folder = opened(smoke_config(tmp_path, experiment=experiment))
        header = (folder.path / "updates.csv").read_text().splitlines()
        assert header == [",".join(field.name for field in fields(row_type))]
        check_folder(smoke_config(tmp_path, "resume=true", experiment=experiment))


def test_a_resume_may_raise_the_budget_and_the_folder_remembers_it(tmp_path: Path) -> None:
    save_checkpoint(opened(smoke_config(tmp_path)))
    folder = opened(smoke_config(tmp_path, "resume=true", "budget.frames=99"))
    assert run_of_yaml((folder.path / "config.yaml").read_text()).budget.frames == 99


def test_resume_and_overwrite_are_welcome_where_there_is_no_run_yet(tmp_path: Path) -> None:
    assert opened(smoke_config(tmp_path, "resume=true")).path.is_dir()
    assert opened(smoke_config(tmp_path, "overwrite=true", "seed=1")).path.is_dir()


def test_rows_are_in_their_files_as_soon_as_they_are_written(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    folder.write([EPISODE, UPDATE, EVALUATION])
    folder.write([replace(EPISODE, lane=4)])
    loaded = load_run(folder.path)  # nothing was closed: a killed run has come no further
    assert list(loaded.episodes["lane"]) == [3, 4]
    assert loaded.updates["num_admitted"].item() == 98 and loaded.evaluations["score"].item() == 2.0
    folder.close()


def test_a_folder_that_is_opened_again_appends_under_the_one_header(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    folder.write([EPISODE])
    folder.close()
    save_checkpoint(folder)
    again = opened(smoke_config(tmp_path, "resume=true"))
    again.write([EPISODE])
    again.close()
    lines = (folder.path / "episodes.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["role", "bundle-0", "bundle-0"]


def test_rows_beyond_a_number_are_set_aside_whatever_their_time_and_evaluations_stay(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    folder.write([EPISODE, replace(EPISODE, score=13.0), replace(EPISODE, score=14.0), UPDATE, EVALUATION])
    folder.close()
    with (folder.path / "episodes.csv").open("a") as file:
        file.write("bundle-0,3")
    assert keep_rows(folder.path, {"EpisodeRow": 2}) == 3
    loaded = load_run(folder.path)
    assert list(loaded.episodes["score"]) == [12.0, 13.0]
    assert len(loaded.updates) == 0 and len(loaded.evaluations) == 1
    assert (folder.path / "discarded" / "episodes.csv").read_text().splitlines()[1:] == ["bundle-0,3"]
    assert keep_rows(folder.path, {"EpisodeRow": 2}) == 0


def test_lines_that_are_no_rows_go_whatever_else_is_kept_of_a_deterministic_run(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    folder.write([EPISODE, UPDATE, EVALUATION])
    folder.close()
    for name in FILES:
        with (folder.path / name).open("a") as file:
            file.write("of a full")
    assert keep_rows(folder.path, None) == 3
    folder.write([EPISODE, UPDATE, replace(EVALUATION, episode=1)])
    folder.close()
    loaded = load_run(folder.path)
    assert [len(frame) for frame in (loaded.episodes, loaded.updates, loaded.evaluations)] == [2, 2, 2]


def test_a_run_that_was_killed_before_its_first_checkpoint_begins_again(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    folder.close()
    again = opened(smoke_config(tmp_path, "resume=true"))
    assert again.path == folder.path and not (folder.path / "discarded").exists()


@pytest.mark.parametrize("place", ["nothing", "an empty folder", "a file", "a link to nowhere"])
def test_rows_of_a_training_whose_checkpoints_are_gone_stay_where_they_are(tmp_path: Path, place: str) -> None:
    folder = opened(smoke_config(tmp_path))
    folder.write([EPISODE])
    folder.close()
    if place == "an empty folder":
        folder.checkpoints.mkdir()
    elif place == "a file":
        folder.checkpoints.touch()
    elif place == "a link to nowhere":
        folder.checkpoints.symlink_to(tmp_path / "no disk")
    told = {"a file": "checkpoints is no folder", "a link to nowhere": "is a link to .*no disk, where nothing is"}
    with pytest.raises(RunFolderError, match=told.get(place, "has rows of a training, and no checkpoint of it")):
        opened(smoke_config(tmp_path, "resume=true"))
    assert len(load_run(folder.path).episodes) == 1 and not (folder.path / "discarded").exists()


def test_a_start_that_was_killed_while_it_wrote_its_settings_begins_again(tmp_path: Path) -> None:
    config = smoke_config(tmp_path)
    killed_while_writing(config.folder / "config.yaml")
    check_folder(config)
    assert run_of_yaml((opened(config).path / "config.yaml").read_text()) == config


def test_run_json_is_replaced_whole(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    assert folder.read_run() == {}
    folder.write_run({"end_reason": None})
    folder.write_run({"end_reason": "budget"})
    assert folder.read_run() == {"end_reason": "budget"}
    assert {path.name for path in folder.path.iterdir()} == {"config.yaml", "run.json", *FILES}


def test_rows_of_a_folder_that_was_deleted_are_not_written_into_nothing(tmp_path: Path) -> None:
    folder = opened(smoke_config(tmp_path))
    folder.write([EPISODE])
    shutil.rmtree(folder.path)
    with pytest.raises(RunFolderError, match="rows could not be written: the folder was deleted or moved away while"):
        folder.write([EPISODE])
    folder.close()
    assert not folder.path.exists()


@pytest.mark.parametrize(
    "line",
    [
        b"bundle-0,3,1o0,800,12.0,50,False,0.5,7,1.25\n",
        b"bundle-0,3,100,800,12.0,50,False,0.5,7,1.2x5\n",
        b"bundle-0,3,100,800,12.0,50,Falsf,0.5,7,1.25\n",
        b"bundle-0,3,100,800,12.0,50,False,0.5,7,nan\n",
        b"bundle-0,3,100,800,inf,50,False,0.5,7,1.25\n",
        b"bundle-0,3,100,800,nan,50,False,0.5,7,1.25\n",
        b'"bundle-0,3,100,800,12.0,50,False,0.5,7,1.25\n',
        b"bundle-\xff,3,100,800,12.0,50,False,0.5,7,1.25\n",
        b"bundle-0,3,100,800,12.0,50,False\r0.5,7,1.25\n",
        b"bundle-0,3,100,800,12.0,50,False,0.5,7\n",
        b"\n",
        bytes(40) + b"\n",
    ],
)
def test_one_damaged_line_goes_to_discarded_and_the_run_goes_on(tmp_path: Path, line: bytes) -> None:
    folder = opened(smoke_config(tmp_path))
    folder.write([EPISODE, EPISODE])
    folder.close()
    path = folder.path / "episodes.csv"
    header, first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(header + first + line + second)
    assert set_newer_aside(folder.path, 7, 100.0, {}) == 1
    assert path.read_bytes() == header + first + second
    assert (folder.path / "discarded" / "episodes.csv").read_bytes() == line
    assert len(load_run(folder.path).episodes) == 2


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b'{"started_at": 7}'])
def test_a_run_json_that_cannot_be_read_is_moved_aside_with_a_word(tmp_path: Path, data: bytes) -> None:
    folder = opened(smoke_config(tmp_path))
    assert folder.set_aside_unreadable_run() is None
    (folder.path / "run.json").write_bytes(data)
    assert folder.read_run() == {}
    said = folder.set_aside_unreadable_run()
    assert said is not None and "run.json was moved to" in said
    (aside,) = (folder.path / "discarded").iterdir()
    assert str(aside) in said and aside.read_bytes() == data and not (folder.path / "run.json").exists()


@pytest.mark.parametrize("name", ["/proc/nowhere", "a" * 300, "nowhere/" + "a" * 300, "a\0b"])
def test_a_results_dir_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = replace(smoke_config(tmp_path), results_dir=name)
    for refuse in (check_folder, opened):
        with pytest.raises(RunFolderError, match=r"cannot be written: .*; choose another results_dir"):
            refuse(config)
    assert list(tmp_path.iterdir()) == []


def test_a_module_that_was_changed_since_is_named_and_no_other_version_is_blamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["network=module", "network.class=tests.networks.modules.Values"]
    path = opened(smoke_config(tmp_path, *words)).path
    monkeypatch.setattr(modules.Values, "forward", lambda *_: [][0])
    told = r"names what cannot be used here: network\.class=tests\.\S+ cannot compute"
    for read in (read_config, config_anywhere):
        with pytest.raises(UnfitFolderError, match=told):
            read(path)
