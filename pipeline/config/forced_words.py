"""Settings that a file lacks, as Hydra takes them: `optimizer.beta1=0.9` becomes `++optimizer.beta1=0.9`.

Hydra refuses a setting that the files it composes do not have, even where the run has it. So it does with a file of the
user's that leaves a value to the command line; and of a multirun it first composes what is no sweep, with the default
experiment: `-m experiment=dba3c,ba3c algorithm.batch_size=64` would be refused, since `gorila` has no such setting.
Not here: whether a run has the setting at all (`pipeline.config.overrides`), which is checked before.
"""

import functools
from collections.abc import Iterator, Sequence

from hydra.core.override_parser.types import Override

from pipeline.config.choices import of_sweep_file, place_of, read_choices, text_of
from pipeline.config.composition import Files
from pipeline.config.overrides import typed_words
from pipeline.config.sweep_words import cases
from pipeline.settings import flat, leaves


def for_hydra(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command line without mistakes, with what Hydra would refuse put so that it does not."""
    words = typed_words(arguments)
    if words is None:
        return list(arguments)
    files = Files(words.own)
    parsed, _ = read_choices(words.overrides, files, multirun=words.multirun)
    of_file, _ = of_sweep_file(parsed, files, words.overrides)
    typed = {place_of(choices[0]) for choices in parsed}
    every = [*parsed, *(choices for choices in of_file if place_of(choices[0]) not in typed)]
    plain = [choices[0] for choices in parsed if _is_plain(choices[0], files)]
    if not plain:
        return list(arguments)
    compose_once = functools.cache(files.compose_tree)
    trees = [dict(flat(compose_once(groups))) for groups in dict.fromkeys(_groups_of_all(every, files))]
    lacking = {
        word.key_or_group
        for word in plain
        if any(leaf not in tree for tree in trees for leaf, _ in leaves(word.key_or_group, word.value()))
    }
    return [f"++{word}" if word.partition("=")[0] in lacking else word for word in arguments]


def _is_plain(word: Override, files: Files) -> bool:
    return not (files.options(word.key_or_group) or word.is_add() or word.is_force_add() or word.is_delete())


def _groups_of_all(parsed: Sequence[Sequence[Override]], files: Files) -> Iterator[tuple[str, ...]]:
    """The words that choose options: of what Hydra composes first, which is no job, and of each job's choices."""
    fixed = [choices for choices in parsed if len(choices) == 1]
    for case in ([choices[0] for choices in fixed], *(case for _, case in cases(parsed))):
        yield tuple(text_of(word) for word in case if files.options(word.key_or_group))
