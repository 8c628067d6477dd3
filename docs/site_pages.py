"""The site of `make docs`: which files are its pages, and where their links lead.

Pages have the paths of the checkout, so that one link leads to the same place in both. A source file that the documents
name has a page, its name with ".md" behind it: a module its docstrings, a file of settings its text.

Not here: the order of the pages and how they look (mkdocs.yml).
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

CHECKOUT = Path(__file__).resolve().parents[1]
DOCUMENTS = ("*.md", "docs/**/*.md", "results/*.md", "results/*/*.md", "results/*/tables/*.md")
OF_ALL_PAGES = ("docs/site.css", "docs/iframe-worker.js")
PACKAGES = ("pipeline", "dask_jobs")
"""Their modules have a page each."""
SHOWN_AS_TEXT = (".yaml", ".yml", ".sh", ".py")

LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
NAMED = re.compile(r"(?<!\[)`((?:" + "|".join(PACKAGES) + r")/[\w/]+\.py)(?::([A-Za-z_][\w.]*\w))?`(?!\])")
LINKED_NAME = re.compile(r"\[`((?:" + "|".join(PACKAGES) + r")/[\w/]+\.py):([A-Za-z_][\w.]*\w)`\]\([^)]*\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The theme's own files, the documents, what they link to, and a page for each module."""
    documents = {name for pattern in DOCUMENTS for name in _names(CHECKOUT.glob(pattern)) if not is_left_out(name)}
    modules = {module for name in PACKAGES for module in _names((CHECKOUT / name).rglob("*.py"))}
    modules = {name for name in modules if (CHECKOUT / name).read_text(encoding="utf-8").strip()}
    linked = {*OF_ALL_PAGES, *(target for name in documents for target in _targets(name))} - documents - modules
    of_the_theme = [file for file in files if file.src_dir != config.docs_dir]
    ours = [File.generated(config, name, abs_src_path=str(CHECKOUT / name)) for name in sorted(documents)]
    ours += [File.generated(config, f"{name}.md", content=_module_page(name)) for name in sorted(modules)]
    for name in sorted(linked):
        if name.endswith(SHOWN_AS_TEXT):
            ours.append(File.generated(config, f"{name}.md", content=_text_page(name)))
        else:
            ours.append(File.generated(config, name, abs_src_path=str(CHECKOUT / name)))
    assert config.nav is not None
    config.nav += [
        {"Decisions": sorted((name for name in documents if name.startswith("docs/decisions/")), key=_readme_first)},
        {"Code": [_tree(name, modules) for name in PACKAGES if (CHECKOUT / name).is_dir()]},
    ]
    return Files([*of_the_theme, *ours])


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """The page with its links to source files leading to their pages, and `file.py:name` a link where it is none."""
    folder = posixpath.dirname(page.file.src_uri)

    def to_page(match: re.Match[str]) -> str:
        target, heading = match[1], match[2] or ""
        return f"{target}.md{heading}" if target.endswith(SHOWN_AS_TEXT) and ":" not in target else match[0]

    def to_definition(match: re.Match[str]) -> str:
        file, name = match[1], match[2]
        shown = f"{file}:{name}" if name else file
        if not (CHECKOUT / file).exists():
            return match[0]
        return f"[`{shown}`]({posixpath.relpath(file, folder or '.')}.md{_anchor(file, name)})"

    return NAMED.sub(to_definition, LINKED_NAME.sub(to_definition, LINK.sub(to_page, markdown)))


def is_left_out(name: str) -> bool:
    """Whether git leaves a file of the checkout out: users' own runs and reports write beside the studies' pages."""
    left_out = {line.rstrip("/") for line in (CHECKOUT / ".gitignore").read_text(encoding="utf-8").split()}
    return any(folder in left_out for folder in (str(parent) for parent in Path(name).parents))


def _names(paths: Iterable[Path]) -> Iterator[str]:
    return (path.relative_to(CHECKOUT).as_posix() for path in paths)


def _targets(document: str) -> Iterator[str]:
    """Files of the checkout, documents or not, that a document links to."""
    folder = posixpath.dirname(document)
    for target, _ in LINK.findall((CHECKOUT / document).read_text(encoding="utf-8")):
        path = posixpath.normpath(posixpath.join(folder, target))
        if ":" not in target and (CHECKOUT / path).is_file():
            yield path


def _readme_first(name: str) -> tuple[bool, str]:
    return (not name.endswith("README.md"), name)


def _anchor(file: str, name: str | None) -> str:
    """Where a definition stands on its module's page; private ones stand on none."""
    if name is None or any(part.startswith("_") for part in name.split(".")):
        return ""
    return f"#{_dotted(file)}.{name}"


def _dotted(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _module_page(file: str) -> str:
    return f"# {_dotted(file)}\n\n::: {_dotted(file)}\n"


def _text_page(file: str) -> str:
    text = (CHECKOUT / file).read_text(encoding="utf-8")
    return f"# {file}\n\n````{Path(file).suffix.removeprefix('.')}\n{text}\n````\n"


def _tree(folder: str, modules: Iterable[str]) -> dict[str, list[object]]:
    """A package as an entry of the navigation: its own modules, then its packages."""
    below = sorted(name for name in modules if name.startswith(f"{folder}/"))
    own = [{Path(name).stem: f"{name}.md"} for name in below if posixpath.dirname(name) == folder]
    packages = sorted({name.split("/")[folder.count("/") + 1] for name in below} - {Path(name).name for name in below})
    return {Path(folder).name: [*own, *(_tree(f"{folder}/{name}", modules) for name in packages)]}
