"""Which commit a run says that it is of."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy
import pytest

from pipeline.experiments.files import provenance

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    remembered = (provenance.commit, provenance.num_untracked, provenance.changes)
    for each in remembered:
        each.cache_clear()
    yield
    for each in remembered:
        each.cache_clear()


@pytest.mark.skipif(not (CHECKOUT / ".git").exists(), reason="these files are of no checkout: an archive has no commit")
def test_a_checkout_has_its_commit_and_a_mark_if_files_differ() -> None:
    words = ["git", "-C", str(Path(provenance.__file__).parent), "rev-parse", "HEAD"]
    try:
        head = subprocess.run(words, capture_output=True, text=True)
    except FileNotFoundError as error:
        pytest.skip(f"there is no git: {error}")
    if head.returncode != 0:  # a checkout of another user, for example
        pytest.skip(f"git does not read this checkout: {head.stderr.strip()}")
    commit = provenance.commit()
    assert commit is not None and commit.removesuffix("+") == head.stdout.strip()


@pytest.mark.parametrize("behaviour", ["exec sleep 60", "exit 128"])
def test_a_git_that_hangs_or_fails_leaves_the_commit_unknown(
    behaviour: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = tmp_path / "git"
    git.write_text(f"#!/bin/sh\n{behaviour}\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(provenance, "_GIT_SECONDS", 0.2)
    assert provenance.commit() is None
    assert provenance.num_untracked() is None and provenance.changes() is None


def git(folder: Path, *words: str) -> None:
    names = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    # Not what the user's own git does besides, signatures for example.
    plain = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", "-C", str(folder), *names, *words], check=True, capture_output=True, env=plain)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_changes_of_the_code_are_kept_as_git_reads_them_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = tmp_path / "code.py"
    code.write_text("a = 1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "-q", "-m", "first")
    monkeypatch.setattr(provenance, "__file__", str(code))
    assert provenance.changes() == "" and provenance.num_untracked() == 0
    code.write_text("a = 2\n")
    (tmp_path / "mine.py").write_text("")
    for each in (provenance.changes, provenance.num_untracked, provenance.commit):
        each.cache_clear()
    changes, commit = provenance.changes(), provenance.commit()
    assert commit is not None and commit.endswith("+") and provenance.num_untracked() == 1
    assert changes is not None
    code.write_text("a = 1\n")
    (tmp_path / "code.diff").write_text(changes)
    git(tmp_path, "apply", "code.diff")
    assert code.read_text() == "a = 2\n"

    # Another encoding's letters, and a program that is installed below somebody's checkout.
    code.write_bytes(b"a = '\xe9'\n")
    provenance.changes.cache_clear()
    assert "a = '\ufffd'" in str(provenance.changes())
    installed = tmp_path / "site-packages" / "code.py"
    installed.parent.mkdir()
    installed.write_text("")
    monkeypatch.setattr(provenance, "__file__", str(installed))
    for each in (provenance.changes, provenance.num_untracked, provenance.commit):
        each.cache_clear()
    assert [provenance.commit(), provenance.changes(), provenance.num_untracked()] == [None, None, None]

    monkeypatch.setattr(provenance, "__file__", str(code))
    (tmp_path / "drawn.png").write_bytes(b"\0")
    git(tmp_path, "add", "drawn.png")
    (tmp_path / "drawn.png").write_bytes(os.urandom(2_000))
    monkeypatch.setattr(provenance, "_MOST_CHANGES", 1_500)
    provenance.changes.cache_clear()
    # What differs in the code matters more than the bytes of a figure.
    told = str(provenance.changes())
    assert "Binary files" in told and "a = '" in told
    monkeypatch.setattr(provenance, "_MOST_CHANGES", 10)
    provenance.changes.cache_clear()
    assert "characters differ from the commit; at most 10 are kept here" in str(provenance.changes())


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a = 1\n\n\n\n", b"a = 2\n\n\n\n"),  # ends in context that is blank
        (b"a = 1", b"a = 2"),
        (b"a = 1\r\nb = 1\r\n", b"a = 2\r\nb = 1\r\n"),
        (b"\0\1\2", b"\0\1\3\xff"),
    ],
)
@pytest.mark.parametrize(
    "settings",
    [
        [],
        ["diff.noprefix=true"],
        ["diff.mnemonicPrefix=true", "color.ui=always", "diff.context=0", "diff.relative=true"],
        ["diff.external=echo"],
    ],
)
def test_changes_can_be_applied_whatever_the_file_and_however_the_user_s_git_shows_differences(
    before: bytes, after: bytes, settings: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, changed = tmp_path / "below" / "code.py", tmp_path / "changed"
    code.parent.mkdir()
    code.write_text("")
    changed.write_bytes(before)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    for setting in settings:
        git(tmp_path, "config", *setting.split("="))
    changed.write_bytes(after)
    monkeypatch.setattr(provenance, "__file__", str(code))
    changes = provenance.changes()
    assert changes is not None
    changed.write_bytes(before)
    (tmp_path / "code.diff").write_bytes(changes.encode())
    git(tmp_path, "apply", "--check", "code.diff")
    git(tmp_path, "apply", "code.diff")
    assert changed.read_bytes() == after


def test_changes_of_an_earlier_start_do_not_stand_beside_code_that_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(changes: str | None) -> None:
        monkeypatch.setattr(provenance, "changes", lambda: changes)
        provenance.keep_changes(tmp_path)

    start("-a\n+b\n")
    start("-a\n+b\n")
    assert (tmp_path / provenance.CHANGES).read_text() == "-a\n+b\n" and not (tmp_path / "discarded").exists()
    start("-a\n+c\n")
    assert (tmp_path / provenance.CHANGES).read_text() == "-a\n+c\n"
    start(None)
    assert (tmp_path / provenance.CHANGES).exists(), "git did not answer"
    start("")
    start("")
    assert not (tmp_path / provenance.CHANGES).exists()
    kept = [path.read_text() for path in sorted((tmp_path / "discarded").iterdir())]
    assert sorted(kept) == ["-a\n+b\n", "-a\n+c\n"]


def test_a_command_is_as_it_was_typed_without_where_python_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["/opt/bin/python3", "-m", "pipeline.train", "game=Pong", "results_dir=a b"])
    assert provenance.command() == "python3 -m pipeline.train game=Pong 'results_dir=a b'"
    # As where another program has Python inside.
    monkeypatch.setattr(sys, "orig_argv", [])
    assert provenance.command() is None


def test_the_coordinator_says_what_it_is_made_of() -> None:
    found = provenance.coordinator()
    assert found["numpy"] == numpy.__version__ and found["gymnasium"] == gymnasium.__version__
    assert found["system"] and found.keys() >= {"python", "hydra", "cuda"}
