"""The job runner as a distribution of its own: in an environment that has nothing else, for a program of its own.

The environment is made with pip from the package index, so that what is not declared as a dependency is missed.
"""

import json
import os
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

import dask_jobs
from dask_jobs.ledger import DONE, RUNNING, LedgerRow, read_ledger
from tests.clusters import wait_until
from tests.processes import living

CHECKOUT = Path(__file__).resolve().parents[1]
PROJECT = CHECKOUT / "packaging" / "dask-jobs"
INSTALL_SECONDS = 600

PROGRAM = """
import time
from pathlib import Path

import hydra


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def main(config):
    with open("started.txt", "a") as file:
        file.write(f"{config.x}\\n")
    while config.x == 2 and not Path("go").exists():
        time.sleep(0.05)
    return config.x**2


if __name__ == "__main__":
    main()
"""
CONFIG = """
x: 0
hydra:
  sweep:
    dir: sweep
  launcher:
    threads_per_host: 1
    stop_seconds: 1
"""
COMMAND = ("-m", "hydra/launcher=dask", "x=1,2,3")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(PROJECT)], folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path) -> Path:
    """Of an environment with this distribution and what it depends on."""
    environment = wheel.parent / "environment"
    run([sys.executable, "-m", "venv", str(environment)], wheel.parent)
    run([str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", str(wheel)], wheel.parent)
    return environment / "bin" / "python"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with a program in it."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text(CONFIG)
    return tmp_path


def run(words: list[str], folder: Path) -> str:
    """All that a command says, which must not fail."""
    outcome = subprocess.run(
        words, cwd=folder, env=clean(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert outcome.returncode == 0, f"{' '.join(words)} failed:\n{outcome.stdout}"
    return outcome.stdout


def clean() -> Mapping[str, str]:
    """This environment, without places to import from."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def rows(folder: Path) -> list[LedgerRow]:
    return read_ledger(folder / "sweep")


@pytest.mark.slow
def test_the_wheel_has_the_job_runner_and_what_hydra_finds_and_is_typed(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    sources = {
        str(path.relative_to(CHECKOUT))
        for package in ("dask_jobs", "hydra_plugins")
        for path in (CHECKOUT / package).rglob("*")
        if path.suffix in (".py", ".yaml", ".typed")
    }
    assert {name for name in names if ".dist-info/" not in name} == sources
    assert wheel.name.startswith(f"hydra_dask_jobs-{dask_jobs.__version__}-")


def test_what_both_distributions_need_is_asked_for_in_the_same_words() -> None:
    ours = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    theirs = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert set(theirs["dependencies"] + theirs["optional-dependencies"]["dashboard"]) <= set(ours["dependencies"])
    assert theirs["requires-python"] == ours["requires-python"]


@pytest.mark.slow
@pytest.mark.timeout(INSTALL_SECONDS)
def test_a_program_of_its_own_is_killed_in_its_middle_and_resumed_without_the_pipeline(
    python: Path, program: Path
) -> None:
    installed = json.loads(run([str(python), "-m", "pip", "list", "--format=json"], program))
    names = {package["name"] for package in installed}
    assert "hydra-dask-jobs" in names and not names & {"torch", "pipeline", "ale-py", "bokeh"}
    words = [str(python), "program.py", *COMMAND]
    with subprocess.Popen(words, cwd=program, env=clean(), start_new_session=True) as command:
        wait_until(lambda: (program / "started.txt").exists() and len(started(program)) == 2, "the second job runs")
        left = psutil.Process(command.pid).children(recursive=True)
        command.send_signal(signal.SIGKILL)
    wait_until(lambda: not living(left), "nothing is left of it")
    assert [(row.overrides, row.status) for row in rows(program)][:2] == [("x=1", DONE), ("x=2", RUNNING)]
    (program / "go").touch()
    said = run(words, program)
    assert "1 jobs were running when an earlier command was killed: they start in " in said, said
    assert [(row.overrides, row.status, row.attempts, row.return_value) for row in rows(program)] == [
        ("x=1", DONE, 1, "1"),
        ("x=2", DONE, 2, "4"),
        ("x=3", DONE, 1, "9"),
    ]
    assert sorted(started(program)) == ["1", "2", "2", "3"], "a job that was done was run again"
    assert "3 jobs are done already" in run(words, program)


def started(folder: Path) -> list[str]:
    """The x of each attempt."""
    return (folder / "started.txt").read_text().split()
