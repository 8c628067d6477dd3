"""Processes over ssh that hang, die, or print much: nobody waits for them without end."""

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import get_worker

from pipeline.cluster.kinds.kubernetes import KubernetesConfig
from pipeline.cluster.kinds.ssh import SshConfig
from pipeline.cluster.session import SessionSettings, open_session
from pipeline.errors import PlacementError
from tests.cluster.interrupting import interrupted
from tests.cluster.ssh_login import Server
from tests.cluster.ssh_server import LOOPBACK
from tests.clusters import LIMIT_SECONDS, child_processes, cluster_config, wait_until


def hanging_python(folder: Path, what: str) -> Path:
    """A Python that hangs when it is to be what has this in its specification, and says so in a file beside it."""
    script = folder / "python"
    ours = shlex.quote(sys.executable)
    script.write_text(f'#!/bin/sh\ncase "$*" in *{what}*) touch "$0-hangs"; exec sleep 1000;; esac\nexec {ours} "$@"\n')
    script.chmod(0o755)
    return script


@pytest.fixture
def nothing_is_left(server: Server) -> Iterator[None]:
    """The proof that what was started over ssh has ended."""
    before = set(child_processes())
    yield
    wait_until(lambda: set(child_processes()) <= before, "all has ended", limit_seconds=30)


@pytest.mark.parametrize(
    ("what", "name", "seconds"),
    [("distributed.Scheduler", "scheduler", 1.5), pytest.param("Nanny", "host", 20, marks=pytest.mark.slow)],
)
def test_a_machine_that_hangs_after_the_login_is_refused_in_time_and_nothing_is_left_there(
    server: Server, nothing_is_left: None, tmp_path: Path, what: str, name: str, seconds: float
) -> None:
    python = hanging_python(tmp_path, what)
    settings = server.settings(hosts=(LOOPBACK,) * 2, python=str(python), start_timeout_seconds=seconds)
    with pytest.raises(PlacementError, match=f"the {name} on {LOOPBACK} has not started within {seconds:g} s"):
        open_session(cluster_config("ssh", **settings), 1, 1).__enter__()
    assert Path(f"{python}-hangs").exists()


def test_ctrl_c_while_a_machine_hangs_ends_what_was_started_there(
    server: Server, nothing_is_left: None, tmp_path: Path
) -> None:
    python = hanging_python(tmp_path, "distributed.Scheduler")
    settings = server.settings(hosts=(LOOPBACK,) * 2, python=str(python))
    with interrupted(Path(f"{python}-hangs").exists, "the scheduler hangs"):
        open_session(cluster_config("ssh", **settings), 1, 1).__enter__()


@pytest.mark.slow
@pytest.mark.parametrize("which", [signal.SIGKILL, signal.SIGSTOP])
def test_a_scheduler_that_died_or_stands_still_neither_keeps_a_run_from_its_end_nor_hides_why_it_ends(
    server: Server, nothing_is_left: None, which: signal.Signals
) -> None:
    config = cluster_config("ssh", **server.settings(hosts=(LOOPBACK,) * 2))
    with pytest.raises(ValueError, match="why the run ends"), open_session(config, 1, 1) as session:
        os.kill(session.client.run_on_scheduler(os.getpid), which)
        raise ValueError("why the run ends")


@pytest.mark.slow
def test_hosts_and_scheduler_may_print_as_much_as_they_like(server: Server) -> None:
    config = cluster_config("ssh", **server.settings(hosts=(LOOPBACK,) * 2))
    with open_session(config, 1, 1) as session:
        (host,) = session.hosts
        assert session.submit(_print_much, host=host, name="print").result(timeout=LIMIT_SECONDS / 2) == host
        session.client.run_on_scheduler(_print, callback_timeout=LIMIT_SECONDS / 2)


def _print_much() -> str:
    _print()
    return str(get_worker().address)


def _print() -> None:
    for stream in (1, 2):
        for _ in range(160):
            os.write(stream, b"x" * 2**16)


def test_a_scheduler_without_tasks_stays_for_longer_than_a_run_may_wait_for_its_hosts() -> None:
    for kind, of_kind in (("ssh", SshConfig), ("kubernetes", KubernetesConfig)):
        config = cluster_config(kind, start_timeout_seconds=600.0)
        assert isinstance(config, of_kind)
        # A survey asks twice.
        assert config.idle_seconds > 600 + config.lease_seconds + 2 * SessionSettings().answer_seconds
