"""The command `pipeline`: it lists, it completes, and each command is that of its module."""

import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from pipeline.__main__ import main
from pipeline.completion import COMMANDS, shell_script
from tests.test_light_commands import HEAVY, command


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_alone_and_for_help_it_says_what_there_is(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in COMMANDS)


def test_it_knows_its_version_and_prints_what_a_shell_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == main(["completion", "bash"]) == main(["completion", "words", "pipeline tra"]) == 0
    assert capsys.readouterr().out == f"{pipeline.__version__}\n{shell_script('bash')}train \n"


@pytest.mark.parametrize(
    ("words", "mistake"),
    [
        (["trian"], "trian: no such command; did you mean train?"),
        (["experiment=gorila"], "experiment=gorila: no such command; there is train, evaluate,"),
        (["completion"], "completion: say for which shell, one of bash, zsh, fish"),
        (["completion", "bsh"], "completion bsh: no such shell; did you mean bash?"),
    ],
)
def test_a_mistake_is_one_line_and_the_status_of_all_mistakes(
    words: list[str], mistake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("error: ") and mistake in said.err


@pytest.mark.parametrize("words", [["game=Brekout", "budget.frames=-1"], ["--help"], ["-m", "game=Pong", "seed=x,1"]])
def test_a_command_is_its_module_with_its_status_and_loads_no_more(words: list[str]) -> None:
    status, said, loaded = command("pipeline", "train", *words)
    by_module = command("pipeline.train", *words)
    assert (status, said) == by_module[:2]
    assert not loaded & HEAVY


def test_a_package_where_the_command_is_typed_is_found_as_by_python_m(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise ValueError('it was found')")
    words = ["train", "game=Pong", "network=module", "network.class=mine.Net"]
    for command_line in ([Path(sys.executable).with_name("pipeline")], [sys.executable, "-m", "pipeline"]):
        done = subprocess.run([*command_line, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "mine raises ValueError: it was found" in done.stderr
