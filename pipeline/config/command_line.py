"""The arguments of a program with `@hydra.main`, as Hydra can take them.

    experiment=dqn -m seed=0,1    experiment=dqn seed=0,1 -m: Hydra takes no setting behind an option behind a setting
    --seed 5, --seed=5, --resume  a mistake, told with seed=5 and resume=true: settings have no dashes

Not here: whether settings are right (`pipeline.config.overrides`).
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from hydra._internal.utils import get_args_parser  # the words that Hydra itself takes from the command line

from pipeline.config.other_words import ELSEWHERE

_DASHED = re.compile(r"-+[a-zA-Z]")
"""No negative number."""


class Arguments(NamedTuple):
    """What was typed, in order."""

    for_hydra: list[str]
    """Settings, those with dashes as they should have been written; then options and their values."""
    mistakes: list[str]
    """One line for each setting with dashes."""


def hydra_arguments(typed: Sequence[str]) -> Arguments:
    """`typed` for Hydra. Ends the program, as Hydra does, at an option of its own that has a wrong value."""
    words, behind = get_args_parser().parse_known_args(list(typed))
    dashed = Counter(filter(_DASHED.match, behind))
    plain = Counter([*words.overrides, *behind]) - dashed
    options: list[str] = []
    settings: list[str] = []
    mistakes: list[str] = []
    left = list(typed)
    while left:
        word = left.pop(0)
        if dashed[word]:
            dashed[word] -= 1
            if "=" not in word and left and plain[left[0]] and "=" not in left[0]:
                plain[left[0]] -= 1
                word = f"{word} {left.pop(0)}"
            settings.append(without_dashes(word))
            mistakes.append(f"{word}: settings are written without dashes: {settings[-1]}")
        elif plain[word]:
            plain[word] -= 1
            settings.append(word)
        else:
            options.append(word)
    return Arguments([*settings, *options], mistakes)


def without_dashes(word: str) -> str:
    """`--batch-size 8` or `--batch-size=8` as the setting that is meant, under the name that it has here."""
    name, _, value = word.lstrip("-").replace(" ", "=", 1).partition("=")
    name = name.replace("-", "_")
    return f"{ELSEWHERE.get(name, name)}={value or 'true'}"
