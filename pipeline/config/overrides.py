"""From a command line to a `RunConfig`: Hydra composes `conf/`, and every mistake is found before it starts.

Hydra itself stops at the first wrong word. So the overrides are parsed first, with Hydra's own parser; each one is
held against the files of `conf/` and the schema of `tree`; those that are wrong are put aside, and the rest is
composed and checked for ranges and combinations. All lines are reported together.

Not here: what a run may contain (`run_config`), Hydra itself (`composition`), words about a sweep (`sweep_words`),
starting it (`pipeline.train`).
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from hydra._internal.utils import get_args_parser  # the words that Hydra itself takes from the command line
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig

from pipeline.cluster.config import ClusterConfig
from pipeline.config import tree as config_tree
from pipeline.config.choices import of_file_alone, of_sweep_file, read_choices, text_of, with_settings
from pipeline.config.composition import DASK, Files, as_tree, resolved
from pipeline.config.kept_values import kept_values
from pipeline.config.labels import mislabelled, rightly_labelled
from pipeline.config.own_parts import faults_of_own_parts
from pipeline.config.run_config import RunConfig
from pipeline.config.sweep_words import (
    SWEEP,
    cases,
    heard_cluster,
    shared_folder,
    unfit_cluster,
    unwritable_folder,
    wrong_launcher_words,
)
from pipeline.config.tree import Tree
from pipeline.config.warm_start import warm_start_mistakes
from pipeline.config.words import listed, no_such, quoted_home, with_words_typed
from pipeline.errors import ConfigError
from pipeline.older_settings import RENAMED_OPTIONS
from pipeline.settings import flat, leaves, several

T = TypeVar("T")


def compose(overrides: Sequence[str] = (), config_dir: str | Path | None = None) -> RunConfig:
    """The run that `overrides` describe, e.g. `["experiment=dqn", "game=Pong"]`; for notebooks, scripts and tests.

    `config_dir`: a folder with groups of one's own, e.g. `experiment/mine.yaml`. Raises ConfigError with all mistakes
    of all overrides.
    """
    own = None if config_dir is None else Path(config_dir)
    found, run = _check([quoted_home(word) for word in several(overrides)], multirun=False, config_dir=own)
    if found or run is None:
        raise ConfigError(found)
    return run


def compose_onto(
    saved: Tree, overrides: Sequence[str], groups: Sequence[str], config_dir: Path | None = None
) -> RunConfig:
    """A run's saved settings with options and settings of some of its `groups` as in `overrides`.

    An override is e.g. "evaluation=sticky" or "evaluation.num_episodes=10"; `config_dir` is as for `compose`. Raises
    ConfigError with all mistakes of all overrides, those of groups that may not be changed included.
    """
    tree, found = _changed(saved, overrides, groups, Files(config_dir))
    return _without(found, lambda: config_tree.build(resolved(tree)))


def compose_cluster(overrides: Sequence[str], config_dir: Path | None = None) -> ClusterConfig:
    """A cluster by itself, e.g. `["cluster=processes", "cluster.num_hosts=4"]`, whatever a run would ask of it.

    `config_dir` is as for `compose`. Raises ConfigError with all mistakes of all overrides.
    """
    files = Files(config_dir)
    tree, found = _changed(files.compose_tree(("~experiment",)), overrides, ("cluster",), files)
    return _without(found, lambda: config_tree.build_cluster(resolved(tree)["cluster"]))


def from_hydra(config: DictConfig) -> RunConfig:
    """The run that a job function of `@hydra.main` was given. Raises ConfigError with all mistakes."""
    return rightly_labelled(config_tree.build(resolved(as_tree(config))))


def check_command_line(arguments: Sequence[str], say: Callable[[str], object] = print) -> list[str]:
    """All mistakes in the arguments of a program with `@hydra.main`, flags included; empty: let Hydra start.

    Nothing is checked where Hydra only shows something (`--help`, `--info`, `--cfg`, ...), nor where files in the place
    of `conf/` are named (`-cp`, `-cn`, `hydra.searchpath`): there `from_hydra` has the last word. Those in a folder
    beside it (`--config-dir`, `-cd`) count like those of `conf/`. `say` hears how many values it is that take seconds,
    and what of an experiment stays beside an option that was typed.
    """
    if (words := typed_words(arguments)) is None:
        return []
    found = _check(words.overrides, words.multirun, words.own, say)[0]
    return [*found, *(unwritable_folder(words.overrides, Files(words.own)) if words.multirun else [])]


class TypedWords(NamedTuple):
    """What Hydra takes from a command line that starts something."""

    overrides: list[str]
    multirun: bool
    own: Path | None
    """The folder of --config-dir."""


def typed_words(arguments: Sequence[str]) -> TypedWords | None:
    """The words that are checked; None where nothing is, as `check_command_line` says."""
    words = get_args_parser().parse_args(list(arguments))
    only_shows = (words.help, words.hydra_help, words.cfg, words.info, words.shell_completion, words.experimental_rerun)
    elsewhere = (words.config_path, words.config_name)
    if any(only_shows) or any(elsewhere) or any("hydra.searchpath" in word for word in words.overrides):
        return None
    return TypedWords(words.overrides, words.multirun, None if words.config_dir is None else Path(words.config_dir))


def _check(
    overrides: Sequence[str], multirun: bool, config_dir: Path | None, say: Callable[[str], object] | None = None
) -> tuple[list[str], RunConfig | None]:
    """All mistakes, and the run that the first choices make; what is wrong by itself is left out of it.

    With `multirun` a value may be a sweep: each of its choices is checked, with the first choice of the other sweeps.
    Other combinations are checked by `from_hydra` in the job that runs them.
    """
    if config_dir is not None and not config_dir.is_dir():
        return [f"--config-dir {config_dir}: there is no such folder"], None
    files = Files(config_dir)
    parsed, found = read_choices(overrides, files, multirun=multirun)
    launcher = files.launcher(overrides)
    found += wrong_launcher_words(overrides, files.launchers(), launcher, multirun=multirun)
    of_file, unusable = of_sweep_file(parsed, files, overrides)
    if unusable:
        return [*found, *unusable], None
    parsed += of_file_alone(parsed, of_file)
    compose_once = functools.cache(files.compose_tree)
    folders: dict[Path, RunConfig] = {}
    first_run: RunConfig | None = None
    kept: list[str] = []
    if say is not None and (count := sum(map(len, parsed))) > _MANY_VALUES:
        say(f"checking {count:,} values of this command line")
    heard = heard_cluster(overrides, files, compose_once) if multirun and launcher == DASK else None
    for swept, case in cases(parsed):
        mistakes, run = check_case(case, files, compose_once)
        first_run = first_run or run
        found += mistakes
        if multirun and launcher == DASK:
            found += unfit_cluster(run, case, heard)
        if say is not None and not mistakes:
            kept += _kept(case, files, compose_once)
        # A word that is wrong was left out of its run, whose folder is not the one that was meant.
        is_wrong = any(line.lstrip("+").startswith(f"{swept}=") for line in found)
        if is_wrong or run is None or run.plan:
            continue
        first = folders.setdefault(run.folder, run)
        if first is not run and swept:
            found.append(shared_folder(swept, first, run))
    if say is not None and not found:
        for line in dict.fromkeys(kept):
            say(line)
    right = {text_of(choices[0]) for choices in parsed}
    if any(text.lstrip("+").startswith(f"{SWEEP}=") and text not in right for text in overrides):
        # One that is misspelt would have named the games.
        found = [line for line in found if not line.startswith("game is missing")]
    return list(dict.fromkeys(found)), first_run


def _kept(case: Sequence[Override], files: Files, compose_once: Callable[[tuple[str, ...]], Tree]) -> list[str]:
    """What stays of the experiment's in groups of which the overrides of a sound run choose an option themselves."""
    groups = _words_of_groups(case, files)
    chosen = _options_of_groups(groups)
    if not chosen:
        return []
    typed = {leaf for word in case for leaf, _ in leaves(word.key_or_group, word.value())}
    try:
        options = resolved(compose_once(_without_experiment(groups)))
        run = resolved(compose_once(tuple(groups.values())))
    except ConfigError:
        # Interpolations may name the game, or the experiment, which these have not: it is a remark, and left out.
        return []
    return kept_values(chosen, run, options, typed, groups.get(_EXPERIMENT, f"the {_EXPERIMENT} {run[_EXPERIMENT]}"))


def _words_of_groups(case: Sequence[Override], files: Files) -> dict[str, str]:
    """Group -> word that chooses its option, those for another place than the group's own left out."""
    groups = (word for word in case if word.package is None and files.options(word.key_or_group))
    return {word.key_or_group: text_of(word) for word in groups}


def _options_of_groups(words: Mapping[str, str]) -> dict[str, str]:
    """Those of these words (group -> word) that choose an option of a run's group, the experiment not among them."""
    return {group: text for group, text in words.items() if group in _ALWAYS_CHOSEN and group != _EXPERIMENT}


def _without_experiment(words: Mapping[str, str]) -> tuple[str, ...]:
    return (f"~{_EXPERIMENT}", *_options_of_groups(words).values())


def _changed(saved: Tree, overrides: Sequence[str], groups: Sequence[str], files: Files) -> tuple[Tree, list[str]]:
    """`saved` with those of `overrides` that are right by themselves, and the mistakes of the others."""
    parsed, found = read_choices([quoted_home(word) for word in overrides], files, multirun=False)
    words = []
    for (word,) in parsed:
        if word.key_or_group.partition(".")[0] in groups:
            words.append(word)
        else:
            found.append(f"{text_of(word)}: only settings of {' and '.join(groups)} can be changed here")
    choices = [word for word in words if files.options(word.key_or_group)]
    found += [mistake for word in choices if (mistake := _wrong_choice(word, files)) is not None]
    sound = [word for word in choices if _wrong_choice(word, files) is None]
    # Without an experiment: what it says of these groups is in the saved settings, if it is of this run at all.
    composed = files.compose_tree(("~experiment", *(text_of(word) for word in sound)))
    tree = {**saved, **{word.key_or_group: composed[word.key_or_group] for word in sound}}
    settings = [word for word in words if word not in choices]
    mistakes = {text_of(word): _wrong_setting(word, tree, files) for word in settings}
    found += [mistake for mistake in mistakes.values() if mistake is not None]
    return with_settings(tree, [word for word in settings if mistakes[text_of(word)] is None]), found


def _without(mistakes: Sequence[str], build: Callable[[], T]) -> T:
    """What is built, if there are no mistakes before or in it. Raises ConfigError with all of them."""
    try:
        built = build()
    except ConfigError as error:
        raise ConfigError([*mistakes, *error.mistakes]) from error
    if mistakes:
        raise ConfigError(mistakes)
    return built


def check_case(
    case: Sequence[Override], files: Files, compose_once: Callable[[tuple[str, ...]], Tree]
) -> tuple[list[str], RunConfig | None]:
    """The mistakes of one run's overrides, and the run if they make one: what is wrong by itself is left out of it."""
    groups = [override for override in case if files.options(override.key_or_group)]
    settings = [override for override in case if override not in groups]
    found = {text_of(override): _wrong_choice(override, files) for override in groups}
    run: RunConfig | None = None
    try:
        chosen = compose_once(tuple(text_of(override) for override in groups if found[text_of(override)] is None))
        found |= {text_of(override): _wrong_setting(override, chosen, files) for override in settings}
        run = config_tree.build(
            resolved(with_settings(chosen, [word for word in settings if found[text_of(word)] is None]))
        )
        others = (*warm_start_mistakes(run), *faults_of_own_parts(run), *mislabelled(run))
    except ConfigError as error:
        words = _words_of_groups(groups, files)
        others = with_words_typed(
            error.mistakes, words, lambda name: name in dict(flat(compose_once(_without_experiment(words))))
        )
    in_order = [found.get(text_of(override)) for override in case]
    return [*(line for line in in_order if line is not None), *others], run


def _wrong_choice(override: Override, files: Files) -> str | None:
    """What is wrong with choosing an option of a group, or None."""
    group, text = override.key_or_group, text_of(override)
    if override.is_delete():
        return f"{text}: a run needs {group}"
    if (override.is_add() and group in _ALWAYS_CHOSEN) or override.is_force_add():
        return f"{text}: {group} is chosen already; write {text.lstrip('+')}"
    option = override.value()
    if option not in (known := files.options(group)):
        if (now := RENAMED_OPTIONS.get((group, str(option)))) in known:
            return f"{text}: it is now called {now}: write {group}={now}"
        return no_such(group, text, str(option), known)
    return None


def _wrong_setting(override: Override, tree: Tree, files: Files) -> str | None:
    """What is wrong with one setting's name or the type of its value, or None."""
    name, text = override.key_or_group, text_of(override)
    for leaf, value in leaves(name, override.value()):
        if (mistake := config_tree.unknown_setting(leaf, text, tree)) is not None:
            return None if override.is_delete() and leaf in dict(flat(tree)) else mistake
        if override.is_delete():
            return f"{text}: a run needs {name}"
        if override.is_add():
            return f"{text}: {name} is there already; write {text.lstrip('+')}"
        if leaf in _VARIANT_KINDS:
            group = leaf.removesuffix(".kind")
            return f"{text}: each kind has its own settings; write {group}=NAME, one of {listed(files.options(group))}"
        is_interpolation = isinstance(value, str) and "${" in value
        if not is_interpolation and (mistake := config_tree.wrong_type(leaf, value, tree)) is not None:
            return mistake
    return None


_MANY_VALUES = 200
"""So many are checked in two seconds."""

_EXPERIMENT = "experiment"

_ALWAYS_CHOSEN = frozenset(RunConfig.__dataclass_fields__)

_VARIANT_KINDS = frozenset(
    f"{name}.kind" for name, field in RunConfig.__dataclass_fields__.items() if field.type in config_tree.VARIANTS
)
