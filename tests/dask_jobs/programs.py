"""A small Hydra program in a folder of its own, run as a user runs one; what it leaves behind; Dask's own commands."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil

from dask_jobs.ledger import LEDGER, LedgerRow, read_ledger
from tests.clusters import wait_until

CHECKOUT = Path(__file__).resolve().parents[2]

SCRIPT = """
import os, signal, sys, threading, time
from pathlib import Path

import hydra

from dask_jobs.needs import JobInterrupted, current_grant
from dask_jobs.progress import report


def note(text):
    with open("events.txt", "a") as file:
        file.write(text + "\\n")


# Part of each job, and more than a pipe holds.
PADDING = "x" * 100_000


class OwnError(Exception):
    def __init__(self, number, colour):
        super().__init__(f"{number} {colour}")


@hydra.main(version_base="1.3", config_path=None)
def main(config):
    grant, kind = current_grant(), config.kind
    assert PADDING
    note(f"{kind} {grant.attempt} {os.getpid()}")
    match kind:
        case "raises":
            raise ValueError("no such\\nluck")
        case "raises_own_error":
            raise OwnError(1, "red")
        case "raises_once":
            if grant.attempt == 1:
                raise ValueError("once")
        case "exits":
            sys.exit("gone")
        case "is_killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "kills_its_host_once":
            if grant.attempt == 1:
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(60)
        case "takes_memory":
            held = bytearray(4 * 10**8)
            time.sleep(60)
        case "number":
            return config.number
        case "number_when_told":
            while not Path("go").exists():
                time.sleep(0.02)
            return config.number
        case "returns_an_object":
            return note
        case "waits" | "waits_too":
            try:
                while not Path("go").exists():
                    time.sleep(0.02)
            except KeyboardInterrupt:
                note(f"{kind} was interrupted")
                raise
        case "is_deaf":
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            note("is_deaf listens no more")
            time.sleep(60)
        case "fails_once_deafened":
            while "is_deaf listens no more" not in Path("events.txt").read_text():
                time.sleep(0.02)
            raise ValueError("no such luck")
        case "leaves_a_thread":
            threading.Thread(target=time.sleep, args=(60,)).start()
        case "reports":
            report(float("nan"), float("inf"), "things/s", {})
            report(0.5, 3.0, "things/s", {"colour": "red"})
        case "reports_until_told":
            while not Path("told").exists():
                report(0.5, 3.0, "things/s", {"colour": "red"})
                time.sleep(0.05)
        case "tells":
            names = ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "MALLOC_TRIM_THRESHOLD_")
            return ["preloaded" in sys.modules, *map(os.environ.get, names)]
        case "uses_all_hosts":
            from distributed import Client

            with Client(grant.scheduler, set_as_default=False) as client:
                return sorted(client.run(os.getpid, workers=list(grant.hosts))) == sorted(grant.hosts)
    note(f"{kind} ended")
    return kind


if __name__ == "__main__":
    main()
"""


class Ended(NamedTuple):
    """A program that was run to its end."""

    status: int
    output: str
    """What it printed, standard error included."""


class Program:
    """The script in its folder, which is also where it is run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "program.py").write_text(SCRIPT)
        self.temporary = folder / "temporary"
        """Where it and its hosts keep what is only for a while."""
        self.temporary.mkdir()

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start a multirun, in a session of its own: signals reach it and nothing else."""
        command = [sys.executable, "program.py", "-m", "hydra/launcher=dask", "hydra.sweep.dir=sweep", *words]
        environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "COLUMNS": "200", "TMPDIR": str(self.temporary)}
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *words: str) -> Ended:
        """Run a multirun to its end."""
        with self.start(*words) as process:
            output, _ = process.communicate()
        return Ended(process.returncode, output)

    def events(self) -> list[str]:
        """What its jobs noted: "kind attempt pid" at a start, "kind ended" at an end."""
        file = self.folder / "events.txt"
        return file.read_text().splitlines() if file.exists() else []

    def rows(self) -> dict[str, LedgerRow]:
        """The ledger: kind of job -> row."""
        return {row.overrides.partition("+kind=")[2]: row for row in self.all_rows()}

    def all_rows(self) -> list[LedgerRow]:
        """The ledger, empty before there is one."""
        folder = self.folder / "sweep"
        return read_ledger(folder) if (folder / LEDGER).exists() else []

    def wait_for(self, condition: Callable[[list[str]], bool], what: str) -> None:
        """Until the events are so."""
        wait_until(lambda: condition(self.events()), what)


@contextmanager
def scheduler_and_host(folder: Path, *words: str) -> Iterator[str]:
    """`dask scheduler` and one `dask worker`, as on a command line; the scheduler's address."""
    file = str(folder / "scheduler.json")
    with dask(folder, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file):
        wait_until(lambda: Path(file).exists(), "the scheduler has written its file")
        with dask(folder, "worker", "--scheduler-file", file, *words):
            yield json.loads(Path(file).read_text())["address"]


def scheduler_process(folder: Path) -> psutil.Process:
    """That of `scheduler_and_host`."""
    children = psutil.Process().children()
    (found,) = [child for child in children if "scheduler" in child.cmdline() and child.cwd() == str(folder)]
    return found


@contextmanager
def dask(folder: Path, *words: str) -> Iterator[None]:
    """A command of Dask's, ended after use."""
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen(
        [sys.executable, "-m", "dask", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield
        finally:
            process.terminate()
