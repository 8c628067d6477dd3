"""The wording of "there is no such thing": what was given, the nearest valid name, or what there is.

Used by every check of a configuration, so that all mistakes read alike.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from pipeline.run_folders import at_home

_MOST_LISTED = 12
_FOLDER_NAME = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)
_OF_A_KIND = re.compile(r"\b([a-z_]+)\.kind=([a-z_]\w*)(?![\w.])")
_IN_HOME = re.compile(r"""([^~=][^=]*=)(~[^'",\[\]\\]*)""")
"""A setting and a value in the home, without what would stand in quotes already, or be several."""
_AS_NEAR = 0.1
"""Of a likeness from 0 to 1: so much less is about as much."""


def no_such(kind: str, given: str, word: str, known: Iterable[str], most: int = 1) -> str:
    """One line: `given` is what the user wrote, `word` the part of it that is not among `known`.

    At `most` so many of them are named as what may have been meant.
    """
    known = list(known)
    *others, last = near if (near := nearest_ones(word, known, most)) else [""]
    meant = f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
    return f"{given}: no such {kind}; {meant if near else f'there is {listed(known)}'}"


def none_of(name: str, value: str, allowed: Sequence[str]) -> list[str]:
    """The mistake that a setting's value is none of those allowed, in one line; empty if it is one of them."""
    return [] if value in allowed else [f"{name}={value} must be one of {', '.join(allowed)}"]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like `word`, upper and lower case alike; None if none does."""
    return next(iter(nearest_ones(word, known, 1)), None)


def nearest_ones(word: str, known: Iterable[str], most: int) -> list[str]:
    """As `nearest`, with those that look about as much like it, the nearest first."""
    by_lower_case = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), by_lower_case, n=most, cutoff=0.6)
    likeness = [difflib.SequenceMatcher(None, name, word.lower()).ratio() for name in found]
    return [by_lower_case[name] for name, like in zip(found, likeness, strict=True) if like > likeness[0] - _AS_NEAR]


def listed(known: Iterable[str]) -> str:
    """The names, separated by commas; of a long list the first dozen and the number of the others."""
    names = list(known)
    rest = len(names) - _MOST_LISTED
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:_MOST_LISTED])} and {rest} more"


def lines_below(lines: Sequence[str], most: int) -> str:
    """Each on a line of its own; of many the first ones, and how many more there are."""
    more = len(lines) - most
    return "".join(f"\n  {line}" for line in [*lines[:most], *([f"and {more} more"] if more > 0 else [])])


def quoted_home(word: str) -> str:
    """`results_dir=~/runs` as `results_dir='~/runs'`, which Hydra can read; every other word as it is.

    Only some shells put the home in its place there, and none does in a program's list of words. Settings of Hydra's
    own, such as `hydra.sweep.dir`, get the home itself: it would make a folder called `~`.
    """
    found = _IN_HOME.fullmatch(word)
    if found is None:
        return word
    setting, place = found.groups()
    is_hydra_s = setting.lstrip("+").startswith("hydra.")
    return f"{setting}'{at_home(place) if is_hydra_s else place}'"


def no_folder_name(setting: str, name: str) -> list[str]:
    """The mistake of a name that would not stay where it is put: one that goes up, or is a path; none of any other."""
    if _FOLDER_NAME.fullmatch(name) is not None:
        return []
    return [f"{setting}={name!r} must be the name of one folder: letters, digits, _ - and ."]


def with_words_typed(
    lines: Iterable[str], words: Mapping[str, str], by_option: Callable[[str], bool] = lambda _: False
) -> tuple[str, ...]:
    """Mistakes of several groups, with the words that chose their options.

    `words`: group -> word of the command line, e.g. "algorithm" -> "algorithm=actor_critic". An experiment sets what
    its own option has, which another one typed in its place, or in the file of an experiment upon it, may lack; and it
    chooses the options that nobody typed. `by_option`: whether the file of a typed option itself sets this setting.
    """
    return tuple(dict.fromkeys(_with_word_typed(_with_kinds_typed(line, words), words, by_option) for line in lines))


def _with_kinds_typed(line: str, words: Mapping[str, str]) -> str:
    """ "topology.kind=global cannot run ..." as "topology=global cannot run ...", if that is how it was chosen."""

    def typed(found: re.Match[str]) -> str:
        group, kind = found.groups()
        word = words.get(group, words.get("experiment"))
        return found[0] if word is None else word if word == f"{group}={kind}" else f"{found[0]} of {word}"

    return _OF_A_KIND.sub(typed, line)


def _with_word_typed(line: str, words: Mapping[str, str], by_option: Callable[[str], bool]) -> str:
    experiment = words.get("experiment", "the experiment")
    name, colon, rest = line.partition(f": {NO_SUCH_SETTING}")
    group = name.partition(".")[0]
    word = words.get(group)
    if word == f"{group}=none" and line.endswith(IS_MISSING):
        return f"{word} leaves none, and {experiment} sets something of it: choose an experiment that has {word}"
    if not colon or "=" in name:
        return line
    if word is None:
        return f"{line}; {experiment}, or what it builds on or chooses, sets it: mend that, or ~{name} takes it away"
    if by_option(name):
        return f"{line}; the file of {word} sets it: mend it there"
    return (
        f"{word} has no setting {name}, which {experiment} sets: choose an experiment that has {word}, or ~{name} "
        f"takes it away{rest}"
    )


NO_SUCH_SETTING, IS_MISSING = "no such setting", " is missing: a run needs it"
"""In mistakes."""
