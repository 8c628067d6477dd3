"""Packages that only one kind of cluster needs, and the one clear error when such a package is not installed."""

import importlib.util

from pipeline.errors import ConfigError

_PACKAGES = {"ssh": "asyncssh", "slurm": "dask_jobqueue", "kubernetes": "dask_kubernetes"}
"""Kind of cluster, which is also the name of the extra in `pyproject.toml` -> what it imports."""


def check_installed(kind: str) -> None:
    """Raise ConfigError, naming what to install, where a cluster of this kind could not be started."""
    package = _PACKAGES.get(kind)
    if package is not None and importlib.util.find_spec(package) is None:
        raise ConfigError(
            [f"cluster.kind={kind}: the package {package} is not installed here: pip install -e '.[{kind}]'"]
        )
