"""Text files say which encoding they are in: without a word it is the locale's, and a run folder is read elsewhere.

Found by reading the source, since no machine that runs these tests has all locales. Not here: files that are whole or
not at all (`test_whole_file`).
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGES = ("benchmarks", "dask_jobs", "docs", "hydra_plugins", "measuring", "pipeline", "studies")

TEXT_METHODS = {"read_text": 0, "write_text": 1}
"""Methods of `Path` that are for text alone -> where the encoding stands if it is not given by name."""


def calls_in_the_locale(source: str) -> Iterator[int]:
    """Lines of calls that read or write text in whatever encoding the locale has."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=("read_text" | "write_text") as name), args=args, keywords=keywords):
                is_text, place = True, TEXT_METHODS[name]
            case ast.Call(func=ast.Name(id="open"), args=args, keywords=keywords):
                is_text, place = _is_text(args[1:2], keywords), 3
            case ast.Call(func=ast.Attribute(attr="open"), args=args, keywords=keywords):
                is_text, place = _is_text(args[:1], keywords), 2
            case _:
                continue
        if is_text and len(args) <= place and "encoding" not in {keyword.arg for keyword in keywords}:
            yield node.lineno


def _is_text(mode: list[ast.expr], keywords: list[ast.keyword]) -> bool:
    modes = [*mode, *(keyword.value for keyword in keywords if keyword.arg == "mode")]
    if not modes:
        return True
    # A mode is written where it is used; what else is opened with an argument is no file.
    return isinstance(modes[0], ast.Constant) and "b" not in str(modes[0].value)


def test_every_text_file_has_an_encoding() -> None:
    sources = [path for package in PACKAGES for path in sorted((CHECKOUT / package).rglob("*.py"))]
    assert len(sources) > 400
    found = [f"{path}:{line}" for path in sources for line in calls_in_the_locale(path.read_text(encoding="utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    "call",
    ["path.read_text()", "path.write_text(text)", "open(path)", 'open(path, "w")', "path.open()", 'path.open("a")',
     'path.open(mode="r", newline="")', 'open(path, mode="x")'],
)  # fmt: skip
def test_a_call_that_leaves_it_to_the_locale_is_found(call: str) -> None:
    assert list(calls_in_the_locale(f"\n{call}")) == [2]


@pytest.mark.parametrize(
    "call",
    ['path.read_text(encoding="utf-8")', 'path.read_text("utf-8")', 'path.write_text(text, "utf-8")',
     'open(path, "rb")', 'open(path, "w", encoding="ascii")', 'path.open("wb")', 'path.open("a", encoding="utf-8")',
     'open(path, mode="rb")', "ledger.open(folder)"],
)  # fmt: skip
def test_bytes_a_named_encoding_and_what_is_no_file_pass(call: str) -> None:
    assert list(calls_in_the_locale(call)) == []
