"""Classes that settings choose by name: ours by a word, anybody's by where they are.

    optimizer.kind=adam                          the class in `pipeline.optimizers.config` that answers to "adam"
    optimizer.kind=my_package.lion.LionConfig    that class, in a package of the user's own

There is no list to add to. Ours are found by importing the place where they are, all others by their name alone: a
host that is sent such a name, or a run folder that holds one, needs nothing but the package itself. Places of settings
import neither torch nor Dask: docs/decisions/0029-settings-are-read-without-torch.md.
Why names and no registration: docs/decisions/0027-a-kind-of-one-s-own-is-named-by-where-it-is.md.
Not here: the wording of an unknown word (`pipeline.config.words`).
"""

import pkgutil
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import TypeVar, cast

from pipeline.errors import ConfigError, in_words
from pipeline.settings import NAMES_OF_CLASSES

T = TypeVar("T")

_OF_OWN_CLASS = re.compile(rf"[a-z_.]*\b(?:{'|'.join(NAMES_OF_CLASSES)})=\w+(?:\.\w+)+ ")


class Kinds(Mapping[str, type[T]]):
    """The classes below `base`: those in `place` by the words in their `KINDS`, others by a dotted name.

    `place` is a module, or a package whose modules are meant. Only the former are listed. KeyError for all that is
    neither; `why_not` says why.
    """

    def __init__(self, base: type[T], place: str) -> None:
        self._base = base
        self._place = place

    def __getitem__(self, name: str) -> type[T]:
        if "." not in name:
            return self._ours[name]
        try:
            return imported(name, self._base)
        except ConfigError as error:
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._ours)

    def __len__(self) -> int:
        return len(self._ours)

    def why_not(self, name: str) -> str | None:
        """What is wrong with a name, as the end of a line that begins with its setting; None if nothing is."""
        if "." not in name:
            return None if name in self._ours else f"must be one of {', '.join(self)}"
        try:
            imported(name, self._base)
        except ConfigError as error:
            return error.mistakes[0]
        return None

    @cached_property
    def _ours(self) -> Mapping[str, type[T]]:
        ours = sorted(classes_in(self._place, self._base), key=lambda found: found.__module__)
        return {word: found for found in ours for word in vars(found).get("KINDS", ())}


def imported(path: str, base: type[T]) -> type[T]:
    """The class with this dotted name, such as `my_package.lion.LionConfig`.

    Raises ConfigError where it is not there or not below `base`, with the end of a line that begins with its setting.
    """
    module, _, name = path.rpartition(".")
    if not module or not all(part.isidentifier() for part in path.split(".")):
        raise ConfigError(["must be a dotted name, e.g. my_package.my_module.MyClass"])
    try:
        found_in = import_module(module)
    except (Exception, SystemExit) as error:  # whatever a module of the user's raises; a script may end its program
        raise ConfigError([f"cannot be imported: {_why(error, module)}"]) from error
    found = getattr(found_in, name, None)
    if found is None:
        there = ", ".join(word for word, value in vars(found_in).items() if _is_below(base, value))
        raise ConfigError([f"cannot be imported: {module} has no {name}; it has {there or 'none of this kind'}"])
    if not _is_below(base, found):
        raise ConfigError([f"must be a class below {_shown(base)}"])
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise ConfigError([f"does not define {', '.join(missing)}, which {_shown(base)} leaves to each kind"])
    return cast(type[T], found)


def _is_below(base: type, value: object) -> bool:
    return isinstance(value, type) and issubclass(value, base) and value is not base


def _why(error: Exception | SystemExit, module: str) -> str:
    if isinstance(error, SystemExit):
        return f'{module} ends its program while it is imported; put what it does below if __name__ == "__main__"'
    said = " ".join(str(error).split())
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is not None and f"{module}.".startswith(f"{missing}."):
        return f"{said}; its package has to be installed, or in the folder where the command is typed"
    if missing is not None:
        return f"{said}, which {module} imports; install that package"
    return f"{module} raises {in_words(error)}; mend that module"


def _shown(base: type) -> str:
    """Its name as users import it: torch.nn.Module is defined further down."""
    parts = base.__module__.split(".")
    places = (".".join(parts[: depth + 1]) for depth in range(len(parts)))
    found = (place for place in places if getattr(import_module(place), base.__name__, None) is base)
    return f"{next(found)}.{base.__name__}"


def is_own(kind: str) -> bool:
    """Whether a kind is where a class of the user's own is, and no word of ours."""
    return "." in kind


def is_of_own_class(mistake: str) -> bool:
    """Whether a line of a configuration's mistakes is of a class of the user's own, and so of its package."""
    return _OF_OWN_CLASS.match(mistake) is not None


def classes_in(place: str, base: type[T]) -> list[type[T]]:
    """All classes below `base` that a module, or the modules of a package, define; imports them."""
    for module in pkgutil.iter_modules(getattr(import_module(place), "__path__", ())):
        import_module(f"{place}.{module.name}")
    return [found for found in all_below(base) if f"{found.__module__}.".startswith(f"{place}.")]


def all_below(base: type[T]) -> list[type[T]]:
    """Every class that inherits from `base` and was defined so far, in the order of their definition."""
    found: dict[type[T], None] = {}
    for child in base.__subclasses__():
        found |= dict.fromkeys([child, *all_below(child)])
    return list(found)
