"""Words about settings that a file lacks, as Hydra takes them.

    optimizer=mine optimizer.beta1=0.9                       ++optimizer.beta1=0.9: the user's file leaves it to words
    -m experiment=dba3c,ba3c algorithm.batch_size=64         algorithm.batch_size=choice(64)

Hydra refuses a setting that the files have not which it composes, even where the run has it. Of a multirun it composes
first what is no sweep, and so with the default experiment, `gorila`, which has no such setting as the second line's. A
sweep of one value is left out there, and each job is told of it as it was typed. Words about the cluster are forced
all the same: the launcher takes what is its own from what Hydra composes first.
Not here: whether a run has the setting at all (`pipeline.config.overrides`), which is checked before.
"""

import functools
from collections.abc import Collection, Sequence

from hydra.core.override_parser.types import Override

from pipeline.config.choices import of_file_alone, of_sweep_file, read_choices, text_of
from pipeline.config.composition import Files
from pipeline.config.overrides import typed_words
from pipeline.config.sweep_words import cases
from pipeline.settings import flat, leaves

_OF_CLUSTER = "cluster."


def for_hydra(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command line without mistakes, with what Hydra would refuse put so that it does not."""
    words = typed_words(arguments)
    if words is None:
        return list(arguments)
    files = Files(words.own)
    parsed, _ = read_choices(words.overrides, files, multirun=words.multirun)
    plain = [choices[0] for choices in parsed if _is_plain(choices[0], files)]
    if not plain:
        return list(arguments)
    of_file, _ = of_sweep_file(parsed, files, words.overrides)
    names = functools.cache(lambda groups: frozenset(name for name, _ in flat(files.compose_tree(groups))))
    of_jobs = [names(_options(case, files)) for _, case in cases([*parsed, *of_file_alone(parsed, of_file)])]
    # Words that are sweeps stand as one of their values among the choices, and not as they were typed.
    first = names(_options([c[0] for c in parsed if text_of(c[0]) in words.overrides], files))
    put = {}
    for word in plain:
        if any(_is_lacking(word, known) for known in of_jobs):
            put[word.key_or_group] = "++{0}={1}"
        elif _is_lacking(word, first) and text_of(word) in words.overrides:  # one that is no sweep
            is_launcher_s = word.key_or_group.startswith(_OF_CLUSTER)
            put[word.key_or_group] = "++{0}={1}" if is_launcher_s else "{0}=choice({1})"
    return [_put(word, put) for word in arguments]


def _is_plain(word: Override, files: Files) -> bool:
    return not (files.options(word.key_or_group) or word.is_add() or word.is_force_add() or word.is_delete())


def _options(case: Sequence[Override], files: Files) -> tuple[str, ...]:
    """The words among these that choose options."""
    return tuple(text_of(word) for word in case if files.options(word.key_or_group))


def _is_lacking(word: Override, known: Collection[str]) -> bool:
    return any(leaf not in known for leaf, _ in leaves(word.key_or_group, word.value()))


def _put(argument: str, put: dict[str, str]) -> str:
    name, equals, value = argument.partition("=")
    return put[name].format(name, value) if equals and name in put else argument
