"""Fixtures of tests that start commands."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.clusters import LIMIT_SECONDS
from tests.experiments.commands import Command, Start, processes_in


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start("-m", "module", ...)`, a `Command`; what still runs at the end is killed, and fails the test."""
    started: list[Command] = []

    def begin(*words: str, prefix: tuple[str, ...] = ()) -> Command:
        started.append(Command(tmp_path / f"output-{len(started)}.txt", *words, prefix=prefix))
        return started[-1]

    yield begin
    left = [command for command in started if command.process.poll() is None]
    for command in left:
        command.process.kill()
        command.process.wait()
    # A spare process of a sweep ends by itself, a moment after its host.
    _, orphans = psutil.wait_procs(processes_in(tmp_path), timeout=LIMIT_SECONDS)
    for orphan in orphans:
        orphan.kill()
    assert [command.process.args for command in left] == [] and orphans == []
