"""What settings of a run are, whoever reads them: dotted names, and which of them make no other agent.

Not here: what each one means, and what it may be (`pipeline.config.run_config`).
"""

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

OF_THE_COURSE = frozenset(
    {
        "topology.compute_threads",
        "budget",
        "checkpoint",
        "training_evaluation",
        "cluster",
        "results_dir",
        "resume",
        "overwrite",
        "plan",
        "progress",
        "logging",
    }
)
"""Settings that say how long, where, how fast and how visibly a run goes on, not what it computes."""

NAMES_OF_CLASSES = ("kind", "torso", "class")
"""Last words of settings that may be dotted names of classes."""

MISSING = "???"
"""What Hydra leaves where a value must be given."""


def several(given: str | int | os.PathLike[str] | Iterable[str | int | os.PathLike[str]]) -> tuple[str, ...]:
    """Words, numbers or paths as a tuple of words: who has one need not put it into a list."""
    all_given = [given] if isinstance(given, str | int | os.PathLike) else given
    return tuple(str(one) if isinstance(one, int) else os.fspath(one) for one in all_given)


def is_of_the_course(name: str) -> bool:
    """Whether a setting, by its dotted name, makes no other agent: a resume may change it."""
    return name in OF_THE_COURSE or name.partition(".")[0] in OF_THE_COURSE


def setting_name(field: str) -> str:
    """What a dataclass's field is called in settings: the field `class_` is the setting `class`, a word of Python's."""
    return field.removesuffix("_")


def shown(value: Any) -> str:
    """A setting's value as a command line has it: true, null, [1, 2]."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {shown(item)}' for name, item in value.items())}}}"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def as_settings(config: Any) -> dict[str, Any]:
    """The settings that a dataclass holds, and those that it is made of, as nested dictionaries."""

    def named(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        return {setting_name(field): value for field, value in items}

    return dataclasses.asdict(config, dict_factory=named)


def flat(tree: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted name and value of each setting of a nested mapping, in its order: ("optimizer.kind", "adam")."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Dotted names and values of single settings: `budget={frames: 4}` sets budget.frames."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(f"{name}.{key}", inner)
    else:
        yield name, value
