"""What a figure was measured on."""

import subprocess
from pathlib import Path

from measuring.provenance import commit_of


def test_a_commit_is_dirty_when_other_files_than_results_differ_from_it(tmp_path: Path) -> None:
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
    files[2].write_text("after")
    assert commit_of(tmp_path / "code") == f"{clean}-dirty"
