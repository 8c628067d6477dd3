"""Settings of run folders that an earlier version wrote, as this version would have written them.

Not here: what settings are (`pipeline.settings`), the error for what does not fit
(`pipeline.experiments.files.run_folder`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

TRUE_BEFORE: Mapping[str, Any] = {
    "logging": None,
    "network.centred_pixels": False,
    "evaluation.policy": "greedy",
    "algorithm.exploration.decay_share": None,
    "deterministic": False,
    "param_server.wire": "dense",
    "init_from": None,
    "init_from_optimizer": False,
    "checkpoint.memory_seconds": None,
    "checkpoint.replay": False,
    "cluster.groups": [],
}
"""Dotted names of settings that were added later -> what every run of before was, whatever else it was."""

TRUE_BEFORE_BESIDE: Mapping[str, tuple[str, Any]] = {
    "network.num_quantiles": ("num_atoms", 1),
    "network.drawn_fractions": ("num_atoms", False),
    "network.layer_norm": ("num_atoms", False),
    "network.initial_weights": ("num_atoms", "fan_in"),
    "algorithm.outlier_min_error": ("outlier_deviations", 0.0),
    "algorithm.munchausen": ("steps_per_update", False),
    "algorithm.munchausen_weight": ("steps_per_update", 0.9),
    "algorithm.munchausen_temperature": ("steps_per_update", 0.03),
    "algorithm.munchausen_floor": ("steps_per_update", -1.0),
    "algorithm.gae_lambda": ("entropy_weight", 1.0),
    "algorithm.clip_range": ("entropy_weight", None),
    "algorithm.num_passes": ("entropy_weight", 1),
    "algorithm.normalised_advantages": ("entropy_weight", False),
    "cluster.tls_ca_file": ("interface", None),
    "cluster.tls_cert_file": ("interface", None),
    "cluster.tls_key_file": ("interface", None),
    "topology.dynamic_quorum": ("num_backup_workers", False),
    "topology.noise_scale": ("num_backup_workers", None),
}
"""The same of settings that only some kinds of a group have: a setting that tells these kinds, and what was true."""


RENAMED_OPTIONS: Mapping[tuple[str, str], str] = {
    ("network", "dba3c"): "dba3c_authors",
    ("network", "ba3c"): "ba3c_authors",
}
"""Group and former name of a file in `conf/` -> its name. A run folder holds what was in it, and no name."""


def in_settings_of_today(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """`tree`, as it was read from a run's `config.yaml`, or an exported agent's; one that fits is returned equal."""
    for name, value in TRUE_BEFORE.items():
        tree = _completed(tree, name.split("."), value)
    for name, (beside, value) in TRUE_BEFORE_BESIDE.items():
        group = tree.get(name.split(".")[0])
        if isinstance(group, Mapping) and beside in group:
            tree = _completed(tree, name.split("."), value)
    return _without_what_did_nothing(_with_listed_stragglers(tree))


def _completed(tree: Mapping[str, Any], name: Sequence[str], value: Any) -> Mapping[str, Any]:
    """`tree`, with a setting that it lacks though its group is there."""
    word, *rest = name
    if not rest:
        return tree if word in tree else {**tree, word: value}
    group = tree.get(word)
    return {**tree, word: _completed(group, rest, value)} if isinstance(group, Mapping) else tree


def _without_what_did_nothing(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """`tree`, without settings that have been refused since because they changed nothing."""
    match tree:
        case {"evaluation": {"environment": Mapping() as protocol} as evaluation}:
            tree = {**tree, "evaluation": {**evaluation, "environment": _unpooled(protocol)}}
    match tree:
        case {"environment": Mapping() as protocol}:
            tree = {**tree, "environment": _unpooled(protocol)}
    match tree:
        case {"topology": {"dynamic_quorum": False, "noise_scale": int() | float()} as topology}:
            tree = {**tree, "topology": {**topology, "noise_scale": None}}
    return tree


def _unpooled(protocol: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of one frame there is nothing to pool."""
    match protocol:
        case {"frame_skip": 1, "max_pool": True}:
            return {**protocol, "max_pool": False}
    return protocol


def _with_listed_stragglers(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """`tree`, with a list in place of how many of the last workers straggle, all alike."""
    match tree.get("topology"):
        case {
            "num_workers": int(num_workers),
            "num_backup_workers": int(num_backup_workers),
            "stragglers": {
                "num_workers": int(count),
                "distribution": str(distribution),
                "mean_seconds": int(mean) | float(mean),
                **more,
            },
        } if not more:
            num_started = num_workers + num_backup_workers
            stragglers = [[index, distribution, mean] for index in range(num_started - count, num_started)]
            return {**tree, "topology": {**tree["topology"], "stragglers": stragglers}}
    return tree
