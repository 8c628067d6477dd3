"""Which clusters are simulated, and why.

Not here: what a simulation needs besides (`studies.gorila_growth.simulation`).
"""

from dataclasses import dataclass

CHECK, BUNDLES, SHARDS, NETWORK, PAYS, LIMIT = "check", "bundles", "shards", "network", "pays", "limit"
THREADS, PROCESSES, MACHINES = "threads", "processes", "machines"
"""Where roles stand: in one process, in processes of this machine, or each on a machine of its own."""
FLOAT32, BFLOAT16, FACTORS = "float32", "bfloat16", "factors"
"""All numbers of a gradient in one of two lengths, or its largest layer as two thin matrices in float32."""
MEMORY = "memory"
"""Nothing travels but calls: float32 in memory that two processes of one machine both see."""


@dataclass(frozen=True)
class Case:
    """One cluster."""

    study: str
    cluster: str
    num_bundles: int
    num_shards: int
    wire: str = FLOAT32
    gigabits_per_second: float = 10.0
    """Of each machine's network."""
    staleness_per_bundle: int = 4
    """`max_staleness` for each bundle; 0: no limit."""
    num_gradients: int = 24
    """Of each bundle, behind a third as many of warm-up."""


CHECK_BUNDLES, CHECK_SHARDS = (1, 2, 4), 2
CHECKED: tuple[Case, ...] = tuple(
    Case(CHECK, cluster, count, CHECK_SHARDS, wire, num_gradients=240)
    for cluster, wire in ((THREADS, FLOAT32), (PROCESSES, MEMORY))
    for count in CHECK_BUNDLES
)
"""Clusters that this machine carries, beside real runs: the default, and shards in processes of their own."""

WIRES = (FLOAT32, BFLOAT16, FACTORS)
"""Between machines."""
_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
GRID: tuple[Case, ...] = (
    # Nair et al. 2015 had 100 bundles around 31 machines for the parameters.
    *(Case(BUNDLES, MACHINES, count, shards) for shards in (1, 4, 16, 64) for count in _COUNTS),
    *(Case(BUNDLES, MACHINES, count, 31) for count in (1, 100)),
    *(Case(SHARDS, MACHINES, 100, shards, wire) for wire in WIRES for shards in (1, 2, 4, 8, 16, 32, 64)),
    *(Case(NETWORK, MACHINES, 100, 16, wire, gigabits) for wire in WIRES for gigabits in (1.0, 10.0, 100.0)),
    # Numbers and factors, from few bundles to many: from where on which of them pays.
    *(
        Case(PAYS, MACHINES, count, 4, wire, gigabits)
        for wire in (FLOAT32, FACTORS)
        for count in (2, 8, 32, 128)
        for gigabits in (0.1, 1.0, 10.0)
    ),
    *(Case(LIMIT, MACHINES, 100, 16, staleness_per_bundle=limit) for limit in (0, 1, 2, 4)),
)
