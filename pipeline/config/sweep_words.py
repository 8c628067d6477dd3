"""The words of a command line that are about a sweep: its file, its cases, the launcher of its jobs.

Not here: the words about runs (`overrides`), what the launcher does (`dask_jobs`), the ranges
of its settings, which it checks itself before it starts anything.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from dask_jobs.settings import LauncherSettings
from pipeline.cluster.kinds import CLUSTER_KINDS
from pipeline.config.composition import DASK, LAUNCHER, SWEEPER, Files, resolved
from pipeline.config.run_config import RunConfig
from pipeline.config.tree import Tree
from pipeline.config.words import no_such
from pipeline.disk import why_unwritable
from pipeline.errors import ConfigError
from pipeline.settings import leaves

SWEEP = "sweep"
"""Group of the files that name the games of a sweep, and what else it goes over."""

_SETTING = "hydra.launcher."
_CLUSTER = "cluster"
_WHERE = ("address", "tls_ca_file", "tls_cert_file", "tls_key_file")
"""Settings of a cluster that say which one the jobs of a sweep run on: the launcher takes them for its own."""
_SCHEMA = "base_"
"""Begins the names of options that other options are made of."""


def wrong_sweep(override: Override, multirun: bool, options: Sequence[str]) -> str | None:
    """What is wrong with the word that names a sweep's file; None if nothing is."""
    text, name = str(override.input_line), str(override.value())
    if override.is_sweep_override():
        return f"{text}: one sweep at a time; its experiments, games and seeds may be many"
    if name not in options:
        return no_such(SWEEP, text, name, options)
    if not override.is_add():
        return f"{text}: write +{SWEEP}={name}"
    return None if multirun else f"{text}: a sweep is many runs, which need --multirun (-m)"


def wrong_launcher_words(
    overrides: Sequence[str], launchers: Sequence[str], chosen: str, *, multirun: bool
) -> list[str]:
    """All mistakes in the names of a launcher and its settings.

    `launchers` are the options that Hydra knows; `chosen` is the one of the sweep. Words that cannot be read are left
    to others. Without `multirun` Hydra would take these words, and start the one run as if they were not there.
    """
    words = [word for text in overrides if (word := _read(text)) is not None]
    if not multirun and (idle := [word for word in words if _is_idle(word)]):
        return [f"{word.input_line}: a sweep is many runs, which need --multirun (-m)" for word in idle]
    return [mistake for word in words if (mistake := _wrong_word(word, chosen, launchers)) is not None]


def unfit_cluster(
    run: RunConfig | None, case: Sequence[Override] | None = None, heard: Mapping[str, object] | None = None
) -> list[str]:
    """Why the Dask launcher cannot grant this run its hosts: the cluster that it asks for, by a word or by a file.

    Where something else is wrong there is no run: then the word alone tells. `case`: the words; `heard`: of
    `heard_cluster`; None: not known here.
    """
    found = []
    word = next((word for word in case or () if word.key_or_group == _CLUSTER), None)
    kind = run.cluster.kind if run is not None else str(word.value()) if word is not None else ""
    if kind in CLUSTER_KINDS and not CLUSTER_KINDS[kind].serves_sweeps:
        of_file = f"{_CLUSTER}={kind}" + ("" if case is None else " of a file")
        found.append(
            f"{of_file if word is None else word.input_line}: {LAUNCHER}={DASK} runs all jobs on one cluster: "
            "its own on this machine, or cluster=address; start hosts there as docs/sweeps.md shows"
        )
    if run is not None and run.cluster.groups:
        found.append("cluster.groups: a sweep grants its jobs whatever host is free: leave out groups")
    return found + _unheard_address(run, heard)


def unwritable_folder(overrides: Sequence[str], files: Files) -> list[str]:
    """The mistake of a sweep whose own folder cannot be written, be it read-only or full; none where nothing starts."""
    is_plan = any(word.key_or_group == "plan" and word.value() is True for word in map(_read, overrides) if word)
    folder = None if is_plan else files.sweep_folder(overrides)
    if folder is None or (why := why_unwritable(folder)) is None:
        return []
    return [f"hydra.sweep.dir={folder} cannot be written: {why}; choose another, as hydra.sweep.dir=/tmp/sweep"]


def heard_cluster(
    overrides: Sequence[str], files: Files, compose_once: Callable[[tuple[str, ...]], Tree]
) -> Mapping[str, object] | None:
    """The cluster that the Dask launcher hears of; None where it is told of one itself, or nobody can tell.

    It goes by what Hydra composes first, which is without the words that a sweep goes over, and what their files say.
    """
    read = [word for text in overrides if (word := _read(text)) is not None and not word.is_sweep_override()]
    if any(word.key_or_group == f"{_SETTING}address" for word in read):
        return None
    words = [word for word in read if not word.is_hydra_override()]
    try:
        tree = compose_once(tuple(str(word.input_line) for word in words if files.options(word.key_or_group)))
        settings = [word for word in words if word.key_or_group.startswith(f"{_CLUSTER}.")]
        typed = dict(leaf for word in settings for leaf in leaves(word.key_or_group, word.value()))
        of_cluster = {name.removeprefix(f"{_CLUSTER}."): value for name, value in typed.items()}
        cluster: Mapping[str, object] = resolved({**tree, _CLUSTER: {**tree[_CLUSTER], **of_cluster}})[_CLUSTER]
    except ConfigError:
        return None
    return cluster


def _unheard_address(run: RunConfig | None, heard: Mapping[str, object] | None) -> list[str]:
    """Why this run would not come to the scheduler that it names; `heard`: of `heard_cluster`."""
    if run is None or heard is None or getattr(run.cluster, "address", None) is None:
        return []
    wanted = {name: getattr(run.cluster, name) for name in _WHERE}
    if all(heard.get(name) == value for name, value in wanted.items()):
        return []
    words = " ".join(f"{_CLUSTER}.{name}={value}" for name, value in wanted.items() if value is not None)
    return [
        f"{_CLUSTER}.address={wanted['address']}: {LAUNCHER}={DASK} hears nothing of what a sweep goes over, nor of "
        f"its files: type {_CLUSTER}={run.cluster.kind} {words}"
    ]


def _is_idle(word: Override) -> bool:
    """Whether it chooses something for sweeps that is not there by itself."""
    return word.key_or_group in (LAUNCHER, SWEEPER) and word.value() != "basic"


def _wrong_word(word: Override, chosen: str, launchers: Sequence[str]) -> str | None:
    text = str(word.input_line)
    if word.key_or_group == LAUNCHER:
        known, named = [name for name in launchers if not name.startswith(_SCHEMA)], str(word.value())
        return None if named in known else no_such("launcher", text, named, known)
    name = word.key_or_group.removeprefix(_SETTING)
    if name == word.key_or_group or chosen not in ("basic", DASK):
        return None
    settings = [field.name for field in dataclasses.fields(LauncherSettings)]
    if name not in settings:
        return no_such("setting", text, word.key_or_group, [f"{_SETTING}{setting}" for setting in settings])
    return None if chosen == DASK else f"{text}: no such setting with {LAUNCHER}={chosen}; it belongs to {DASK}"


def _read(text: str) -> Override | None:
    try:
        return OverridesParser.create().parse_override(text)
    except (HydraException, AttributeError):
        return None


def shared_folder(swept: str, first: RunConfig, second: RunConfig) -> str:
    """What is wrong with sweeping over a setting, or over options of a group, that tells no run folder from another.

    `first` and `second` would share it.
    """
    value = _setting(second, swept)
    told_by = f"{swept}.kind" if hasattr(value, "kind") else swept
    is_group = told_by == swept and (dataclasses.is_dataclass(value) or value is None)
    # Options of a group may be of one kind: then nothing short names what parts them.
    names_both = not is_group and _setting(first, told_by) != _setting(second, told_by)
    example = f", e.g. 'results_dir=results/runs/${{{told_by}}}'" if names_both else ""
    return (
        f"{swept}: runs that differ in it alone would share the folder {second.folder}; give each its own with a "
        f"results_dir that names what differs{example}"
    )


def _setting(run: RunConfig, name: str) -> object:
    value: object = run
    for field in name.split("."):
        # A part that this run has not is none, and so is all below it.
        value = getattr(value, field, None)
    return value


def cases(parsed: Sequence[Sequence[Override]]) -> Iterator[tuple[str, list[Override]]]:
    """All first choices together, then each further choice in the place of its first, with the name of what it sets."""
    first = [choices[0] for choices in parsed]
    yield "", first
    for place, choices in enumerate(parsed):
        for choice in choices[1:]:
            yield choice.key_or_group, [*first[:place], choice, *first[place + 1 :]]
