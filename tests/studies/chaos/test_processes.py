"""What is left of a run: bare processes that listen, with its mark and without."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from studies.chaos.processes import MARK, Left, end_all
from tests.processes import lives

MINE = uuid.uuid4().hex
LISTENS = """
import socket, threading
listener = socket.create_server(("127.0.0.1", 0))
print("ready", flush=True)
threading.Event().wait()
"""


@pytest.fixture
def ours_and_a_neighbour_s() -> Iterator[list[subprocess.Popen[str]]]:
    """Two processes that listen on a port each."""
    words = [sys.executable, "-S", "-c", LISTENS]
    started = [
        subprocess.Popen(words, env=os.environ | more, stdout=subprocess.PIPE, text=True) for more in ({MARK: MINE}, {})
    ]
    assert [process.stdout and process.stdout.readline() for process in started] == ["ready\n", "ready\n"]
    yield started
    for process in started:
        process.kill()
        process.communicate()


def test_processes_and_ports_of_a_run_are_counted_and_ended_and_those_of_a_neighbour_are_not(
    ours_and_a_neighbour_s: list[subprocess.Popen[str]],
) -> None:
    ours, neighbour = ours_and_a_neighbour_s
    assert end_all(MINE, grace_seconds=0.0) == Left(1, 1)
    ours.wait()
    assert lives(neighbour.pid)
    assert end_all(MINE, grace_seconds=0.0) == Left(0, 0)
