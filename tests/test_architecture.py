"""The table of layers and of third-party walls, and the test that holds every module under `pipeline/` to it.

Imports go down the layers only. Imports inside functions, under TYPE_CHECKING and by `importlib.import_module("…")`
count like any other: a hidden dependency is a dependency. Not here: style (ruff) and types (mypy).
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]

_LOWEST = (
    "checked_files", "disk", "errand", "errors", "extras", "games", "interfaces", "kinds", "numbered_files",
    "older_settings", "rows", "run_facts", "run_folders", "schedules", "seeding", "settings", "states", "types",
    "whole_file",
)  # fmt: skip

LAYERS: tuple[frozenset[str], ...] = (
    frozenset(_LOWEST),
    frozenset({"algorithms", "envs", "networks", "optimizers"}),
    frozenset({"evaluation", "param_server", "rendering", "replay"}),
    frozenset({"roles"}),
    frozenset({"cluster"}),
    frozenset({"topologies"}),
    frozenset({"config"}),
    frozenset({"experiments"}),
    frozenset({"api", "evaluate", "export", "play", "report", "start_states", "status", "train"}),
    frozenset({"completion"}),
    frozenset({"__main__"}),
)
"""Names directly below `pipeline`, lowest layer first.

Two names of one layer do not know each other, except in the lowest.
"""

SIDE_COLUMN = "results"
"""Knows the lowest layer only; `experiments` and what is above it may know it."""

WALLS: Mapping[str, tuple[str, ...]] = {
    "ale_py": ("envs",),
    "gymnasium": ("envs",),
    "torch": (
        "algorithms",
        "networks",
        "optimizers",
        "param_server",
        "replay",
        "roles",
        "cluster",
        "topologies",
        "config",
        "experiments",
    ),
    "dask": ("cluster",),
    "distributed": ("cluster",),
    "dask_jobqueue": ("cluster",),
    "dask_kubernetes": ("cluster",),
    "kr8s": ("cluster",),
    "yaml": ("checked_files", "cluster", "results"),
    "bokeh": ("cluster",),
    "tornado": ("cluster",),
    "hydra": ("config", "api", "evaluate", "play", "report", "train"),
    "dask_jobs": (
        "__main__",
        "cluster",
        "config",
        "evaluate",
        "experiments",
        "export",
        "play",
        "report",
        "start_states",
        "status",
        "train",
    ),
    # Deadlines are everywhere, and so is the clock that leaves out pauses.
    "dask_jobs.watched_time": ("cluster", "experiments", "param_server", "replay", "topologies"),
    "omegaconf": ("config", "experiments.sweeps", "api", "evaluate", "play", "report", "train"),
    "imageio_ffmpeg": ("rendering",),
    "PIL": ("rendering",),
    "pygame": ("rendering.window",),
    "mlflow": ("experiments.curves",),
    "onnxruntime": ("experiments.exports",),
    "safetensors": ("experiments.exports",),
    "jinja2": ("results",),
    "matplotlib": ("results",),
    "pandas": ("results",),
    "scipy": ("results",),
    "wandb": ("experiments.curves",),
}
"""Third-party package, or a module of one that has places of its own -> those below `pipeline` that may import it.

A place is a module and everything below it.
"""

EVERYWHERE = frozenset({"numpy", "psutil", "rich"})
"""Third-party packages that any module may import. What stands in neither table may not be imported at all."""


class Import(NamedTuple):
    """One import statement, or one name of a `from` import."""

    module: str
    """Dotted name, as far as it can be a module: "pipeline.rows", "torch.nn"."""
    line: int
    is_relative: bool = False


def imports_of(tree: ast.Module, modules: Iterable[str]) -> Iterator[Import]:
    """Every import in a module, wherever it stands. `modules` tells `from pipeline import rows` from a plain name."""
    known = frozenset(modules)
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (Import(alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(level=level) if level > 0:
                yield Import("." * level + (node.module or ""), node.lineno, is_relative=True)
            case ast.ImportFrom(module=str(base), names=names):
                for alias in names:
                    submodule = f"{base}.{alias.name}"
                    yield Import(submodule if submodule in known else base, node.lineno)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield Import(name, node.lineno)
            case _:
                pass


def layer_of(name: str) -> int | None:
    """Index into LAYERS of a name directly below `pipeline`; None when it stands in no layer."""
    return next((index for index, names in enumerate(LAYERS) if name in names), None)


def broken_layer_rule(importer: str, imported: str) -> str | None:
    """The rule that "pipeline.a.x imports pipeline.b.y" breaks, in words; None if it is allowed."""
    upper, lower = _unit(importer), _unit(imported)
    if lower in ("", upper):
        return None
    if upper == "":
        return "pipeline/__init__.py imports nothing of the project"
    for unit in (upper, lower):
        if unit != SIDE_COLUMN and layer_of(unit) is None:
            return f"pipeline.{unit} stands in no layer of the table"
    upper_layer, lower_layer = layer_of(upper), layer_of(lower)
    if upper_layer is None:
        return None if lower_layer == 0 else f"{SIDE_COLUMN} may import the lowest layer only, not {lower}"
    if lower_layer is None:
        above = layer_of("experiments")
        assert above is not None
        return None if upper_layer >= above else f"{SIDE_COLUMN} may be imported from experiments upwards only"
    if upper_layer == lower_layer == 0 or upper_layer > lower_layer:
        return None
    if upper_layer == lower_layer:
        return f"{upper} and {lower} stand in the same layer ({upper_layer}) and may not know each other"
    return f"imports go down: {upper} is in layer {upper_layer}, {lower} in layer {lower_layer}"


def broken_wall(importer: str, imported: str) -> str | None:
    """The wall that an import of a package from outside breaks, in words; None if it is allowed."""
    package = imported.partition(".")[0]
    if package in sys.stdlib_module_names or package in EVERYWHERE:
        return None
    walled = imported if imported in WALLS else package
    if walled not in WALLS:
        return f"{package} stands in no table of third-party packages"
    place = importer.removeprefix("pipeline.")
    if any(place == allowed or place.startswith(f"{allowed}.") for allowed in WALLS[walled]):
        return None
    return f"{walled} may be imported in {', '.join(WALLS[walled])} only"


def violations(sources: Mapping[str, str]) -> list[str]:
    """Every broken rule in a project given as module name -> source text; packages are named `pipeline.a.__init__`."""
    found: list[str] = []
    edges: dict[str, dict[str, int]] = {}
    modules = {name.removesuffix(".__init__"): name for name in sources}
    for module, name in sorted(modules.items()):
        edges[module] = {}
        for statement in imports_of(ast.parse(sources[name]), modules):
            where = f"{_path(name)}:{statement.line}: {module} imports {statement.module}"
            if statement.is_relative:
                rule: str | None = "imports are absolute"
            elif statement.module.partition(".")[0] == "pipeline":
                rule = broken_layer_rule(module, statement.module)
                edges[module].setdefault(statement.module, statement.line)
            else:
                rule = broken_wall(module, statement.module)
            if rule is not None:
                found.append(f"{where}: {rule}")
    cycle = _first_cycle(edges)
    if cycle is not None:
        start = f"{_path(modules[cycle[0]])}:{edges[cycle[0]][cycle[1]]}"
        found.append(f"{start}: {' -> '.join(cycle)}: modules may not import each other in a circle")
    return found


def project_sources() -> dict[str, str]:
    """Module name -> source text of everything under `pipeline/`."""
    files = sorted((CHECKOUT / "pipeline").rglob("*.py"))
    return {".".join(file.relative_to(CHECKOUT).with_suffix("").parts): file.read_text() for file in files}


def test_every_module_keeps_to_its_layer_and_its_walls() -> None:
    sources = project_sources()
    assert "pipeline.rows" in sources
    assert violations(sources) == []


@pytest.mark.parametrize(
    ("folder", "above"), [("dask_jobs", {"pipeline", "hydra_plugins"}), ("hydra_plugins", {"pipeline"})]
)
def test_the_job_runner_knows_nothing_of_what_uses_it(folder: str, above: set[str]) -> None:
    files = sorted((CHECKOUT / folder).rglob("*.py"))
    assert files
    for file in files:
        imported = {statement.module for statement in imports_of(ast.parse(file.read_text()), ())}
        assert not above & {name.partition(".")[0] for name in imported}, file


def test_what_hydra_has_to_find_is_little() -> None:
    files = sorted((CHECKOUT / "hydra_plugins").rglob("*.py"))
    assert sum(len(file.read_text().splitlines()) for file in files) <= 200


@pytest.mark.parametrize(
    ("package", "others"),
    [("measuring", {"benchmarks", "studies"}), ("benchmarks", {"studies"}), ("studies", {"benchmarks"})],
)
def test_benchmarks_and_studies_know_what_they_measure_with_and_not_each_other(package: str, others: set[str]) -> None:
    files = sorted((CHECKOUT / package).rglob("*.py"))
    assert files
    for file in files:
        imported = {found.module.partition(".")[0] for found in imports_of(ast.parse(file.read_text()), ())}
        assert not imported & others, file


@pytest.mark.parametrize("unit", ["types", "envs", "replay", "roles", "cluster", "topologies", "experiments", "train"])
def test_a_layer_may_import_the_lowest_one(unit: str) -> None:
    assert violations({f"pipeline.{unit}": "from pipeline.rows import Row", "pipeline.rows": ""}) == []


@pytest.mark.parametrize(
    ("module", "source", "rule"),
    [
        (
            "pipeline.roles.actor",
            "import pipeline.cluster.remotes.shards",
            "imports go down: roles is in layer 3, cluster in layer 4",
        ),
        (
            "pipeline.envs.atari",
            "from pipeline.networks import nature",
            "envs and networks stand in the same layer (1)",
        ),
        ("pipeline.train", "from pipeline import evaluate", "train and evaluate stand in the same layer (8)"),
        (
            "pipeline.results.table",
            "from pipeline.evaluation.play import play",
            "results may import the lowest layer only",
        ),
        (
            "pipeline.roles.actor",
            "from pipeline.results import scores",
            "results may be imported from experiments upwards",
        ),
        ("pipeline.replays.ring", "import pipeline.rows", "pipeline.replays stands in no layer"),
        ("pipeline.__init__", "import pipeline.api", "pipeline/__init__.py imports nothing of the project"),
        ("pipeline.roles.actor", "from dask import delayed", "dask may be imported in cluster only"),
        ("pipeline.results.load", "import torch.nn", "torch may be imported in algorithms"),
        ("pipeline.experiments.run", "import omegaconf", "omegaconf may be imported in config"),
        ("pipeline.replay.ring", "import pandas as pd", "pandas may be imported in results only"),
        ("pipeline.roles.actor", "import gymnasium", "gymnasium may be imported in envs only"),
        ("pipeline.envs.atari", "import tianshou", "tianshou stands in no table"),
        ("pipeline.cluster2.start", "import dask", "dask may be imported in cluster only"),
        ("pipeline.replay.ring", "from . import config", "imports are absolute"),
        ("pipeline.replay.ring", "from .config import ReplayConfig", "imports are absolute"),
    ],
)
def test_each_rule_is_enforced_with_the_place_and_the_rule_in_the_message(module: str, source: str, rule: str) -> None:
    found = violations(
        {
            module: f"\n{source}\n",
            "pipeline.networks.nature": "",
            "pipeline.results.scores": "",
            "pipeline.evaluate": "",
        }
    )
    assert len(found) == 1
    assert found[0].startswith(f"{module.replace('.', '/')}.py:2: ")
    assert rule in found[0]


@pytest.mark.parametrize(
    "source",
    [
        "def late():\n    import dask\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dask import delayed\n",
        "try:\n    import dask.array\nexcept ImportError:\n    pass\n",
        "import importlib\nimportlib.import_module('dask')\n",
        "from importlib import import_module\nimport_module('dask')\n",
    ],
)
def test_hidden_imports_are_imports(source: str) -> None:
    assert len(violations({"pipeline.roles.actor": source})) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pipeline.experiments.run", "from pipeline.results.table import game_table"),
        ("pipeline.report", "from pipeline.results import curves"),
        ("pipeline.evaluation.play", "from pipeline.envs.protocol import EnvironmentConfig"),
        (
            "pipeline.topologies.gorila",
            "from pipeline.cluster.kinds.start import start\nfrom pipeline.roles.bundle import Bundle",
        ),
        ("pipeline.config.run_config", "import hydra\nfrom omegaconf import OmegaConf"),
        ("pipeline.config.overrides", "import hydra"),
        ("pipeline.api", "from pipeline import __version__"),
        ("pipeline.replay.ring", "from pipeline.replay.config import ReplayConfig"),
    ],
)
def test_what_the_table_allows_passes(module: str, source: str) -> None:
    assert violations({module: source}) == []


def test_a_circle_of_modules_is_found_even_inside_one_package_and_one_function() -> None:
    found = violations(
        {
            "pipeline.replay.ring": "from pipeline.replay import sums",
            "pipeline.replay.sums": "import pipeline.replay.batch",
            "pipeline.replay.batch": "def late():\n    from pipeline.replay.ring import Ring\n",
        }
    )
    assert len(found) == 1
    assert "pipeline.replay.batch -> pipeline.replay.ring -> pipeline.replay.sums -> pipeline.replay.batch" in found[0]


def test_the_document_of_the_architecture_shows_the_same_tables() -> None:
    layers = documented_table("| layer |")
    beside = layers.pop("beside")
    assert layers == {str(number): names for number, names in enumerate(LAYERS)}
    assert beside == {SIDE_COLUMN}
    walls = documented_table("| packages |")
    shown = {package: places for packages, places in walls.items() for package in re.findall(r"`([\w.]+)`", packages)}
    assert shown == {package: frozenset(places) for package, places in WALLS.items()}


def documented_table(heading: str) -> dict[str, frozenset[str]]:
    """A table of docs/architecture.md that begins so: first cell -> the names in its second one."""
    _, _, table = (CHECKOUT / "docs" / "architecture.md").read_text().partition(f"\n{heading}")
    rows = [line.split("|")[1:3] for line in table.partition("\n\n")[0].splitlines()[2:]]
    return {first.strip(): frozenset(re.findall(r"`([\w.]+)`", second)) for first, second in rows}


def _unit(module: str) -> str:
    """The name directly below `pipeline`; "" for the package itself."""
    return module.partition(".")[2].partition(".")[0]


def _path(module: str) -> str:
    return module.replace(".", "/") + ".py"


def _first_cycle(edges: Mapping[str, Iterable[str]]) -> list[str] | None:
    """A path that ends where it began, or None. Depth first; a module that is finished is on no cycle."""
    finished: set[str] = set()

    def search(module: str, path: list[str]) -> list[str] | None:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in finished:
            return None
        for imported in edges.get(module, ()):
            if (cycle := search(imported, [*path, module])) is not None:
                return cycle
        finished.add(module)
        return None

    return next((cycle for module in sorted(edges) if (cycle := search(module, [])) is not None), None)
