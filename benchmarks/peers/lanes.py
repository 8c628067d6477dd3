"""Cores for rounds that are measured at once: each round has some of its own.

Not here: what runs on them (`benchmarks.peers.watch`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/{}"


def lanes(num_lanes: int, cores_each: int) -> Sequence[Sequence[int]]:
    """For each round its cores, of those that this process may use. Ends the program where there are too few."""
    if not hasattr(psutil.Process, "cpu_affinity"):  # macOS
        if num_lanes > 1:
            raise SystemExit(f"--at-once {num_lanes}: this system keeps no process on cores of its own; leave it out")
        return [range(cores_each)]
    return split(apart({cpu: _core_of(cpu) for cpu in psutil.Process().cpu_affinity()}), num_lanes, cores_each)


def apart(core_of: Mapping[int, str]) -> Sequence[int]:
    """The processors of the system, one of each core first, then those that share a core with one of these."""
    seen: dict[str, int] = {}
    ranks = {}
    for cpu in sorted(core_of):
        ranks[cpu] = seen.get(core_of[cpu], 0)
        seen[core_of[cpu]] = ranks[cpu] + 1
    return sorted(ranks, key=lambda cpu: (ranks[cpu], cpu))


def split(cpus: Sequence[int], num_lanes: int, cores_each: int) -> Sequence[Sequence[int]]:
    """Shares of `cores_each`, in order. One share may be smaller; more than one may not. Ends the program otherwise."""
    if num_lanes < 1 or cores_each < 1:
        raise SystemExit(f"--at-once {num_lanes} --cores {cores_each}: both are at least 1")
    if num_lanes > 1 and num_lanes * cores_each > len(cpus):
        raise SystemExit(
            f"--at-once {num_lanes} wants {num_lanes * cores_each} cores, {cores_each} for each round; there are "
            f"{len(cpus)}: measure fewer rounds at once"
        )
    return [cpus[lane * cores_each : (lane + 1) * cores_each] for lane in range(num_lanes)]


def _core_of(cpu: int) -> str:
    places = [Path(_TOPOLOGY.format(cpu, name)) for name in ("physical_package_id", "core_id")]
    return (
        "-".join(place.read_text(encoding="utf-8").strip() for place in places)
        if all(p.exists() for p in places)
        else str(cpu)
    )
