"""How much memory this process may use: of its machine, its container, and its batch job.

Dask looks at the control group that a container shows as its root. A batch system puts a job into a group below it, and
says beside that what the job has asked for.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from distributed.system import MEMORY_LIMIT

_GROUPS, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_VERSION_2, _VERSION_1 = ("memory.max", "memory.high"), ("memory.limit_in_bytes", "memory.soft_limit_in_bytes")
_MIB = 2**20


def memory_limit() -> int:
    """In bytes: the least of what machine, container, control groups and Slurm say."""
    try:
        own = os.fsdecode(_OWN.read_bytes())  # paths, which may be of any bytes
    except OSError:
        own = ""
    return min([MEMORY_LIMIT, *limits_of_groups(own, _GROUPS), *limits_of_slurm(os.environ)])


def limits_of_groups(own: str, groups: Path) -> Iterator[int]:
    """Of the groups that a process is in, and of all above them.

    `own`: what /proc/self/cgroup says; `groups`: where they are mounted. Version 2 has one tree, version 1 has one for
    memory.
    """
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root, names = (groups / "memory", _VERSION_1) if controllers else (groups, _VERSION_2)
        group = Path(os.path.normpath(f"{root}/{path}"))
        # A container without a name space of its own is shown the path that its machine knows it by, which is not here.
        for folder in (group, *group.parents):
            if folder.is_relative_to(root):
                yield from (limit for name in names if (limit := _number_in(folder / name)) is not None)


def limits_of_slurm(environment: Mapping[str, str]) -> Iterator[int]:
    """What a job has asked for on each of its nodes; 0 stands for all that there is.

    Of a process on such a node: the shell of `salloc` has the same variables, and may be where it was typed.
    """
    if "SLURMD_NODENAME" not in environment:
        return
    for name, times in [("SLURM_MEM_PER_NODE", "1"), ("SLURM_MEM_PER_CPU", environment.get("SLURM_CPUS_ON_NODE", ""))]:
        number = environment.get(name, "")
        if number.isdecimal() and times.isdecimal() and (limit := int(number) * int(times) * _MIB):
            yield limit


def _number_in(file: Path) -> int | None:
    """None where there is no such file, or it says "max"."""
    try:
        text = file.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
