"""The kinds of cluster, a file each: its settings, how it is started, what it answers when it is asked about itself.

A file in this folder is found by being here: a new kind is such a file and `conf/cluster/<kind>.yaml`
(`docs/adding.md`). Importing one starts nothing, and loads neither Dask nor packages that only that kind needs.
Not here: what all kinds have and are asked (`pipeline.cluster.config`).
"""

import importlib
import pkgutil

from pipeline.cluster.config import CLUSTER_KINDS

__all__ = ["CLUSTER_KINDS"]

_NEAREST_FIRST = ("local", "address", "ssh", "slurm", "kubernetes")
"""The order in which users read of kinds; files that do not stand here follow by name."""


def _place(module: str) -> tuple[int, str]:
    return _NEAREST_FIRST.index(module) if module in _NEAREST_FIRST else len(_NEAREST_FIRST), module


for _module in sorted((module.name for module in pkgutil.iter_modules(__path__)), key=_place):
    importlib.import_module(f"{__name__}.{_module}")
