"""Each word of a command line as the choices that it leaves: one, or the values of a sweep.

    read_choices    the words, as Hydra's parser reads them      of_sweep_file    what the file of +sweep= adds to them
    all_jobs        every combination, in the order in which Hydra's own sweeper numbers its jobs

Not here: whether a choice is right (`overrides`), the words that are about a sweep alone (`sweep_words`).
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import cast

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, ValueType
from hydra.errors import HydraException

from pipeline.config.composition import Files, one_line
from pipeline.config.sweep_words import SWEEP, wrong_sweep
from pipeline.config.tree import Tree
from pipeline.errors import ConfigError
from pipeline.settings import leaves


def read_choices(
    overrides: Sequence[str], files: Files, *, multirun: bool, beside: Sequence[str] = ()
) -> tuple[list[list[Override]], list[str]]:
    """Each override as the list of its choices (one, if it is no sweep), and the mistakes of those that are none.

    Of an interval both ends are choices, and a fraction between whole ones: all else is for a sweeper that searches to
    choose. It may be named in these words or in those `beside` them.
    """
    parser = OverridesParser.create()
    parsed: list[list[Override]] = []
    found: list[str] = []
    for text in overrides:
        try:
            override = parser.parse_override(text)
            if override.is_hydra_override():
                continue
            if override.key_or_group == SWEEP:
                mistake = wrong_sweep(override, multirun, files.options(SWEEP))
                if mistake is not None:
                    found.append(mistake)
                    continue
            if multirun and override.is_interval_sweep() and not _searches([*overrides, *beside], files):
                found.append(f"{text}: {_FOR_A_SEARCH}")
                continue
            choices = [parser.parse_override(choice) for choice in _choices(override, files)]
        except (HydraException, AttributeError) as error:
            found.append(f"{text}: Hydra cannot read this: {one_line(error)}")
            continue
        if override.is_sweep_override() and not multirun:
            found.append(f"{text}: several values need --multirun (-m), or quotes if it is one text")
        if choices:
            parsed.append(choices)
        else:
            found.append(f"{text}: a sweep without values")
    return parsed, found


def of_sweep_file(
    parsed: Sequence[Sequence[Override]], files: Files, overrides: Sequence[str]
) -> tuple[list[list[Override]], list[str]]:
    """What the file of a sweep says, if there is one, words that are typed as well included; and why it is no use.

    parsed: the choices of `overrides`.
    """
    for word, *_ in parsed:
        if word.key_or_group == SWEEP:
            try:
                params = files.sweep_params(text_of(word))
            except ConfigError as error:
                return [], [f"{text_of(word)}: {error.mistakes[0]}"]
            words = [f"{name}={values}" for name, values in params.items()]
            return read_choices(words, files, multirun=True, beside=overrides)
    return [], []


def of_file_alone(parsed: Sequence[Sequence[Override]], of_file: Sequence[list[Override]]) -> list[list[Override]]:
    """What the file of a sweep says and no typed word takes the place of."""
    typed = {place_of(choices[0]) for choices in parsed}
    return [choices for choices in of_file if place_of(choices[0]) not in typed]


def all_jobs(parsed: Sequence[Sequence[Override]], of_file: Sequence[Sequence[Override]]) -> Iterator[list[Override]]:
    """The overrides of each job, numbered as Hydra does: the file's words first, the last word fastest.

    A word that the file has too stands in the file's place.
    """
    words = {place_of(choices[0]): choices for choices in of_file}
    words |= {place_of(choices[0]): choices for choices in parsed if choices[0].key_or_group != SWEEP}
    return map(list, itertools.product(*words.values()))


def with_settings(tree: Tree, settings: Sequence[Override]) -> Tree:
    """A copy of `tree` in which each of `settings` has its value, or is away: as Hydra does it, but quickly."""
    changed = dict(tree)
    for override in settings:
        for leaf, value in leaves(override.key_or_group, override.value()):
            *groups, word = leaf.split(".")
            node = changed
            for group in groups:
                node[group] = dict(node[group])
                node = node[group]
            if override.is_delete():
                node.pop(word, None)
            else:
                node[word] = value
    return changed


def _choices(override: Override, files: Files) -> list[str]:
    """The override once for each of its values, as text."""
    if not override.is_sweep_override():
        return [cast(str, override.input_line)]
    key = override.get_key_element()
    if override.is_interval_sweep():
        interval = cast(IntervalSweep, override.value())
        ends = [cast(float, interval.start), cast(float, interval.end)]
        # int(interval(0,5)) has whole numbers alone; of others 0.5 is one, which a setting of whole numbers cannot be.
        is_fractional = isinstance(ends[0], float) and ends[0].is_integer()
        return [f"{key}={value}" for value in (*ends, *([ends[0] + 0.5] if is_fractional else []))]
    if override.value_type == ValueType.GLOB_CHOICE_SWEEP:
        return [f"{key}={name}" for name in override.value().filter(files.options(override.key_or_group))]  # type: ignore[union-attr]
    return [f"{key}={value}" for value in override.sweep_string_iterator()]


def _searches(overrides: Sequence[str], files: Files) -> bool:
    try:
        return files.sweeper(overrides) is not None
    except ConfigError:
        return True  # what is wrong with a word that would name it is told of that word


def place_of(override: Override) -> tuple[str, str | None]:
    """What a word sets: a setting, or an option's place, of which a group may have several (`group@place=option`)."""
    return override.key_or_group, override.package


def text_of(override: Override) -> str:
    """As it was typed, or stands for one choice of what was."""
    return cast(str, override.input_line)


_FOR_A_SEARCH = (
    "an interval is for a search, which chooses in it: add hydra/sweeper=ask_and_tell hydra/launcher=dask, or list "
    "values"
)
