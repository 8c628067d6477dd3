"""Which benchmarks `python -m benchmarks` runs."""

from pathlib import Path

import pytest

import benchmarks
from benchmarks import __main__


def test_long_benchmarks_run_only_when_they_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    __main__.main([], command=lambda name: ["echo", name])
    assert capfd.readouterr().out.split() == list(__main__.QUICK)
    __main__.main(["sweep_overhead"], command=lambda name: ["echo", name])
    assert capfd.readouterr().out.split() == ["sweep_overhead"]


def test_every_module_with_a_command_of_its_own_can_be_named() -> None:
    folder = Path(benchmarks.__file__).parent
    files = {file.stem: file for file in folder.glob("*.py") if file.stem != "__main__"}
    files |= {file.parent.name: file for file in folder.glob("*/__main__.py")}
    commands = {name for name, file in files.items() if '__name__ == "__main__"' in file.read_text()}
    assert commands == set(__main__.QUICK + __main__.LONG)
