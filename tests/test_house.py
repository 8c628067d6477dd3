"""Sizes and places: files, classes and functions that one can see as a whole, tests where their module would be.

Not here: layers and walls (`tests/test_architecture.py`), docstrings and style (ruff).
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGES = ("benchmarks", "dask_jobs", "hydra_plugins", "measuring", "pipeline", "studies", "tests")
MOST_LINES_OF_FILE = 400
MOST_LINES_OF_CLASS = 200
MOST_LINES_OF_FUNCTION = 60
MOST_LINES_OF_MODULE = 300
"""Of a file below `pipeline/`."""

ACROSS = {
    "adding",
    "architecture",
    "docs",
    "experiments_page",
    "house",
    "launcher_distribution",
    "light_commands",
    "notebook",
    "packaging",
    "printed_clusters",
    "printed_plans",
    "rounding",
    "site",
    "text_encoding",
    "benchmarks/benchmarks",
    "fuzz/files",
    "experiments/conf_files",
    "experiments/cuda_runs",
    "experiments/full_disk",
    "experiments/own_package",
    "experiments/files/odd_files",
    "experiments/odd_hosts",
    "experiments/partition",
    "experiments/paused",
    "experiments/run_of_modules",
    "experiments/run_of_workers",
    "experiments/slurm_runs",
    "experiments/train_command",
    "experiments/two_machines",
    "hydra_plugins/contract",
    "hydra_plugins/launcher",
    "networks/cuda",
    "param_server/quorum_interleavings",
    "results/rliable_reference",
    "roles/learner_options",
}
"""Tests of what is in no single module, by their place below `tests/`: whole commands, documents, second opinions."""


def too_long(path: str, source: str) -> list[str]:
    """The file, classes and functions of a source that have too many lines, as "path:line name: lines"."""
    found, num_lines = [], len(source.splitlines())
    if num_lines > (MOST_LINES_OF_MODULE if path.startswith(("pipeline/", "dask_jobs/")) else MOST_LINES_OF_FILE):
        found.append(f"{path}: {num_lines}")
    for node in ast.walk(ast.parse(source)):
        most = {
            ast.ClassDef: MOST_LINES_OF_CLASS,
            ast.FunctionDef: MOST_LINES_OF_FUNCTION,
            ast.AsyncFunctionDef: MOST_LINES_OF_FUNCTION,
        }.get(type(node))
        if most is not None and isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > most:
                found.append(f"{path}:{node.lineno} {node.name}: {lines}")
    return found


def sources() -> Iterator[tuple[str, str]]:
    """Path from the checkout and text of every Python file of ours."""
    for package in PACKAGES:
        for file in sorted((CHECKOUT / package).rglob("*.py")):
            yield file.relative_to(CHECKOUT).as_posix(), file.read_text(encoding="utf-8")


def test_files_classes_and_functions_can_be_seen_as_a_whole() -> None:
    assert [line for path, source in sources() for line in too_long(path, source)] == []


def test_tests_stand_where_their_module_does() -> None:
    tests = [file.relative_to(CHECKOUT / "tests") for file in (CHECKOUT / "tests").rglob("test_*.py")]
    assert tests
    lost = []
    for test in tests:
        place = test.with_name(test.stem.removeprefix("test_"))
        if place.name == "main":
            place = place.with_name("__main__")
        # Beside `pipeline/`, a package has a folder of its own name below `tests/`.
        homes = (CHECKOUT / place, CHECKOUT / "pipeline" / place)
        is_there = any(home.with_suffix(".py").exists() or home.is_dir() for home in homes)
        if not is_there and place.as_posix() not in ACROSS:
            lost.append(test.as_posix())
    assert lost == []


def test_what_is_said_to_be_in_no_module_is_there_as_a_test() -> None:
    missing = [
        name
        for name in ACROSS
        if not (CHECKOUT / "tests" / name).parent.joinpath(f"test_{Path(name).name}.py").exists()
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("x = 1\n" * 311, ["pipeline/a.py: 311"]),
        ("def f():\n" + "    x = 1\n" * 60, ["pipeline/a.py:1 f: 61"]),
        ("class A:\n" + "    x = 1\n" * 200, ["pipeline/a.py:1 A: 201"]),
        ("def f():\n" + "    x = 1\n" * 59, []),
    ],
)
def test_what_is_too_long_is_found(source: str, found: list[str]) -> None:
    assert too_long("pipeline/a.py", source) == found
