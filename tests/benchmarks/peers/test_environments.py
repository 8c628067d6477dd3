"""What is installed is used, what cannot be installed has a reason."""

from pathlib import Path

import pytest

from benchmarks.peers import environments
from benchmarks.peers.environments import PACKAGES, NotInstalled, is_ready, python_of


def test_an_environment_with_the_versions_of_today_is_used_as_it_is(tmp_path: Path) -> None:
    assert not is_ready("sb3", tmp_path)
    (tmp_path / "sb3").mkdir()
    (tmp_path / "sb3" / "installed.txt").write_text("\n".join(PACKAGES["sb3"]) + "\n")
    assert python_of("sb3", tmp_path) == tmp_path / "sb3" / "bin" / "python"
    (tmp_path / "sb3" / "installed.txt").write_text("stable-baselines3==1.0\n")
    assert not is_ready("sb3", tmp_path)


@pytest.mark.slow
def test_what_pip_says_last_is_why_a_library_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "PACKAGES", {"sb3": ("./no-such-folder/",)})
    with pytest.raises(NotInstalled, match="no-such-folder"):
        python_of("sb3", tmp_path)
    assert not is_ready("sb3", tmp_path)
