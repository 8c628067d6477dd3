"""A real Slurm on this machine, of Debian's packages: `python -m tests.cluster.slurm_site FOLDER`, until Ctrl-C.

    with slurm_site(folder) as site: site.ask("squeue")

Two nodes that are both this machine, a controller, and a munge of their own. Settings, keys, states and logs lie in the
folder, so that nothing of a Slurm that is installed here is touched. Programs find it by `SLURM_CONF`.
Not here: accounting, control groups, users other than root.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.clusters import wait_until

PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
"""Of Debian and Ubuntu."""

NUM_NODES, CORES_OF_NODE = 2, 4
"""What Slurm is told: more cores than there may be, so that jobs stand side by side."""

_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))
_SPARE_BYTES = 2 * 2**30
"""Of the machine's memory, kept from the nodes."""

# By process groups: like control groups, which most sites have, and unlike the tree of processes, they know a process
# whose parent has died. It ends with its job.
_CONF = """
ClusterName=trial
SlurmctldHost={machine}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SlurmdParameters=config_overrides
ReturnToService=2
"""


class Site:
    """A Slurm that runs."""

    def __init__(self, folder: Path) -> None:
        self.conf = folder / "slurm.conf"

    def ask(self, *words: str) -> str:
        """What a command of Slurm's prints. CalledProcessError, with its words as a note, if it fails."""
        environment = os.environ | {"SLURM_CONF": str(self.conf), "PATH": _PATH}
        try:
            done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
        except subprocess.CalledProcessError as error:
            error.add_note(str(error.stderr))
            raise
        return done.stdout

    def jobs(self) -> dict[str, str]:
        """Id -> name of each job that waits or runs."""
        lines = self.ask("squeue", "--noheader", "--format=%i %j").splitlines()
        return dict(line.split(maxsplit=1) for line in lines)

    def state(self, job: str) -> str:
        """Of a job, as Slurm calls it: PENDING, RUNNING, CANCELLED, TIMEOUT, ..."""
        return self.ask("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T").strip()


def why_not() -> str | None:
    """Why there can be no Slurm here, in a sentence; None if there can."""
    if any(shutil.which(program, path=_PATH) is None for program in _PROGRAMS):
        return f"Slurm is not installed here; on Debian: apt-get install {' '.join(PACKAGES)}"
    return None if os.geteuid() == 0 else "the daemons of Slurm take root"


@contextlib.contextmanager
def slurm_site(folder: Path) -> Iterator[Site]:
    """Slurm, its nodes idle, until the block ends; skips the test with a reason where there can be none."""
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    site = Site(folder)
    _write_settings(site.conf)
    with contextlib.ExitStack() as daemons:
        for words in _daemons(folder):
            daemons.enter_context(_running(words, site.conf))
        wait_until(lambda: _num_idle(site) == NUM_NODES, "the nodes of Slurm are idle")
        try:
            yield site
        finally:
            site.ask("scancel", f"--user={os.geteuid()}")
            wait_until(lambda: not site.jobs(), "the jobs of Slurm have ended")


def _write_settings(conf: Path) -> None:
    folder = conf.parent
    for name in ("state", *(f"spool-node{i}" for i in range(NUM_NODES))):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    controller_port, *ports = _free_ports(1 + NUM_NODES)
    memory = (psutil.virtual_memory().total - _SPARE_BYTES) // NUM_NODES // 2**20
    machine = socket.gethostname()
    lines = [
        f"NodeName=node{i} NodeHostname={machine} NodeAddr=127.0.0.1 Port={port} CPUs={CORES_OF_NODE} "
        f"RealMemory={memory} State=UNKNOWN"
        for i, port in enumerate(ports)
    ]
    lines.append("PartitionName=short Nodes=ALL Default=YES MaxTime=INFINITE State=UP")
    head = _CONF.format(machine=machine, controller_port=controller_port, folder=folder)
    conf.write_text(head + "\n".join(lines) + "\n")


def _daemons(folder: Path) -> Iterator[list[str]]:
    files = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munge.pid", "log-file": "munge.log"}
    munge = [f"--{name}={folder / file}" for name, file in files.items()]
    # Forced: a folder of tests is closed to others, who may not speak to this munge at all.
    yield ["munged", "--foreground", "--force", f"--seed-file={folder / 'munge.seed'}", *munge]
    yield ["slurmctld", "-D"]
    for i in range(NUM_NODES):
        yield ["slurmd", "-D", "-N", f"node{i}"]


@contextlib.contextmanager
def _running(words: list[str], conf: Path) -> Iterator[None]:
    environment = os.environ | {"SLURM_CONF": str(conf), "PATH": _PATH}
    quiet = subprocess.DEVNULL
    # A session of its own: Ctrl-C is for who holds the block, and the daemons end after it.
    with subprocess.Popen(
        words, env=environment, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
    ) as daemon:
        try:
            if words[0] == "munged":
                wait_until((conf.parent / "munge.socket").exists, "munge listens", limit_seconds=30)
            yield
        finally:
            daemon.terminate()
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                daemon.kill()


def _num_idle(site: Site) -> int:
    try:
        return site.ask("sinfo", "--noheader", "--Node", "--format=%T").split().count("idle")
    except subprocess.CalledProcessError:  # the controller does not listen yet
        return 0


def _free_ports(number: int) -> list[int]:
    with contextlib.ExitStack() as sockets:
        taken = [sockets.enter_context(socket.socket()) for _ in range(number)]
        for one in taken:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in taken]


def main() -> None:
    """Start one and say how it is found, until Ctrl-C."""
    if (reason := why_not()) is not None:
        sys.exit(f"error: {reason}")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="slurm-")).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for which in (signal.SIGINT, signal.SIGTERM):  # the first is ignored in the background of a script
        signal.signal(which, signal.default_int_handler)
    with slurm_site(folder) as site, contextlib.suppress(KeyboardInterrupt):
        print(f"export SLURM_CONF={site.conf}   # in another terminal; Ctrl-C here ends it and its jobs", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
