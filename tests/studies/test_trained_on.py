"""Runs that were begun elsewhere, or nobody knows where."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from measuring.processor import named_here
from measuring.provenance import provenance
from pipeline import api
from pipeline.config.run_config import RunConfig
from pipeline.errors import DivergedError
from studies import scored_runs, trained_on
from studies.trained_runs import train_or_load, train_until_it_diverges

ZEN4 = "avx512, bfloat16"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a run that has not begun."""
    return tmp_path / "runs" / "dba3c_quick" / "Pong" / "0"


def begin(folder: Path, **of_host: Any) -> None:
    """What a run writes when it starts."""
    folder.mkdir(parents=True, exist_ok=True)
    host = {"processor": provenance()["cpu"], "precision": "bfloat16", "device": "cpu"} | of_host
    (folder / "run.json").write_text(json.dumps({"hosts": [host]}))


def test_a_run_that_begins_here_goes_on_here(folder: Path) -> None:
    trained_on.note(folder, ZEN4)
    assert not folder.exists(), "a run begins in an empty folder"
    begin(folder)
    trained_on.check_hosts(folder, ZEN4)
    trained_on.note(folder, ZEN4)


def test_a_run_that_was_begun_on_another_kind_of_processor_has_no_row_here(folder: Path) -> None:
    trained_on.note(folder, "avx2, float32")
    begin(folder)
    with pytest.raises(SystemExit, match=rf"{folder} was trained on avx2, float32, .*, and this is {ZEN4}, .* no row"):
        trained_on.note(folder, ZEN4)


def test_what_was_noted_of_a_run_that_did_not_begin_or_was_moved_away_does_not_count(folder: Path) -> None:
    trained_on.note(folder, "avx2, float32")
    trained_on.note(folder, ZEN4)
    begin(folder)
    trained_on.note(folder, ZEN4)
    folder.rename(folder.with_name("away"))
    trained_on.note(folder, "avx2, float32")


def test_a_run_of_which_nothing_was_noted_has_no_row(folder: Path) -> None:
    begin(folder)
    with pytest.raises(SystemExit, match=f"{folder} was begun before there was a note of its processor"):
        trained_on.note(folder, ZEN4)


@pytest.mark.parametrize(
    ("of_host", "named"), [({"processor": "Abacus"}, "Abacus in bfloat16"), ({"precision": "float32"}, "in float32")]
)
def test_a_run_whose_hosts_are_others_has_no_row(folder: Path, of_host: dict[str, str], named: str) -> None:
    begin(folder, **of_host)
    with pytest.raises(SystemExit, match=f"{named}, and this is {provenance()['cpu']} in bfloat16: it has no row"):
        trained_on.check_hosts(folder, ZEN4)


def test_the_precision_of_a_gpu_says_nothing_of_the_processor(folder: Path) -> None:
    begin(folder, precision="float32", device="cuda")
    trained_on.check_hosts(folder, ZEN4)


def test_a_run_that_was_begun_elsewhere_is_refused_before_it_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "dba3c_quick" / "Pong" / "0"
    trained_on.note(folder, "abacus, float32")
    begin(folder)
    monkeypatch.setattr(api, "train", lambda config, console: pytest.fail("it was trained"))
    words = ["experiment=dba3c_quick", "game=Pong", "seed=0", f"results_dir={tmp_path}"]
    with pytest.raises(SystemExit, match=f"was trained on {named_here('abacus, float32')}, and this is "):
        scored_runs.train_and_score("dba3c", words)


def test_a_run_that_other_hosts_have_trained_gets_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "train", lambda config, console: begin(config.folder, processor="Abacus"))
    words = ["experiment=dba3c_quick", "game=Pong", "seed=0", f"results_dir={tmp_path}"]
    with pytest.raises(SystemExit, match="was trained on hosts with Abacus in "):
        scored_runs.train_and_score("dba3c", words)


def config_in(tmp_path: Path, *words: str) -> RunConfig:
    """Of a run that any study makes."""
    return api.compose(["experiment=gorila_quick", "game=Pong", "seed=0", f"results_dir={tmp_path}", *words])


@pytest.mark.parametrize("train", [train_or_load, train_until_it_diverges])
def test_no_study_goes_on_with_a_run_of_another_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, train: Callable[[RunConfig], object]
) -> None:
    config = config_in(tmp_path, "resume=true")
    trained_on.note(config.folder, "abacus, float32")
    begin(config.folder)
    monkeypatch.setattr(api, "train", lambda config, console: pytest.fail("it was trained"))
    with pytest.raises(SystemExit, match=f"was trained on {named_here('abacus, float32')}, and this is "):
        train(config)


def test_a_run_that_diverged_on_other_hosts_has_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(config: RunConfig, console: object) -> None:
        begin(config.folder, processor="Abacus")
        raise DivergedError("no number")

    monkeypatch.setattr(api, "train", diverge)
    with pytest.raises(SystemExit, match="was trained on hosts with Abacus in "):
        train_until_it_diverges(config_in(tmp_path))


def test_a_run_that_is_overwritten_begins_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_in(tmp_path, "overwrite=true")
    trained_on.note(config.folder, "abacus, float32")
    begin(config.folder)
    monkeypatch.setattr(api, "train", lambda config, console: begin(config.folder, processor="Abacus"))
    with pytest.raises(SystemExit, match="was trained on hosts with Abacus in "):
        train_or_load(config)
