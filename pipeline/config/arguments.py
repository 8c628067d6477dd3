"""`name=value` words as the fields of a dataclass, for commands that start no run; every mistake at once.

The dataclass is the schema: names, types, defaults, and the texts of `--help`, which are its fields' docstrings. Types
are str, int, float, bool and Path, or one of them | None.
Not here: commands that compose `conf/` (`pipeline.config.overrides`).
"""

import ast
import inspect
import itertools
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

from pipeline.config.words import no_such
from pipeline.errors import ConfigError
from pipeline.run_folders import at_home, unquoted
from pipeline.settings import shown

T = TypeVar("T")


@runtime_checkable
class Checked(Protocol):
    """A dataclass that knows what it cannot be."""

    def mistakes(self) -> list[str]:
        """What is out of range or cannot go together, one line each, beginning with the field's name."""


def parse_words(arguments: type[T], words: Sequence[str]) -> T:
    """The dataclass that `words` describe; fields that no word names keep their default.

    Raises ConfigError with every mistake: unknown names with the nearest known one, values of another type, names that
    are given twice, and what a Checked dataclass says itself. Of the latter, once there are others, only what is said
    of fields that were given rightly. `--help` or `-h` among the words prints `help_text` and ends the program.
    """
    if not {"--help", "-h"}.isdisjoint(words):
        print(help_text(arguments))
        sys.exit()
    hints = typing.get_type_hints(arguments)
    values: dict[str, Any] = {}
    mistakes: list[str] = []
    for word in words:
        name, equals, given = word.partition("=")
        if not equals:
            meant = word.lstrip("-").replace("-", "_")
            form = f"{meant}=VALUE" if meant in hints else "name=value"
            mistakes.append(f"{word!r} is not understood: settings are given as {form}")
        elif name not in hints:
            mistakes.append(no_such("setting", word, name, hints))
        elif name in values:
            mistakes.append(f"{word}: {name} is given twice")
        else:
            try:
                values[name] = _value(unquoted(given), hints[name])
            except ConfigError as error:
                mistakes.append(f"{word}: {error.mistakes[0]}")
    parsed = arguments(**values)
    if isinstance(parsed, Checked):
        mistakes += [line for line in parsed.mistakes() if not mistakes or line.partition("=")[0] in values]
    if mistakes:
        raise ConfigError(mistakes)
    return parsed


def help_text(arguments: type) -> str:
    """What a command does, as its module says, and each setting with its default and its docstring."""
    module = inspect.getmodule(arguments)
    about = inspect.cleandoc((module and module.__doc__) or "").partition("\nNot here:")[0]
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(arguments))).body
    assert isinstance(definition, ast.ClassDef)
    lines = [about.strip(), "", "settings:"]
    for field, text in itertools.pairwise([*definition.body, ast.Pass()]):
        if not isinstance(field, ast.AnnAssign):
            continue
        assert isinstance(field.target, ast.Name)
        lines.append(f"  {field.target.id}={shown(getattr(arguments, field.target.id))}")
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            lines.append(textwrap.indent(inspect.cleandoc(str(text.value.value)), "      "))
    return "\n".join(lines)


def _value(text: str, declared: Any) -> Any:
    choices = typing.get_args(declared) if isinstance(declared, types.UnionType) else (declared,)
    if text == "null" and types.NoneType in choices:
        return None
    kind = next(choice for choice in choices if choice is not types.NoneType)
    read, allowed = _READERS[kind]
    try:
        return read(text)
    except (KeyError, ValueError) as error:
        raise ConfigError([f"must be {allowed}"]) from error


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError
    return text


_READERS: Mapping[type, tuple[Callable[[str], Any], str]] = {
    str: (_not_empty, "a word"),
    Path: (lambda text: Path(at_home(_not_empty(text))), "a path"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    bool: (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
}
