"""The arguments of a program with `@hydra.main`, as Hydra can take them.

    experiment=dqn -m seed=0,1    experiment=dqn seed=0,1 -m: Hydra takes no setting behind an option behind a setting
    --seed 5, --seed=5, --resume  a mistake, told with seed=5 and resume=true: settings have no dashes
    results_dir=~/runs            results_dir='~/runs': as it is, Hydra cannot read it

Options count only as they are written in full: Hydra itself takes --experiment for its --experimental-rerun.
Not here: whether settings are right (`pipeline.config.overrides`).
"""

import argparse
import re
from collections.abc import Sequence
from typing import NamedTuple

from hydra._internal.utils import get_args_parser  # the words that Hydra itself takes from the command line

from pipeline.config.other_words import ELSEWHERE
from pipeline.config.words import quoted_home

_DASHED = re.compile(r"-+[a-zA-Z]")
"""No negative number."""
_NO_VALUE = re.compile(r"[~+]|-+[a-zA-Z]|.*=")
"""How words begin that are no value of a setting with dashes before them."""


class Arguments(NamedTuple):
    """What was typed, in order."""

    for_hydra: list[str]
    """Settings, those with dashes as they should have been written; then options and their values."""
    mistakes: list[str]
    """One line for each setting with dashes."""


def hydra_arguments(typed: Sequence[str]) -> Arguments:
    """`typed` for Hydra."""
    known = {name: action for action in get_args_parser()._actions for name in action.option_strings}
    options: list[str] = []
    settings: list[str] = []
    mistakes: list[str] = []
    left = [word for word in typed if word != "--"]
    while left:
        word = left.pop(0)
        name, equals, _ = word.partition("=")
        if name in known:
            options.append(word)
            if left and not equals and _takes(known[name], left[0]):
                options.append(left.pop(0))
        elif _DASHED.match(word):
            if left and not equals and not _NO_VALUE.match(left[0]):
                word = f"{word} {left.pop(0)}"
            settings.append(without_dashes(word))
            mistakes.append(f"{word}: settings are written without dashes: {settings[-1]}")
        else:
            settings.append(quoted_home(word))
    return Arguments([*settings, *options], mistakes)


def without_dashes(word: str) -> str:
    """`--batch-size 8` or `--batch-size=8` as the setting that is meant, under the name that it has here."""
    name, _, value = word.lstrip("-").replace(" ", "=", 1).partition("=")
    name = name.replace("-", "_")
    return f"{ELSEWHERE.get(name, name)}={value or 'true'}"


def _takes(option: argparse.Action, word: str) -> bool:
    """Whether the word behind an option is its value: always, never, or if it is one that the option may have."""
    return option.nargs is None or (option.nargs == "?" and word in (option.choices or ()))
