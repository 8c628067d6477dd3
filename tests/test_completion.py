"""Unfinished words and what they can become, and the shells that ask."""

import dataclasses
import importlib
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.completion import COMMANDS, SHELLS, completed, shell_script
from pipeline.games import GAMES
from tests.experiments.commands import CHECKOUT


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("pipeline tr", ["train "]),
        ("pipeline --v", ["--version "]),
        ("pipeline completion f", ["fish "]),
        ("pipeline nonsense ", []),
        ("pipeline train exp", ["experiment="]),
        ("pipeline train sw", []),
        ("pipeline train +sw", ["+sweep="]),
        ("pipeline train +sweep=atari", ["+sweep=atari49 "]),
        ("pipeline train optim", ["optimizer=", "optimizer."]),
        ("pipeline train experiment=ba3c", ["experiment=ba3c ", "experiment=ba3c_quick "]),
        ("pipeline train -m game=Pong,Break", ["game=Pong,Breakout "]),
        ("pipeline train device=c", ["device=cpu ", "device=cuda "]),
        ("pipeline train resume=", ["resume=true ", "resume=false "]),
        ("pipeline train budget.fr", ["budget.frames="]),
        ("pipeline train budget.frames=", []),
        ("pipeline train nothing.below", []),
        ("pipeline train hydra/launcher=da", ["hydra/launcher=dask "]),
        ("pipeline evaluate evaluation=noop_starts_", ["evaluation=noop_starts_30min "]),
        ("pipeline evaluate ru", ["run="]),
        ("pipeline report results_dir=", []),
        ("pipeline report --h", ["--help "]),
        ("pipeline play overlay=t", ["overlay=true "]),
        ("pipeline train 'experiment=smoke_ap", ["experiment=smoke_apex "]),
    ],
)
def test_a_word_becomes_what_the_command_takes(line: str, found: list[str]) -> None:
    assert completed(line) == found


def test_settings_are_those_of_the_run_that_the_other_words_make() -> None:
    assert "algorithm.entropy_weight=" in completed("pipeline train experiment=dba3c algorithm.")
    assert "algorithm.entropy_weight=" not in completed("pipeline train experiment=gorila algorithm.")
    # A word that is wrong still, or one of a sweep, is left out of it.
    assert completed("pipeline train experiment=dba3 seed=0,1 seed") == ["seed="]
    assert completed("pipeline train game=") == [f"game={game} " for game in GAMES]


def test_every_command_is_there_and_its_module_a_command() -> None:
    modules = {path.stem for path in (CHECKOUT / "pipeline").glob("*.py") if "parse_words(" in path.read_text()}
    assert modules | {"train"} == COMMANDS.keys()
    for name in COMMANDS.keys() - {"train"}:
        module = importlib.import_module(f"pipeline.{name}")
        fields = {f"{field.name}=" for value in vars(module).values() if dataclasses.is_dataclass(value)
                  and isinstance(value, type) and value.__module__ == module.__name__
                  and value.__name__.endswith("Arguments") for field in dataclasses.fields(value)}  # fmt: skip
        assert fields and fields < set(completed(f"pipeline {name} "))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A command `pipeline` of this checkout, as an installation has it."""
    path = tmp_path / "bin" / "pipeline"
    path.parent.mkdir()
    here, python = shlex.quote(str(CHECKOUT)), shlex.quote(sys.executable)
    path.write_text(f'#!/bin/sh\nPYTHONPATH={here} exec {python} -m pipeline "$@"\n')
    path.chmod(0o755)
    return path


def shell_says(program: Path, shell: str, script: str) -> str:
    # bash complains of a locale that is not installed.
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "LC_ALL": "C"}
    told = subprocess.run([shell, "-c", script], cwd=program.parent, env=environment, capture_output=True, text=True)
    assert told.returncode == 0 and told.stderr == ""
    return told.stdout


def test_bash_puts_the_answer_behind_the_equals_sign(program: Path) -> None:
    # The variables that bash sets for `pipeline train experiment=ba3c_q` and the Tab key.
    script = """source <(pipeline completion bash)
        COMP_LINE="pipeline train experiment=ba3c_q"; COMP_POINT=${#COMP_LINE}
        _pipeline_completion pipeline; printf '<%s>' "${COMPREPLY[@]}"
        COMP_WORDBREAKS=" "; _pipeline_completion pipeline; printf '<%s>' "${COMPREPLY[@]}"
        COMP_LINE="pipeline train results_dir=/tm"; COMP_POINT=${#COMP_LINE}
        _pipeline_completion pipeline; printf '%s' "${#COMPREPLY[@]}"
        complete -p pipeline"""
    said = shell_says(program, "bash", script)
    assert said.startswith("<ba3c_quick ><experiment=ba3c_quick >0complete ")
    assert "-o default" in said


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_offers_words(program: Path) -> None:
    script = "pipeline completion fish | source; complete -C 'pipeline train experiment=ba3c_q'"
    assert shell_says(program, "fish", script).split() == ["experiment=ba3c_quick"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
def test_zsh_reads_its_script(program: Path) -> None:
    said = shell_says(program, "zsh", 'eval "$(pipeline completion zsh)"; print $_comps[pipeline]')
    assert said.split() == ["_pipeline_completion"]


def test_each_shell_has_a_script() -> None:
    assert all("completion words" in shell_script(shell) for shell in SHELLS)
