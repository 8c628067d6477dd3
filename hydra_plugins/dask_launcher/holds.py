"""What a program that is no job holds of a cluster's hosts, in the books where the sweeps on that cluster write theirs.

    if hold(client, "gorila on Pong", {"tcp://…:1": Part(2)}, sizes): ...     taken, until the client closes
    others(client)          [("job 7 of a sweep", {"tcp://…:2": Part(1)})]

A sweep gives its jobs nothing of what is held so. The scheduler's Python needs this launcher.
Not here: what a job was granted (`hydra_plugins.dask_launcher.needs`).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hydra_plugins.dask_launcher._allocation import HostSize
from hydra_plugins.dask_launcher._needs import Part

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["HostSize", "Part", "hold", "keeps_books", "others"]

# Hydra imports this module for every program: whatever needs Dask is imported when it is called.


def keeps_books(client: "Client") -> bool:
    """Whether the scheduler can keep them. Raises OSError if it does not answer."""
    try:
        others(client)
    except OSError:
        raise
    except Exception:  # whatever its Python raises where it does not have this launcher, or an older one
        return False
    return True


def hold(client: "Client", name: str, hosts: Mapping[str, Part], sizes: Sequence[HostSize]) -> bool:
    """Take these parts of hosts, in place of what the client held before; False if others have too much there.

    `name` tells people who it is; `sizes` are all that each host has; parts on hosts without a size count nowhere.
    Raises OSError if the scheduler does not answer, as all of these.
    """
    from hydra_plugins.dask_launcher import _grants

    return _grants.hold(client, name, hosts, sizes)


def others(client: "Client") -> list[tuple[str, dict[str, Part]]]:
    """Of all but this client: the name of each holder, and address -> what it holds there."""
    from hydra_plugins.dask_launcher import _grants

    return _grants.others(client)
