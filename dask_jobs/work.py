"""The process of one job: waits for its order, runs it as Hydra runs a job, and never outlives its host.

Standard input brings the order, once, and then stays open: its end means that the host is gone, and the process stops
itself as the host would have stopped it. What the job prints goes to its log file; the outcome goes to a file that the
host reads when the process has ended.
Not here: the host's end (`process`).
"""

import functools
import json
import os
import pickle
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NamedTuple

import cloudpickle
from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from dask_jobs.ledger import DONE, FAILED, INTERRUPTED
from dask_jobs.needs import JobFailedError, JobInterrupted
from dask_jobs.outcome import Outcome
from dask_jobs.terminal import begin

LENGTH_BYTES = 8
"""Of the big-endian number in front of an order."""


class JobOrder(NamedTuple):
    """What comes through standard input, pickled."""

    variables: dict[str, str]
    """Environment variables of this job."""
    log_file: str
    outcome_file: str
    stop_seconds: float
    """From being interrupted to being killed, when the host is gone."""
    work: bytes
    """A `Work`, pickled: its modules are imported when the variables are set."""


class Work(NamedTuple):
    """One job of Hydra's."""

    task_function: TaskFunction
    config: DictConfig
    hydra_context: HydraContext
    singletons: Any
    """State of Hydra's singletons and OmegaConf's resolvers in the launcher's process."""


def main() -> None:
    """Import what is to be preloaded, wait for the order and carry it out. Returns when the host goes without one.

    SIGINT is how the host says stop.
    """
    begin()
    lifeline = os.fdopen(os.dup(0), "rb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    preload, folder = json.loads(sys.argv.pop()), sys.argv.pop()
    for module in preload:
        import_module(module)
    length = lifeline.read(LENGTH_BYTES)
    if len(length) < LENGTH_BYTES:
        shutil.rmtree(folder, ignore_errors=True)
        return
    order: JobOrder = pickle.loads(lifeline.read(int.from_bytes(length, "big")))
    with open(order.log_file, "ab", buffering=0) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    # Who watches a log file wants to see each line when it is printed.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.environ.update(order.variables)
    ended, is_orphan = threading.Event(), threading.Event()
    guard = (lifeline, is_orphan, ended, order.stop_seconds, folder)
    threading.Thread(target=_end_with_host, args=guard, daemon=True).start()
    outcome = carry_out(lambda: pickle.loads(order.work))
    # What is done is not lost by a stop that comes too late.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    temporary = Path(f"{order.outcome_file}.new")
    # Machines clear away what has lain in their temporary folder for days.
    temporary.parent.mkdir(mode=0o700, exist_ok=True)
    temporary.write_bytes(pickle.dumps(outcome))
    temporary.replace(order.outcome_file)
    ended.set()
    if is_orphan.is_set():
        # Nobody is left to read it.
        shutil.rmtree(folder, ignore_errors=True)


def carry_out(load: Callable[[], Work]) -> Outcome:
    """Run what `load` returns; every way in which that can end is an outcome."""
    try:
        job_return = _run(load())
        if job_return.status is JobStatus.COMPLETED:
            return Outcome(DONE, job_return=cloudpickle.dumps(job_return))
        error = job_return._return_value
        job_return.return_value = _portable(error)
        pickled = cloudpickle.dumps(job_return)
    except KeyboardInterrupt:
        return Outcome(INTERRUPTED, "stopped by KeyboardInterrupt")
    except Exception as failure:
        # Parts of the job could not be brought here, or what it returned cannot be sent back.
        traceback.print_exc()
        return Outcome(FAILED, in_one_line(failure))
    traceback.print_exception(error)
    if isinstance(error, JobInterrupted):
        return Outcome(INTERRUPTED, in_one_line(error), pickled)
    return Outcome(FAILED, in_one_line(error), pickled, again=not isinstance(error, JobFailedError) or error.again)


def in_one_line(error: BaseException) -> str:
    """The error as a ledger tells it, which is UTF-8: of a file name that no text can show, how it is written."""
    text = " ".join(str(error).split()).encode("utf-8", "backslashreplace").decode()
    if isinstance(error, JobFailedError | JobInterrupted) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _run(work: Work) -> JobReturn:
    setup_globals()
    Singleton.set_state(work.singletons)
    return run_job(
        hydra_context=work.hydra_context,
        task_function=_ending_in_order(work.task_function),
        config=work.config,
        job_dir_key="hydra.sweep.dir",
        job_subdir_key="hydra.sweep.subdir",
    )


def _ending_in_order(task_function: TaskFunction) -> TaskFunction:
    """Turns what Hydra would let through, and end the process with, into results and errors of the job."""

    @functools.wraps(task_function)
    def job(config: DictConfig) -> Any:
        try:
            return task_function(config)
        except KeyboardInterrupt as interrupt:
            raise JobInterrupted("stopped by KeyboardInterrupt") from interrupt
        except SystemExit as end:
            if end.code in (None, 0):
                return None
            raise JobFailedError(f"it called sys.exit({end.code!r})") from end

    return job


def _portable(error: Exception) -> Exception:
    """The error itself if it comes through a pickle, else its words."""
    try:
        again = pickle.loads(cloudpickle.dumps(error))
    except Exception:  # whatever its own constructor or __reduce__ raises
        again = None
    return error if type(again) is type(error) else JobFailedError(in_one_line(error))


def _end_with_host(
    lifeline: IO[bytes], is_orphan: threading.Event, ended: threading.Event, stop_seconds: float, folder: str
) -> None:
    lifeline.read(1)
    is_orphan.set()
    os.kill(os.getpid(), signal.SIGINT)
    ended.wait(stop_seconds)
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)
