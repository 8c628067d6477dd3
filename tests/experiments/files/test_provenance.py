"""Which commit a run says that it is of."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.experiments.files import provenance


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    provenance.commit.cache_clear()
    yield
    provenance.commit.cache_clear()


def test_a_checkout_has_its_commit_and_a_mark_if_files_differ() -> None:
    folder = Path(provenance.__file__).parent
    head = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
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
