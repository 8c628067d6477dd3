"""Schedulers and workers as README and docs print them, started: they come together, and none listens to everybody."""

import re
import shlex
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.cluster.certificates import make_certificates
from tests.clusters import wait_until
from tests.experiments.commands import Command
from tests.test_docs import BLOCK, CHECKOUT, DOCUMENTS

PRINTED = re.compile(r"^(?:\w+=\S+ )*dask (?:scheduler|worker) [^#\n]*", re.MULTILINE)
HERE = "127.0.0.1"
SCHEDULER = f"dask scheduler --host {HERE} --port 8786 --dashboard-address {HERE}:8787"
"""Of a block that has workers alone: they join one that is there."""


def printed_clusters() -> Iterator[tuple[str, list[str]]]:
    """Where they stand -> the commands of one block."""
    for document in DOCUMENTS:
        for number, block in enumerate(BLOCK.findall(document.read_text())):
            if commands := PRINTED.findall(block):
                yield f"{document.relative_to(CHECKOUT)}-{number}", commands


CLUSTERS = dict(printed_clusters())


def test_readme_and_the_pages_of_clusters_have_such_blocks() -> None:
    documents = {name.rpartition("-")[0] for name in CLUSTERS}
    assert {"README.md", "docs/security.md", "docs/clusters/address.md", "docs/clusters/gpus.md"} <= documents


@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTERS)
def test_what_is_printed_starts_and_listens_where_it_says(name: str, tmp_path: Path) -> None:
    for file in make_certificates(tmp_path / "certificates"):
        file.rename(tmp_path / file.name)
    with socket.socket() as free:
        free.bind((HERE, 0))
        port = free.getsockname()[1]
    commands = CLUSTERS[name] if "scheduler" in CLUSTERS[name][0] else [SCHEDULER, *CLUSTERS[name]]
    with ExitStack() as running:
        for number, command in enumerate(commands):
            started = running.enter_context(start(command, port, tmp_path / f"{number}.txt"))
            wait_until(partial(is_up, started), command)
            assert {ip for ip, _ in listened_to(started)} == {HERE}, command


@contextmanager
def start(command: str, port: int, output: Path) -> Iterator[Command]:
    """As it is printed, but for the address of the machine, and ports that nobody has."""
    here = command.replace("10.0.0.1", HERE).replace("8786", str(port)).replace(":8787", ":0")
    before, _, words = here.partition("dask ")
    kind, *options = shlex.split(words)
    if kind == "scheduler" and "--port" not in options:
        options += ["--port", str(port)]
    started = Command(output, "-m", "dask", kind, *options, prefix=("env", *before.split()))
    try:
        yield started
    finally:
        started.process.terminate()
        started.ends()


def is_up(command: Command) -> bool:
    """Whether a scheduler listens, or a worker has joined one."""
    assert command.process.poll() is None, command.printed
    return "Scheduler at:" in command.printed or "Registered to:" in command.printed


def listened_to(command: Command) -> set[tuple[str, int]]:
    """Addresses and ports of the command, and of all that it has started."""
    parent = psutil.Process(command.process.pid)
    connections = [one for process in (parent, *parent.children(recursive=True)) for one in process.net_connections()]
    return {(one.laddr.ip, one.laddr.port) for one in connections if one.status == psutil.CONN_LISTEN}
