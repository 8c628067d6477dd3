"""Which lines of a script its children would run too, and a script that starts processes without a guard."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.cluster.scripts import check_guarded, is_guarded

GUARDED = """\
from pipeline import api

if __name__ == "__main__":
    for seed in range(3):
        api.train(
            api.compose(["experiment=smoke_dqn"]),
        )
"""


@pytest.mark.parametrize(("line", "expected"), [(1, False), (3, True), (5, True), (7, True)])
def test_what_stands_below_an_if_is_guarded(line: int, expected: bool) -> None:
    assert is_guarded(GUARDED, line) == expected


def test_an_if_in_a_function_guards_nothing_at_its_call() -> None:
    assert not is_guarded("def main():\n    if True:\n        pass\n\n\nmain()\n", 6)


def test_a_program_with_a_guard_may_start_processes() -> None:
    check_guarded()  # that of these tests


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_the_line_before_anything_starts(tmp_path: Path) -> None:
    script = tmp_path / "my script.py"
    words = ["experiment=smoke_gorila", "game=Pong", "cluster=processes", f"results_dir={tmp_path / 'runs'}"]
    script.write_text(f"from pipeline import api\n\n\ndef main():\n    api.train(api.compose({words}))\n\n\nmain()\n")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=100)
    assert run.returncode == 1
    assert f"{script}, line 8: cluster=processes starts processes" in run.stderr
    assert 'below if __name__ == "__main__":, or take cluster=threads' in run.stderr
    assert "Nanny" not in run.stderr and not (tmp_path / "runs").exists()
