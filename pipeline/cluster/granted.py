"""The part of a cluster that one run may use, where a sweep has granted it one.

Not here: granting (`dask_jobs`), which role goes where (`pipeline.cluster.placement`).
"""

from collections.abc import Mapping
from typing import NamedTuple


class GrantedHosts(NamedTuple):
    """The only hosts of a cluster that a run may use."""

    num_threads: Mapping[str, int]
    """Its threads on each, by address."""
    seats: Mapping[str, str]
    """Role -> address of the host where there is room for it and for what stands beside it."""

    def among(self, present: Mapping[str, int]) -> dict[str, int]:
        """Those that are there, with the threads granted; `present`: the threads of each host, by address."""
        return {address: threads for address, threads in self.num_threads.items() if address in present}
