"""The documents name what is there: links, paths, definitions, commands, settings and `make` targets.

Not here: whether what they say about it is true.
"""

import ast
import importlib
import importlib.util
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import benchmarks.__main__
import studies.__main__
from docs.site_pages import is_left_out
from pipeline.config.arguments import parse_words
from pipeline.config.overrides import check_command_line
from pipeline.errors import ConfigError
from pipeline.evaluate import EvaluateArguments
from pipeline.export import ExportArguments
from pipeline.play import PlayArguments
from pipeline.report import ReportArguments
from pipeline.start_states import StartStateArguments
from pipeline.status import StatusArguments

CHECKOUT = Path(__file__).resolve().parents[1]


DOCUMENTS = [
    *sorted(CHECKOUT.glob("*.md")),
    *sorted((CHECKOUT / "docs").rglob("*.md")),
    *sorted((CHECKOUT / "packaging").rglob("*.md")),
    CHECKOUT / "results" / "README.md",
    *(page for page in sorted(CHECKOUT.glob("results/*/*.md")) if not is_left_out(str(page.relative_to(CHECKOUT)))),
]
MOST_BYTES_OF_README = 8192
MOST_LINES_OF_CHANGELOG = 60

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```(\w*)\n(.*?)^```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"(?<![\w/.<-])(?:pipeline|dask_jobs|conf|tests|docs|benchmarks|measuring|studies)/[\w./*-]*")
DEFINITION = re.compile(r"((?:pipeline|dask_jobs)/[\w/]+\.py):([A-Za-z_][\w.]*)")
HOST_COMMAND = re.compile(r"^(?!error: ).*\bdask (?:worker|scheduler) .*$", re.MULTILINE)
BLOCK = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
PLACEHOLDER = "…"
NAME = "NAME"
"""Stands for any module."""
SHELL_VARIABLE = re.compile(r"\$\w+")
ARGUMENTS: dict[str, type] = {
    "pipeline.evaluate": EvaluateArguments,
    "pipeline.export": ExportArguments,
    "pipeline.play": PlayArguments,
    "pipeline.report": ReportArguments,
    "pipeline.start_states": StartStateArguments,
    "pipeline.status": StatusArguments,
}
"""Commands whose words are the fields of a dataclass."""
OF_GROUPS = ("evaluation=", "evaluation.", "cluster=", "cluster.")
"""Words of `pipeline.evaluate` that choose among files of `conf/` and change them."""
NAMES: dict[str, tuple[str, ...]] = {
    "benchmarks": benchmarks.__main__.QUICK + benchmarks.__main__.LONG,
    "studies": studies.__main__.NAMES,
}
"""Commands whose words are names of modules."""
TAKE_ANYTHING = ("tests.cluster.slurm_site", "tests.fuzz")
"""Commands whose words are any folder, or any numbers."""
OF_THE_READER = ("conf/experiment/mine.yaml",)
"""Files that a document asks the reader to write."""

NOT_HERE = ("no run folder", "not installed here")
"""In mistakes that are none of the document's: runs are the reader's, and so are extras."""

every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(CHECKOUT)))


def broken_links(text: str, folder: Path) -> list[str]:
    """Relative links whose file is not there, or whose heading is not in it."""
    found = []
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, heading = link.partition("#")
        file = folder / name
        if not file.exists() or (heading and heading not in headings(file.read_text() if name else text)):
            found.append(link)
    return found


def open_to_everybody(text: str) -> list[str]:
    """Commands in blocks to copy that start a scheduler or a worker without saying where it listens: everywhere."""
    return [line for block in BLOCK.findall(text) for line in HOST_COMMAND.findall(block) if " --host " not in line]


def headings(text: str) -> set[str]:
    """Headings as links spell them: "## Going on" is "going-on"."""
    lines = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line).strip().lower().replace(" ", "-") for line in lines}


def missing_paths(text: str) -> list[str]:
    """Paths of the checkout that match nothing; `*` may stand in them."""
    paths = [path.rstrip("./") for path in PATH.findall(text)]
    return [path for path in paths if path not in OF_THE_READER and not any(CHECKOUT.glob(path))]


def missing_definitions(text: str) -> list[str]:
    """`file.py:Class.method` where the file has no such definition; methods may be inherited from a class there."""
    found = []
    for file, name in DEFINITION.findall(text):
        path = CHECKOUT / file
        if not path.exists() or name.rstrip(".") not in definitions(path):
            found.append(f"{file}:{name}")
    return found


def definitions(path: Path) -> set[str]:
    """Functions, classes and methods of a module, methods as `Class.method`."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = [inner for inner in node.body if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)]
            names |= {f"{node.name}.{method.name}" for method in methods}
    return names


class Command(NamedTuple):
    """A command line as a document shows it."""

    words: list[str]
    error: str
    """The error message that stands below it; "" for a command that succeeds."""


def commands(text: str) -> Iterator[Command]:
    """Every command line in a code block or a code span; comments and continued lines are understood."""
    for language, block, span in CODE.findall(text):
        if language in ("python", "yaml"):
            continue
        lines = (block or span).replace("\\\n", " ").splitlines()
        for number, line in enumerate(lines, start=1):
            if re.match(r"\s*(\$ |exec )?(python|make|\.venv/bin/python)\b", line):
                below = itertools.takewhile(lambda other: other.startswith(("error: ", "  ")), lines[number:])
                yield Command(shlex.split(re.sub(r"^\s*(\$ |exec )?", "", line), comments=True), "\n".join(below))


def error_of(command: Command) -> str:
    """What the command would say instead of starting, as a document has to show it; "" if it would start."""
    found = [line for line in mistakes(command.words) if not any(words in line for words in NOT_HERE)]
    return f"error: {ConfigError(found)}" if found else ""


def mistakes(words: list[str]) -> list[str]:
    """What is wrong with one command: an unknown module or target, or an override that would be refused."""
    if words[0] == "make":
        return [word for word in words[1:] if "=" not in word and word not in make_targets()]
    if "-m" not in words:
        return []
    module, arguments = words[words.index("-m") + 1], words[words.index("-m") + 2 :]
    if importlib.util.find_spec(module) is None:
        return [f"no module {module}"]
    if module == "pipeline.train":
        return check_command_line(filled_in(arguments))
    if module in ARGUMENTS:
        return unknown_words(module, arguments)
    if module in NAMES:
        return [f"{module}: no {word}" for word in arguments if word not in (*NAMES[module], NAME)]
    if module.startswith(tuple(f"{package}." for package in NAMES)):
        source = (CHECKOUT / f"{module.replace('.', '/')}.py").read_text()
        return [f"{module}: no {word}" for word in arguments if f'"{word}"' not in source]
    is_ours = (CHECKOUT / module.partition(".")[0]).is_dir() and module not in TAKE_ANYTHING
    return [f"{module}: its words are checked by nobody"] if is_ours else []


def unknown_words(module: str, arguments: list[str]) -> list[str]:
    """What is wrong with the words of a command that composes no run but, maybe, some groups of one."""
    of_groups = [word for word in arguments if module == "pipeline.evaluate" and word.startswith(OF_GROUPS)]
    a_run = ["-m", "experiment=gorila", "results_dir=${evaluation.protocol}"]
    found = check_command_line([*a_run, *filled_in(of_groups)], lambda _: None) if of_groups else []
    try:
        parse_words(ARGUMENTS[module], [word for word in arguments if word not in of_groups])
    except ConfigError as error:
        found += error.mistakes
    return found


def filled_in(arguments: list[str]) -> list[str]:
    """A command line without placeholders: "…" alone stands for any further settings, of which a game is needed.

    In a word it stands for host and port; a variable of the shell is a whole address.
    """
    filled = [word.replace(PLACEHOLDER, "10.0.0.1:8786") for word in arguments if word != PLACEHOLDER]
    filled = [SHELL_VARIABLE.sub("tcp://10.0.0.1:8786", word) for word in filled]
    return filled if any(word.startswith("game=") for word in filled) else [*filled, "game=Pong"]


def make_targets() -> set[str]:
    """Targets of the Makefile."""
    return set(re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE))


def missing_names(source: str) -> list[str]:
    """Names that a Python example takes from `pipeline` and that are not there. SyntaxError if it is no Python."""
    tree = ast.parse(source)
    modules: dict[str, str] = {}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "pipeline":
            for alias in node.names:
                name, parent = f"{node.module}.{alias.name}", importlib.import_module(str(node.module))
                if hasattr(parent, "__path__") and importlib.util.find_spec(name) is not None:
                    modules[alias.asname or alias.name] = name
                elif not hasattr(parent, alias.name):
                    found.append(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            module = modules[node.value.id]
            if not hasattr(importlib.import_module(module), node.attr):
                found.append(f"{module}.{node.attr}")
    return found


@every_document
def test_links_lead_somewhere(document: Path) -> None:
    assert broken_links(document.read_text(), document.parent) == []


@every_document
def test_paths_and_definitions_are_there(document: Path) -> None:
    text = document.read_text()
    assert missing_paths(text) == []
    assert missing_definitions(text) == []


@every_document
def test_commands_would_start_or_fail_with_the_error_that_is_shown(document: Path) -> None:
    for command in commands(document.read_text()):
        assert error_of(command) == command.error, shlex.join(command.words)


@every_document
def test_schedulers_and_workers_to_copy_do_not_listen_on_every_interface(document: Path) -> None:
    assert open_to_everybody(document.read_text()) == []


@every_document
def test_python_examples_use_what_is_there(document: Path) -> None:
    examples = [block for language, block, _ in CODE.findall(document.read_text()) if language == "python"]
    assert [missing_names(example) for example in examples if missing_names(example)] == []


def test_every_departure_from_the_papers_is_named_where_the_code_makes_it() -> None:
    _, _, section = (CHECKOUT / "docs" / "papers.md").read_text().partition("## Every departure\n")
    rows = [line for line in section.partition("\n## ")[0].splitlines() if DEFINITION.search(line)]
    assert len(rows) >= 10
    for row in rows:
        files = [file for file, _ in DEFINITION.findall(row)]
        assert any("Departure" in (CHECKOUT / file).read_text() for file in files), row


def test_documents_that_the_code_names_are_there() -> None:
    sources = [file.read_text() for file in (CHECKOUT / "pipeline").rglob("*.py")]
    named = [path for source in sources for path in PATH.findall(source) if path.startswith("docs/")]
    assert named
    assert missing_paths(" ".join(named)) == []


def test_every_decision_has_a_number_of_its_own_and_says_context_decision_and_consequence() -> None:
    files = sorted((CHECKOUT / "docs" / "decisions").glob("[0-9]*.md"))
    assert [int(file.name[:4]) for file in files] == list(range(1, len(files) + 1))
    for file in files:
        text = file.read_text()
        assert text.startswith(f"# {file.name[:4]} ")
        assert all(f"**{part}.**" in text for part in ("Context", "Decision", "Consequence")), file.name


def test_the_first_page_is_short_and_so_is_the_changelog() -> None:
    assert (CHECKOUT / "README.md").stat().st_size <= MOST_BYTES_OF_README
    assert len((CHECKOUT / "CHANGELOG.md").read_text().splitlines()) <= MOST_LINES_OF_CHANGELOG


def test_every_document_is_within_two_clicks_of_the_first_page() -> None:
    first = linked_documents(CHECKOUT / "README.md")
    second = {page for document in first for page in linked_documents(document)}
    found = {page.relative_to(CHECKOUT).as_posix() for page in first | second | {CHECKOUT / "README.md"}}
    of_decisions = re.compile(r"docs/decisions/\d")
    wanted = {page.relative_to(CHECKOUT).as_posix() for page in DOCUMENTS}
    assert {page for page in wanted - found if not of_decisions.match(page)} == set()


def linked_documents(document: Path) -> set[Path]:
    """The documents that one links to."""
    links = (link.partition("#")[0] for link in LINK.findall(document.read_text()))
    return {path for link in links if (path := (document.parent / link).resolve()) in DOCUMENTS}


def test_pages_that_reports_and_runs_have_written_are_no_documents_of_ours() -> None:
    pages = ["tables/page.md", "runs/gorila/Pong/0/exports/9/README.md", "gorila_growth/page.md", "README.md"]
    assert [is_left_out(f"results/{page}") for page in pages] == [True, True, False, False]


def test_the_results_have_an_index_of_all_their_folders() -> None:
    pages = {page for page in DOCUMENTS if page.parent.parent == CHECKOUT / "results"}
    assert pages
    assert pages <= linked_documents(CHECKOUT / "results" / "README.md")


def test_the_site_s_navigation_has_every_page_once() -> None:
    listed = re.findall(r"^ +- (\S+\.md)$", (CHECKOUT / "mkdocs.yml").read_text(), re.MULTILINE)
    # Decisions come by themselves.
    pages = [*CHECKOUT.glob("docs/*.md"), *CHECKOUT.glob("docs/clusters/*.md")]
    wanted = {page for page in [*pages, *CHECKOUT.glob("results/*/README.md")] if page in DOCUMENTS}
    assert len(listed) == len(set(listed))
    assert {page.relative_to(CHECKOUT).as_posix() for page in wanted} <= set(listed)


def test_what_is_not_there_is_found() -> None:
    docs = CHECKOUT / "docs"
    assert broken_links("[a](papers.md) [b](paper.md) [c](https://x.y)", docs) == ["paper.md"]
    assert broken_links("[a](running.md#going-on) [b](running.md#going-off)", docs) == ["running.md#going-off"]
    assert missing_paths("`conf/experiment/gorila.yaml`, conf/game/*.yaml and (pipeline/role/).") == [
        "conf/game/*.yaml",
        "pipeline/role",
    ]
    assert missing_definitions("`pipeline/roles/learner.py:Learner.step` `pipeline/roles/learner.py:Learner.stop`") == [
        "pipeline/roles/learner.py:Learner.stop"
    ]
    assert missing_names("from pipeline import api\napi.train(1)\napi.trian(1)\n") == ["pipeline.api.trian"]
    assert missing_names("from pipeline.api import compose, load\n") == ["pipeline.api.load"]


def test_a_worker_that_would_listen_everywhere_is_found() -> None:
    worker = "CUDA_VISIBLE_DEVICES=0 dask worker tcp://10.0.0.1:8786 --nthreads 1"
    text = f"Each `dask worker` is a host.\n```\n{worker}\n{worker} --host 10.0.0.1\n```\n"
    assert open_to_everybody(text) == [worker]


def test_commands_are_found_in_blocks_and_in_spans() -> None:
    text = "`make train` and\n```\n$ python -m pipeline.train a=1 \\\n    b=2  # c\n```\n```python\nmake = 1\n```\n"
    assert [command.words for command in commands(text)] == [
        ["make", "train"],
        ["python", "-m", "pipeline.train", "a=1", "b=2"],
    ]


def test_the_error_below_a_command_belongs_to_it() -> None:
    text = "```\n$ make trian\nerror: no\n  1. trian\n\n$ make test\n```\n"
    assert [command.error for command in commands(text)] == ["error: no\n  1. trian", ""]


@pytest.mark.parametrize(
    ("command", "mistake"),
    [
        ("make trian", "trian"),
        ("python -m pipeline.trian", "no module pipeline.trian"),
        ("python -m pipeline.train experiment=gorilla", "gorila"),
        ("python -m pipeline.train … seed=-1", "seed=-1"),
        ("python -m pipeline.evaluate rum=results/runs", "run"),
        ("python -m pipeline.evaluate evaluation=sticky,stiky", "evaluation=stiky"),
        ("python -m pipeline.evaluate evaluation.num_episode=3", "evaluation.num_episodes"),
        ("python -m pipeline.evaluate cluster=processes cluster.num_host=3", "cluster.num_hosts"),
        ("python -m pipeline.status cluster.num_hosts=3", "cluster.num_hosts"),
        ("python -m pipeline.report result_dir=results/runs", "results_dir"),
        ("python -m studies chaos.soap", "chaos.soap"),
        ("python -m studies.main_job --ordinarily", "--ordinarily"),
        ("python -m measuring.modules", "checked by nobody"),
    ],
)
def test_a_command_that_would_not_start_is_found(command: str, mistake: str) -> None:
    (found,) = mistakes(shlex.split(command))
    assert mistake in found
