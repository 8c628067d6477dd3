"""The wording of "there is no such thing": what was given, the nearest valid name, or what there is.

Used by every check of a configuration, so that all mistakes read alike.
"""

import difflib
from collections.abc import Iterable, Mapping

_MOST_LISTED = 12


def no_such(kind: str, given: str, word: str, known: Iterable[str]) -> str:
    """One line: `given` is what the user wrote, `word` the part of it that is not among `known`."""
    near = nearest(word, known)
    return f"{given}: no such {kind}; " + (f"did you mean {near}?" if near is not None else f"there is {listed(known)}")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like `word`, upper and lower case alike; None if none does."""
    by_lower_case = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), by_lower_case, n=1, cutoff=0.6)
    return by_lower_case[found[0]] if found else None


def listed(known: Iterable[str]) -> str:
    """The names, separated by commas; of a long list the first dozen and the number of the others."""
    names = list(known)
    rest = len(names) - _MOST_LISTED
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:_MOST_LISTED])} and {rest} more"


def with_words_typed(lines: Iterable[str], words: Mapping[str, str]) -> tuple[str, ...]:
    """Mistakes, those of settings that an option does not have with the option as it was typed.

    `words`: group -> word of the command line, e.g. "algorithm" -> "algorithm=actor_critic". An experiment sets what
    its own option has, which another one typed in its place may lack.
    """
    return tuple(_with_word_typed(line, words) for line in lines)


def _with_word_typed(line: str, words: Mapping[str, str]) -> str:
    name, colon, rest = line.partition(f": {NO_SUCH_SETTING}")
    word = words.get(name.partition(".")[0])
    if not colon or word is None or "=" in name:
        return line
    experiment = words.get("experiment", "the experiment")
    return f"{word} has no setting {name}, which {experiment} sets: choose an experiment that has {word}{rest}"


NO_SUCH_SETTING = "no such setting"
"""In mistakes."""
