"""Modules that are named run one after the other, in processes of their own."""

import json
import sys
from pathlib import Path

import pytest

from measuring.modules import Modules, run_modules

MODULES = Modules("pkg", ("first", "second", "third.part"), by_default=("first", "second"))


def says_its_name(name: str) -> list[str]:
    """What stands in for a module."""
    return ["echo", json.dumps({"benchmark": name})]


def test_a_module_is_started_with_this_python() -> None:
    assert MODULES.command("third.part") == [sys.executable, "-m", "pkg.third.part"]


def test_named_modules_run_in_order_and_their_lines_are_added_to_a_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "machine.jsonl"
    out.write_text('{"benchmark": "before"}\n')
    assert run_modules(MODULES, ["third.part", "first", "--out", str(out)], says_its_name) == 0
    lines = '{"benchmark": "third.part"}\n{"benchmark": "first"}\n'
    assert capfd.readouterr().out == lines
    assert out.read_text() == '{"benchmark": "before"}\n' + lines


def test_without_a_name_those_run_that_run_by_default(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_modules(MODULES, [], says_its_name) == 0
    assert capfd.readouterr().out == '{"benchmark": "first"}\n{"benchmark": "second"}\n'


def test_where_none_runs_by_default_one_has_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_modules(MODULES._replace(by_default=()), [], says_its_name)
    assert "NAME" in capsys.readouterr().err


def test_an_unknown_name_is_refused_with_the_names_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_modules(MODULES, ["firsts"], says_its_name)
    assert "there is no pkg.firsts; there are first, second, third.part" in capsys.readouterr().err


def test_a_module_that_fails_ends_the_command_with_its_exit_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_modules(MODULES, ["second", "first"], lambda name: ["false"]) == 1
    assert "second failed with exit status 1" in capsys.readouterr().err
