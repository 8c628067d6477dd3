"""What a host reports of itself, and whether it may take part: all hosts must run the same versions and the same code.

Not here: choosing among hosts (`pipeline.cluster.placement`), asking them (`pipeline.cluster.surveyor`).
"""

import contextlib
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import psutil
from distributed import Worker

import pipeline
from dask_jobs.host import HostReport as BasicReport
from dask_jobs.host import report_here
from pipeline.cluster.host_settings import GPU
from pipeline.cluster.packages import code_of
from pipeline.errors import HostMismatchError
from pipeline.networks import compute
from pipeline.networks.instructions import instructions

_MUST_BE_EQUAL = ("torch", "ale-py", "distributed")
_CODE = "code"
_CODE_HERE = code_of("pipeline", "dask_jobs")
"""Now, and not when somebody asks: a host that goes on for weeks has the modules of its first run, and not the files
that somebody has edited or pulled since. That takes 20 ms, of the seconds of torch beside it."""
_IN_WORDS = {_CODE: "another code of pipeline,"}
MEMORY_SHARE = 0.8
"""Of the memory that is free or asked for; the rest stays for Python, torch and the emulators."""


_LOOPBACK = ("127.", "[::1]", "localhost")


@dataclass(frozen=True)
class HostReport(BasicReport):
    """One host as it sees itself; of its free memory, what may be planned with."""

    processor: str
    device: str
    """What device "auto" means there: "cpu" or "cuda"."""
    precision: str
    """What precision "auto" means there: "float32" or "bfloat16"."""
    versions: dict[str, str]
    """Python (major.minor), pipeline, torch, ale-py, distributed; of pipeline, whose versions are months apart, "code"
    as well, which stands for its sources when the process began with them."""
    instructions: str = ""
    """What torch makes use of on its processor, as "avx512"."""
    declared_gpus: int | None = None
    """What `dask worker --resources GPU=…` said; None: nothing."""
    resources: tuple[str, ...] = ()
    """All that it declared so, by name."""
    listens_beyond: str | None = None
    """Where others than this machine reach it, though its own address is one on loopback; None: nowhere."""
    age_seconds: float = field(default=0.0, compare=False)
    """Since the process began that has started it: its nanny, or the shell of its batch job."""


def report_host(
    dask_worker: Worker | None = None, *, memory_limit_bytes: int | None = None, tells_code: bool = True
) -> HostReport:
    """The report of the process that calls this; Dask's `Client.run` puts the worker there that is asked.

    `memory_limit_bytes`: what the process may use, whatever its machine has free; None: what its container or job says.
    `tells_code=False`: for a comparison in which code does not count.
    """
    versions = {"python": ".".join(platform.python_version_tuple()[:2]), "pipeline": pipeline.__version__}
    # A torch build's local part (+cpu, +cu130) may differ between a laptop and a GPU host; the release may not.
    versions |= {name: metadata.version(name).split("+")[0] for name in _MUST_BE_EQUAL}
    versions |= {_CODE: _CODE_HERE} if tells_code else {}
    here = report_here(memory_limit_bytes)
    device = compute.resolve_device("auto")
    precision = str(compute.resolve_precision("auto", device)).removeprefix("torch.")
    resources = {} if dask_worker is None else dask_worker.state.total_resources
    declared = resources.get(GPU)
    return HostReport(
        machine=here.machine,
        num_cores=here.num_cores,
        free_memory_bytes=int(here.free_memory_bytes * MEMORY_SHARE),
        processor=_processor(),
        device=device.type,
        precision=precision,
        versions=versions,
        instructions=instructions(),
        declared_gpus=None if declared is None else int(declared),
        resources=tuple(resources),
        listens_beyond=None if dask_worker is None else _listens_beyond(dask_worker),
        age_seconds=_age_of_parent(),
    )


def open_hosts(hosts: Mapping[str, HostReport]) -> list[str]:
    """A warning for each host (by address) that calls itself local and can be reached from elsewhere."""
    return [
        f"{address} listens on {host.listens_beyond}: whoever reaches this machine can run code there; start it with "
        "--host 127.0.0.1"
        for address, host in hosts.items()
        if host.listens_beyond is not None
    ]


def _listens_beyond(worker: Worker) -> str | None:
    if not worker.address.partition("://")[2].startswith(_LOOPBACK):
        return None
    listening = [str(listener.listen_address) for listener in worker.listeners]
    return next((place for place in listening if not place.partition("://")[2].startswith(_LOOPBACK)), None)


def _age_of_parent() -> float:
    parent = psutil.Process().parent()
    return 0.0 if parent is None else max(0.0, time.time() - parent.create_time())


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def check_versions(ours: HostReport, hosts: Mapping[str, HostReport]) -> None:
    """Raise HostMismatchError naming every host (by address) whose versions differ from ours, and both versions."""
    lines: list[str] = []
    for address, host in hosts.items():
        lines += [f"{address} has {text}" for text in version_differences(ours, host)]
    if lines:
        raise HostMismatchError(
            "hosts with other versions cannot take part:\n  "
            + "\n  ".join(lines)
            + "\nInstall the same versions there, or start the coordinator from the same environment; where only the "
            "code is another one, bring the checkout up to date there, and start what is older than it anew: the "
            "`dask worker` processes, or a notebook that is the coordinator"
        )


def with_other_code(hosts: Mapping[str, HostReport]) -> list[str]:
    """Addresses of those that began with other sources of this project than this process."""
    return sorted(address for address, host in hosts.items() if host.versions.get(_CODE, "") not in ("", _CODE_HERE))


def version_differences(ours: HostReport, theirs: HostReport) -> list[str]:
    """What of their versions is another than the coordinator's, a line each."""
    return [
        f"{_IN_WORDS.get(name, name)} {theirs.versions.get(name, 'missing')}, the coordinator has {version}"
        for name, version in ours.versions.items()
        # Of sources that are compiled away on one side, there is nothing to compare.
        if theirs.versions.get(name) != version and not (name == _CODE and "" in (version, theirs.versions.get(name)))
    ]
