"""What a figure was measured on."""

import os
import subprocess
from pathlib import Path

import pytest

from measuring.provenance import commit_of


def test_a_commit_is_dirty_when_other_files_than_results_differ_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not what the user's own git does besides, signatures for example.
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)

    def git(*words: str) -> None:
        identity = ["-c", "user.name=tester", "-c", "user.email=tester@example.org"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    files = [tmp_path / name for name in ("results/rows.csv", "docs/figures/speed.png", "code/loop.py")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text("before")
    assert commit_of(tmp_path) == "unknown"
    git("init")
    git("add", "--all")
    git("commit", "--message", "a start")
    clean = commit_of(tmp_path)
    assert len(clean) == 12
    for file in files[:2]:
        file.write_text("after")
    assert commit_of(tmp_path / "code") == clean
    git("tag", "--annotate", "--message", "a release", "v1.0.0")
    assert commit_of(tmp_path) == clean
    files[2].write_text("after")
    assert commit_of(tmp_path / "code") == f"{clean}-dirty"
