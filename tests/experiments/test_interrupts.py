"""Ctrl-C, once and again."""

import os
import signal
import threading

import pytest

from pipeline.experiments.interrupts import ending_at_once, interruptible, shell_that_ends_first


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_is_a_wish_and_a_second_ctrl_c_ends_at_once(which: signal.Signals) -> None:
    interrupt = threading.Event()
    before = signal.getsignal(which)
    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"), interruptible(interrupt):
        os.kill(os.getpid(), which)
        assert interrupt.wait(10)
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(10)
    assert signal.getsignal(which) is before


def test_a_batch_system_that_signals_a_process_and_then_its_group_means_it_once() -> None:
    interrupt = threading.Event()
    with interruptible(interrupt):
        for which in (signal.SIGTERM, signal.SIGTERM, signal.SIGHUP, signal.SIGHUP):
            os.kill(os.getpid(), which)
        assert interrupt.wait(10)


@pytest.mark.parametrize(("which", "name"), [(signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")])
def test_before_there_is_anything_to_end_in_order_each_ends_at_once(which: signal.Signals, name: str) -> None:
    with pytest.raises(KeyboardInterrupt, match=name), ending_at_once():
        os.kill(os.getpid(), which)
        threading.Event().wait(10)


def test_where_somebody_else_ends_what_takes_too_long_the_second_means_nothing() -> None:
    interrupt = threading.Event()
    with interruptible(interrupt, second_ends=False):
        for which in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), which)
        assert interrupt.wait(10)


@pytest.mark.parametrize(
    ("ancestors", "shell"),
    [
        pytest.param(["slurmstepd", "slurmd"], None, id="srun, or a script that has made itself the command"),
        pytest.param(["bash", "slurmstepd", "slurmd"], "bash", id="a line of a script"),
        pytest.param(["sh", "make", "bash", "slurmstepd"], "sh", id="of a program that the script calls"),
        pytest.param(["bash", "sshd", "systemd"], None, id="a login node"),
        pytest.param([], None, id="nobody"),
    ],
)
def test_whoever_starts_the_command_below_a_shell_of_a_slurm_job_is_warned(
    ancestors: list[str], shell: str | None
) -> None:
    warning = shell_that_ends_first(ancestors, has_terminal=False)
    assert (warning is not None and warning.startswith(f"{shell} has started")) is (shell is not None)
    assert shell_that_ends_first(ancestors, has_terminal=True) is None, "a shell that somebody types in lives on"
