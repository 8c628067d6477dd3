"""What is installed is what is here: one list of packages, and a wheel that works without the checkout."""

import ast
import importlib.metadata
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import pipeline
from pipeline import __version__
from pipeline.extras import DISTRIBUTION
from pipeline.results.load import load_run
from tests.clusters import LIMIT_SECONDS

CHECKOUT = Path(__file__).resolve().parents[1]
OF_OTHER_ENVIRONMENTS = {"ray", "rliable", "stable_baselines3"}
"""Other libraries that ours is compared with; programs of their own import them."""


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    return table


@pytest.fixture(scope="module")
def conda_dependencies() -> list[Any]:
    dependencies: list[Any] = yaml.safe_load((CHECKOUT / "environment.yml").read_text())["dependencies"]
    return dependencies


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # The wheel of the sdist, and not of the checkout: an sdist that lacks something shows.
    _run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(CHECKOUT)], folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    target = wheel.parent / "installed"
    _run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)], target)
    return target


def test_the_name_that_messages_ask_to_install_is_the_project_s_and_brings_its_own_extras(
    project: dict[str, Any],
) -> None:
    assert project["name"] == DISTRIBUTION
    extras = project["optional-dependencies"]
    (own,) = (entry for entry in extras["dev"] if entry.startswith(DISTRIBUTION))
    assert own == f"{DISTRIBUTION}[{','.join(name for name in extras if name != 'dev')}]"


def test_conda_brings_python_pip_and_make_and_the_project_brings_the_rest(conda_dependencies: list[Any]) -> None:
    from_conda = [re.split(r"[ <>=]", entry)[0] for entry in conda_dependencies if isinstance(entry, str)]
    from_pip = [entry for entry in conda_dependencies if not isinstance(entry, str)]
    assert sorted(from_conda) == ["make", "pip", "python"]
    assert from_pip == [{"pip": ["-e .[dev]"]}]


def test_conda_and_pip_accept_the_same_pythons(conda_dependencies: list[Any], project: dict[str, Any]) -> None:
    (python,) = (entry for entry in conda_dependencies if isinstance(entry, str) and entry.startswith("python "))
    assert python.removeprefix("python ") == project["requires-python"]


def test_the_citation_names_this_software_as_it_is(project: dict[str, Any]) -> None:
    citation: dict[str, Any] = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text())
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert {"message", "title", "authors"} <= set(citation)
    assert (citation["version"], citation["license"]) == (__version__, project["license"])
    assert [(paper["year"], paper["identifiers"][0]["value"]) for paper in citation["references"]] == [
        (2015, "arXiv:1507.04296"),
        (2018, "arXiv:1801.02852"),
    ]


def test_what_is_imported_is_asked_for(project: dict[str, Any]) -> None:
    extras: dict[str, list[str]] = project["optional-dependencies"]
    of_users = [
        *project["dependencies"],
        *(entry for name, of_it in extras.items() if name != "dev" for entry in of_it),
    ]
    assert _not_asked_for(("pipeline", "dask_jobs", "hydra_plugins"), of_users) == {}
    assert _not_asked_for(("benchmarks", "docs", "measuring", "studies", "tests"), [*of_users, *extras["dev"]]) == {}


def _not_asked_for(folders: tuple[str, ...], requirements: list[str]) -> dict[str, str]:
    """Imported module -> a file that imports it, where none of its distributions is among the requirements."""
    asked = {_plain(re.split(r"[\[<>=!;]", requirement)[0]) for requirement in requirements}
    providers = importlib.metadata.packages_distributions()
    ours = {path.name.removesuffix(".py") for path in CHECKOUT.iterdir()}
    missing = {}
    for file in (file for folder in folders for file in (CHECKOUT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            for name in (
                {name.partition(".")[0] for name in names} - ours - sys.stdlib_module_names - OF_OTHER_ENVIRONMENTS
            ):
                if not asked & {_plain(provider) for provider in providers.get(name, [])}:
                    missing[name] = str(file)
    return missing


def _plain(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def test_make_tries_the_pythons_that_the_project_accepts(project: dict[str, Any]) -> None:
    first, end = (tuple(map(int, pair)) for pair in re.findall(r"(\d+)\.(\d+)", project["requires-python"]))
    makefile = (CHECKOUT / "Makefile").read_text()
    assert f"{first} <= sys.version_info[:2] < {end}" in makefile
    names = re.findall(r"^PYTHONS \?= (.*)$", makefile, re.MULTILINE)[0].split()
    minors = range(first[1], end[1])
    assert names[: len(minors)] == [f"python3.{minor}" for minor in minors]


def test_make_help_lists_every_target() -> None:
    listed = re.findall(r"^make (\S+)", _run(["make", "help"], CHECKOUT), re.MULTILINE)
    declared = re.findall(r"^\.PHONY: (\S+)", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    assert listed == declared
    assert {"setup", "train", "test", "lint", "bench", "report", "help"} <= set(listed)


def test_make_setup_says_so_when_no_python_fits(tmp_path: Path) -> None:
    # A shim that is on PATH and fails when it is run, as pyenv leaves them.
    shim = tmp_path / "python3.11"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    (tmp_path / "Makefile").symlink_to(CHECKOUT / "Makefile")
    (tmp_path / "pyproject.toml").touch()
    words = ["make", "setup", f"PYTHONS={shim} no-such-python"]
    outcome = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert outcome.returncode != 0
    assert (
        f"No Python 3.11, 3.12 or 3.13 (with its venv module) was found; tried: {shim} no-such-python."
        in outcome.stderr
    )
    assert not (tmp_path / ".venv").exists()


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder with the Makefile and a ready environment, which has no packages but an empty pip."""
    (tmp_path / "Makefile").symlink_to(CHECKOUT / "Makefile")
    (tmp_path / "pyproject.toml").touch()
    venv.create(tmp_path / ".venv", symlinks=True)
    (packages,) = (tmp_path / ".venv").glob("lib/python*/site-packages")
    (packages / "pip").mkdir()
    (packages / "pip" / "__init__.py").touch()
    (tmp_path / ".venv" / ".ready").write_text(f"{(tmp_path / '.venv').resolve()}\n")
    return tmp_path


def _without_make() -> dict[str, str]:
    """This environment without what another make says, which has started these tests.

    bash, which make has its recipes run by, complains of a locale that is not installed.
    """
    found = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    return found | {"LC_ALL": "C", "PIP_NO_INDEX": "1"}


def _setup(house: Path, *words: str) -> subprocess.CompletedProcess[str]:
    words = ("make", "setup", "PYTHONS=no-such-python", *words)
    return subprocess.run(words, cwd=house, env=_without_make(), capture_output=True, text=True)


def test_make_setup_leaves_a_ready_environment_as_it_is(house: Path) -> None:
    outcome = _setup(house)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")


def test_make_setup_makes_an_environment_anew_whose_python_has_gone(house: Path) -> None:
    _take_its_python(house)
    outcome = _setup(house)
    assert outcome.returncode != 0 and "was found; tried: no-such-python." in outcome.stderr


def test_make_setup_completes_an_environment_whose_making_was_cut_off(house: Path) -> None:
    for pip in house.glob(".venv/lib/python*/site-packages/pip"):
        shutil.rmtree(pip)
    (house / ".venv" / "bin" / "activate").unlink()
    (house / ".venv" / ".ready").unlink()
    _setup(house)
    assert "pip " in _run([str(house / ".venv" / "bin" / "python"), "-m", "pip", "--version"], house)
    assert (house / ".venv" / "bin" / "activate").exists()


def test_make_setup_removes_nothing_of_an_environment_that_was_moved_and_says_so(house: Path) -> None:
    (house / ".venv" / ".ready").write_text("/elsewhere/.venv\n")
    (house / ".venv" / "of_somebody").touch()
    (house / ".venv" / "bin" / "activate").write_text("of the old folder")
    outcome = _setup(house)
    assert ".venv was made as /elsewhere/.venv: some of its scripts still lead there" in outcome.stderr
    assert (house / ".venv" / "of_somebody").exists()
    assert str(house / ".venv") in (house / ".venv" / "bin" / "activate").read_text()


def test_make_clean_leaves_what_is_installed_in_an_environment_whatever_it_is_called(house: Path) -> None:
    kept = [house / name / "lib" / "a.egg-info" for name in (".venv", "env", "conda")]
    removed = [house / "mine.egg-info", house / "below" / "__pycache__", house / "below" / "mine.egg-info"]
    for folder in (*kept, *removed):
        folder.mkdir(parents=True)
    (house / "env" / "pyvenv.cfg").touch()
    (house / "conda" / "conda-meta").mkdir()
    subprocess.run(["make", "clean"], cwd=house, env=_without_make(), capture_output=True, check=True)
    assert all(folder.exists() for folder in kept) and not any(folder.exists() for folder in removed)


def _take_its_python(house: Path) -> None:
    for python in (house / ".venv" / "bin").glob("python*"):
        python.unlink()
        python.symlink_to("/no/such/python")


def test_make_setup_clears_no_environment_that_venv_has_not_made(house: Path) -> None:
    (house / ".venv" / "pyvenv.cfg").unlink()
    _take_its_python(house)
    outcome = _setup(house, f"PYTHONS={sys.executable}")
    assert outcome.returncode != 0 and ".venv is no environment of venv" in outcome.stderr
    assert list(house.glob(".venv/lib/python*/site-packages/pip"))


def _is_made_by_make() -> bool:
    """Whether this Python is that of the checkout's own environment, and `make setup` leaves that as it is."""
    environment = CHECKOUT / ".venv"
    made_for = environment / ".ready"
    question = ["make", "--question", "--silent", ".venv/.ready"]
    return (
        Path(sys.prefix).resolve() == environment.resolve()
        and made_for.is_file()
        and made_for.read_text() == f"{environment.resolve()}\n"
        and subprocess.run(question, cwd=CHECKOUT, env=_without_make(), capture_output=True).returncode == 0
    )


@pytest.mark.slow
@pytest.mark.timeout(3 * LIMIT_SECONDS)
def test_make_train_trains_and_ends_with_its_table(tmp_path: Path) -> None:
    if not _is_made_by_make():
        pytest.skip("these tests do not run in the environment that `make setup` makes, or it is not ready")
    settings = ["budget.frames=4_000", "replay.min_transitions=300", "network.hidden_units=16", "evaluation=smoke"]
    words = " ".join(shlex.quote(word) for word in (*settings, f"results_dir={tmp_path}", "progress=lines"))
    outcome = subprocess.run(
        ["make", "train", f"ARGS={words}"],
        cwd=CHECKOUT,
        env=_without_make(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=2 * LIMIT_SECONDS,
    )
    assert outcome.returncode == 0, outcome.stdout
    _, table = outcome.stdout.split("Breakout, gorila_quick, seed 0")
    assert "ours: gorila_quick" in table and "ours: random player" in table
    folder = tmp_path / "gorila_quick" / "Breakout" / "0"
    assert outcome.stdout.endswith(f"results in {folder}\n")
    run = load_run(folder)
    assert run.problems == () and run.runs["end_reason"].item() == "budget" and run.updates["num_admitted"].sum() > 0


def test_the_wheel_holds_configuration_and_published_scores_and_no_tests(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"pipeline/py.typed", "dask_jobs/py.typed"} <= names
    for source, target in [("conf", "conf"), ("results/published", "published")]:
        files = [path for path in (CHECKOUT / source).rglob("*") if path.is_file()]
        assert files
        assert {f"pipeline/{target}/{path.relative_to(CHECKOUT / source)}" for path in files} <= names
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {
        "pipeline",
        "dask_jobs",
        "hydra_plugins",
    }


def test_the_wheel_leaves_the_namespace_of_hydra_s_plugins_to_others_as_well(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("hydra_plugins/")}
    sources = [path for path in (CHECKOUT / "hydra_plugins").rglob("*") if path.suffix in (".py", ".yaml")]
    assert names == {str(path.relative_to(CHECKOUT)) for path in sources}
    assert "hydra_plugins/__init__.py" not in names


def test_the_installed_wheel_finds_its_own_configuration_and_scores(installed: Path) -> None:
    program = (
        "from pipeline.config.composition import config_directory\n"
        "from pipeline.results.published import load_published, published_directory\n"
        "assert len(load_published()) == 49\n"
        "print(config_directory())\n"
        "print(published_directory())\n"
    )
    printed = _run([sys.executable, "-c", program], installed.parent, PYTHONPATH=str(installed))
    assert printed.splitlines() == [str(installed / "pipeline" / name) for name in ("conf", "published")]


def test_the_installed_wheel_has_the_command_pipeline(installed: Path, tmp_path: Path) -> None:
    program = [sys.executable, str(installed / "bin" / "pipeline")]
    assert _run([*program, "--version"], tmp_path, PYTHONPATH=str(installed)).strip() == pipeline.__version__
    found = _run([*program, "completion", "words", "pipeline train game=Breako"], tmp_path, PYTHONPATH=str(installed))
    assert found == "game=Breakout \n"


@pytest.mark.slow
def test_the_installed_wheel_plans_a_run_away_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pipeline.train", "plan=true", "experiment=smoke_gorila", "game=Pong"]
    assert "bundle" in _run(words, tmp_path, PYTHONPATH=str(installed))
    assert not (tmp_path / "results").exists()


def test_the_installed_wheel_has_the_launcher_and_the_sweeps(installed: Path, tmp_path: Path) -> None:
    train = [sys.executable, "-m", "pipeline.train"]
    shown = _run([*train, "hydra/launcher=dask", "--cfg", "hydra"], tmp_path, PYTHONPATH=str(installed))
    assert "hydra_plugins.dask_launcher.launcher.DaskLauncher" in shown
    assert "pipeline.experiments.sweeps.job.job_needs" in shown
    words = [*train, "-m", "+sweep=dba3c_games", "experiment=dqn", "seed=-1"]
    outcome = subprocess.run(
        words, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(installed)}, capture_output=True, text=True
    )
    assert "seed=-1 must be at least 0" in outcome.stderr and "sweep" not in outcome.stderr


def _run(words: list[str], folder: Path, **environment: str) -> str:
    """Standard output of a command; AssertionError with all that it said if it fails."""
    folder.mkdir(exist_ok=True)
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    outcome = subprocess.run(words, cwd=folder, env=inherited | environment, capture_output=True, text=True)
    assert outcome.returncode == 0, f"{' '.join(words)} failed:\n{outcome.stdout}\n{outcome.stderr}"
    return outcome.stdout
