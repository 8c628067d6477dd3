"""Nested dictionaries, as YAML and Hydra give them, to typed settings and back; every mistake in them at once.

The schema is the dataclasses themselves: names, types and optionality are read from `RunConfig` and its groups.
Not here: ranges (each dataclass's `mistakes`), Hydra's overrides (`overrides`).
"""

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from omegaconf import OmegaConf

from pipeline.algorithms.config import ALGORITHMS, AlgorithmConfig
from pipeline.checked_files import check_yaml
from pipeline.cluster.config import ClusterConfig
from pipeline.cluster.groups import HostGroup
from pipeline.cluster.kinds import CLUSTER_KINDS
from pipeline.config.other_words import ELSEWHERE
from pipeline.config.run_config import RunConfig
from pipeline.config.words import IS_MISSING, listed, nearest, no_such
from pipeline.errors import ConfigError
from pipeline.kinds import Kinds
from pipeline.networks.config import NETWORKS, NetworkConfig
from pipeline.older_settings import in_settings_of_today
from pipeline.optimizers.optimizer import OPTIMIZERS, OptimizerConfig
from pipeline.roles.straggler import Stragglers
from pipeline.schedules import Changes
from pipeline.settings import as_settings, setting_name, shown
from pipeline.topologies.config import TOPOLOGIES, TopologyConfig

Tree = Mapping[str, Any]

VARIANTS: Mapping[type, Mapping[str, type]] = {
    AlgorithmConfig: ALGORITHMS,
    NetworkConfig: NETWORKS,
    OptimizerConfig: OPTIMIZERS,
    ClusterConfig: CLUSTER_KINDS,
    TopologyConfig: TOPOLOGIES,
}
"""Groups whose class depends on their `kind`."""


def build(tree: Tree) -> RunConfig:
    """The run that `tree` describes.

    Raises ConfigError with all mistakes in names and types, or, where there are none, in ranges and combinations.
    """
    found: list[str] = []
    config = _build(RunConfig, tree, "", found)
    if config is None:
        raise ConfigError(found)
    if out_of_range := config.mistakes():
        raise ConfigError(out_of_range)
    return typing.cast(RunConfig, config)


def build_cluster(tree: Tree) -> ClusterConfig:
    """The cluster that the group `tree` describes by itself. Raises ConfigError as `build` does."""
    found: list[str] = []
    cluster = _build(ClusterConfig, tree, "cluster.", found)
    if cluster is not None:
        found = [f"cluster.{line}" for line in cluster.mistakes()]
    if found:
        raise ConfigError(found)
    return typing.cast(ClusterConfig, cluster)


def to_yaml(config: RunConfig) -> str:
    """The whole configuration, as `config.yaml` of a run folder holds it."""
    return OmegaConf.to_yaml(OmegaConf.create(as_settings(config)))


def tree_from_yaml(text: str) -> Tree:
    """The settings that `to_yaml` wrote, here or in an earlier version. Raises ConfigError if the text holds none."""
    try:
        check_yaml(text)
        tree = OmegaConf.to_container(OmegaConf.create(text))
    except Exception as error:  # OmegaConf lets every error of its YAML reader through
        raise ConfigError([f"the file cannot be read: {' '.join(str(error).split())}"]) from error
    if not isinstance(tree, dict):
        raise ConfigError(["the file holds no settings"])
    return in_settings_of_today(typing.cast(Tree, tree))


def setting_names(tree: Tree) -> list[str]:
    """Dotted names of all settings of a run whose variants are chosen as in `tree`, groups not included."""
    return list(_leaves(RunConfig, tree, ""))


def unknown_setting(name: str, given: str, tree: Tree) -> str | None:
    """The mistake of naming a setting that a run with these variants does not have; None if it has it.

    What was meant, tried in turn: the same setting of another variant; what another library calls so, in whatever group
    it was looked for; the same last word in another group and the
    nearest in this one, or the nearest whole name where there is no such group; then the nearest last word anywhere.
    """
    names = setting_names(tree)
    if name in names:
        return None
    group, _, word = name.rpartition(".")
    if inner := [known for known in names if known.startswith(f"{name}.")]:
        return f"{given}: {name} is no single setting; set {listed(inner)}"
    if group in names:
        return f"{given}: no such setting; {group} is a single one, {_wanted(_declared(group, tree))} is expected"
    variants = VARIANTS.get(_hints(RunConfig).get(group, RunConfig), {})
    if has_it := [f"kind={kind}" for kind, cls in variants.items() if word in _hints(cls)]:
        return f"{given}: no such setting of {group} kind={tree[group]['kind']}; it belongs to {' and '.join(has_it)}"
    beside = {_last_word(known): known for known in names if known.rpartition(".")[0] == group}
    if not group:
        beside |= {known: known for known in _hints(RunConfig)}
    if word in ELSEWHERE:
        return _no_such_setting(given, ELSEWHERE[word], group, beside)
    anywhere = {_last_word(known): known for known in reversed(names)}
    meant = (anywhere.get(word) or _nearest_of(word, beside)) if beside else nearest(name, names)
    return _no_such_setting(given, meant or _nearest_of(word, anywhere), group, beside)


def wrong_type(name: str, value: Any, tree: Tree) -> str | None:
    """The mistake of giving the known setting `name` a value of another type; None if the type is right."""
    found: list[str] = []
    _convert(_declared(name, tree), value, name, found)
    return found[0] if found else None


def _declared(name: str, tree: Tree) -> Any:
    """The type of the known setting `name`."""
    declared: Any = RunConfig
    node: Any = tree
    for part in name.split("."):
        declared = _hints(_class_of(_group_class(declared) or declared, node))[part]
        node = node.get(part, {})
    return declared


def _no_such_setting(given: str, meant: str | None, group: str, beside: Mapping[str, str]) -> str:
    if meant is not None:
        return f"{given}: no such setting; did you mean {meant}?"
    has = f"{group} has {listed(beside)}" if group and beside else f"a run has {listed(_hints(RunConfig))}"
    return f"{given}: no such setting; {has}"


def _nearest_of(word: str, names: Mapping[str, str]) -> str | None:
    near = nearest(word, names)
    return None if near is None else names[near]


def _last_word(name: str) -> str:
    return name.rpartition(".")[2]


def _leaves(declared: type, tree: Any, prefix: str) -> Iterator[str]:
    for field, hint in _hints(_class_of(declared, tree)).items():
        group = _group_class(hint)
        if group is None:
            yield f"{prefix}{field}"
        elif tree.get(field, {}) is not None:
            yield from _leaves(group, tree.get(field, {}), f"{prefix}{field}.")


def _build(declared: type, tree: Any, prefix: str, found: list[str]) -> Any:
    """An instance of `declared`, or None with at least one line added to `found`."""
    group = prefix.removesuffix(".")
    if not isinstance(tree, Mapping):
        found.append(f"{group}={shown(tree)}: a group of settings is expected")
        return None
    cls = _class_of(declared, tree)
    if declared in VARIANTS and cls is declared:
        kind = shown(tree.get("kind"))
        found.append(_no_such_kind(VARIANTS[declared], f"{prefix}kind={kind}", kind))
        return None
    hints = _hints(cls)
    before = len(found)
    beside = {known: f"{prefix}{known}" for known in hints}
    found += [
        _no_such_setting(f"{prefix}{name}", _nearest_of(str(name), beside), group, beside)
        for name in tree
        if name not in hints and name not in getattr(cls, "NOT_ITS_OWN", ())
    ]
    values = {name: _convert(hint, tree.get(name, _ABSENT), prefix + name, found) for name, hint in hints.items()}
    if len(found) > before:
        return None
    return cls(**{field.name: values[setting_name(field.name)] for field in dataclasses.fields(cls)})


def _no_such_kind(kinds: Mapping[str, type], given: str, kind: str) -> str:
    if "." in kind and isinstance(kinds, Kinds):
        return f"{given} {kinds.why_not(kind)}"
    return no_such("kind", given, kind, kinds)


def _convert(declared: Any, value: Any, name: str, found: list[str]) -> Any:
    if value is _ABSENT:
        found.append(f"{name}{IS_MISSING}")
        return None
    allowed = _alternatives(declared)
    if value is None and types.NoneType in allowed:
        return None
    if (group := _group_class(declared)) is not None:
        return _build(group, value, f"{name}.", found)
    for kind in allowed:
        if (converted := _as_type(kind, value)) is not None:
            return converted
    found.append(f"{name}={shown(value)}: {_wanted(declared)} is expected")
    return None


def _wanted(declared: Any) -> str:
    return " or ".join(_TYPE_WORDS[kind] for kind in _alternatives(declared))


def _alternatives(declared: Any) -> tuple[Any, ...]:
    return typing.get_args(declared) if isinstance(declared, types.UnionType) else (declared,)


def _as_type(kind: type, value: Any) -> Any:
    """`value` as `kind` where nothing is lost by it, else None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if typing.get_origin(kind) is tuple:
        return _as_tuple(typing.get_args(kind), value)
    if kind is HostGroup:
        return _as_group(value)
    if kind is float:
        return float(value) if is_number and math.isfinite(value) else None
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)  # 2e6 is how many write two million
    if kind is str and isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # YAML and Hydra read a bare 8787 as a number
    return value if type(value) is kind else None


def _as_tuple(kinds: tuple[Any, ...], value: Any) -> Any:
    """`value` as a tuple with items of `kinds`; (kind, ...) is any number of one kind."""
    if not isinstance(value, list | tuple):
        return None
    if kinds[-1] is ...:
        kinds = kinds[:1] * len(value)
    if len(kinds) != len(value):
        return None
    items = tuple(map(_as_type, kinds, value))
    return None if None in items else items


def _as_group(value: Any) -> HostGroup | None:
    """What it does not say of its hosts is as for all others."""
    if not isinstance(value, Mapping):
        return None
    found: list[str] = []
    hints = _hints(HostGroup)
    given = {name: _convert(hints.get(name, types.NoneType), item, str(name), found) for name, item in value.items()}
    is_whole = {"name", "roles"} <= given.keys() <= hints.keys()
    return HostGroup(**given) if is_whole and not found else None


_ABSENT = object()

_TYPE_WORDS: Mapping[Any, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a finite number",
    str: "text",
    tuple[str, ...]: "a list of texts, like [a,b],",
    Changes: "a list of pairs, like [[1000,0.5],[2000,0.1]],",
    tuple[HostGroup, ...]: "a list of groups with name, roles and what their hosts have, like "
    "[{name:gpus,roles:[learner],gpus_per_host:1}],",
    Stragglers: "a list of [worker, distribution, mean seconds], like [[1,constant,0.5]],",
    types.NoneType: "null",
}


def _group_class(hint: Any) -> type | None:
    """The dataclass of a group of settings, one that may be null included; None for a single setting."""
    return next(
        (kind for kind in _alternatives(hint) if isinstance(kind, type) and dataclasses.is_dataclass(kind)), None
    )


def _class_of(declared: type, tree: Any) -> type:
    kind = tree.get("kind") if isinstance(tree, Mapping) else None
    return VARIANTS.get(declared, {}).get(str(kind), declared)


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {setting_name(field.name): hints[field.name] for field in dataclasses.fields(cls)}
