"""Two machines on one: network namespaces of Linux with an address each, joined by a virtual cable.

What runs in one of them has a network of its own, loopback included: an address that only works on the machine where
it was made, 127.0.0.1 above all, reaches nobody on the other one. Files are shared, as by a network disk.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from tests.experiments.commands import Start


class Machine(NamedTuple):
    """One of the two."""

    namespace: str
    address: str

    def words(self, *words: str) -> tuple[str, ...]:
        """The command line that runs `words` on it."""
        return "ip", "netns", "exec", self.namespace, *words

    def unplug(self) -> None:
        """From now on the other machine hears nothing from it: what is sent vanishes, and no connection breaks."""
        _ip("-n", self.namespace, "link", "set", self.namespace, "down")

    def plug_in(self) -> None:
        """They see each other again."""
        _ip("-n", self.namespace, "link", "set", self.namespace, "up")


class StartedDask:
    """A scheduler on one machine, and hosts on any, as documents say how to start them."""

    def __init__(self, start: Start, machine: Machine) -> None:
        self._start = start
        self.address = f"tcp://{machine.address}:8786"
        words = ("--host", machine.address, "--port", "8786", "--no-dashboard")
        self._all = [start("-m", "dask", "scheduler", *words, prefix=machine.words())]
        self._all[0].wait_until(lambda: "Scheduler at" in self._all[0].printed, "the scheduler")

    def host_on(self, machine: Machine) -> None:
        """Start one."""
        words = ("--host", machine.address, "--nthreads", "1", "--memory-limit", "0", "--no-dashboard")
        self._all.append(self._start("-m", "dask", "worker", self.address, *words, prefix=machine.words()))

    def end(self) -> None:
        """Hosts first."""
        for process in reversed(self._all):
            process.process.terminate()
            process.ends()


@contextmanager
def two_machines() -> Iterator[tuple[Machine, Machine]]:
    """Both, until the block ends; skips the test with a reason where that is not allowed."""
    name = f"pl{os.getpid()}"
    machines = Machine(f"{name}a", "10.213.7.1"), Machine(f"{name}b", "10.213.7.2")
    try:
        _make(machines)
    except (OSError, subprocess.CalledProcessError) as error:
        told = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else error
        _remove(machines)
        pytest.skip(f"network namespaces cannot be made here, which takes Linux, iproute2 and root: {told}")
    try:
        yield machines
    finally:
        _remove(machines)


def _make(machines: tuple[Machine, Machine]) -> None:
    for machine in machines:
        _ip("netns", "add", machine.namespace)
    first, second = (machine.namespace for machine in machines)
    # Named after their namespaces: both ends are in the namespace of this process for a moment.
    _ip("link", "add", first, "netns", first, "type", "veth", "peer", "name", second, "netns", second)
    for machine in machines:
        _ip("-n", machine.namespace, "address", "add", f"{machine.address}/30", "dev", machine.namespace)
        for device in (machine.namespace, "lo"):
            _ip("-n", machine.namespace, "link", "set", device, "up")


def _remove(machines: tuple[Machine, Machine]) -> None:
    # The cable goes with the namespaces of its ends.
    for machine in machines:
        try:
            subprocess.run(["ip", "netns", "delete", machine.namespace], capture_output=True)
        except OSError:
            return


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
