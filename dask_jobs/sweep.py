"""One launch of a sweep from its first job to its last: grants hosts, starts jobs, hears of them, keeps the ledger.

Everything happens in one thread, in the order in which it is heard of; what other threads and signals have to tell
waits in a queue. Who is next is decided in `queue`, who gets what in `grants`.
Not here: what a host does with a job (`host`), Hydra's side (`launcher`).
"""

import contextlib
import datetime
import math
import queue
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from distributed import Future, KilledWorker

from dask_jobs.allocation import Allocation, allocate, refusal
from dask_jobs.board import Board
from dask_jobs.cluster import Cluster
from dask_jobs.display import Display
from dask_jobs.grants import give_back, take
from dask_jobs.host import keep_spare, run_job_here, stop_jobs
from dask_jobs.interrupts import interrupts
from dask_jobs.job import Job, as_json
from dask_jobs.ledger import DONE, FAILED, RUNNING, WAITING, Ledger, LedgerRow
from dask_jobs.needs import Grant
from dask_jobs.outcome import HostSetup, Order, Outcome
from dask_jobs.progress import TOPIC
from dask_jobs.queue import JobQueue
from dask_jobs.settings import LauncherSettings
from dask_jobs.work import in_one_line

_TICK_SECONDS = 0.5
_GATHER_SECONDS = 10.0
_LAST_WRITES = 20
"""How often a ledger that the disk refuses is tried at the end."""
_LOST = "its host was lost"


class _Running(NamedTuple):
    """A job that was started."""

    future: Future[Any]
    allocation: Allocation
    started_at: float

    @property
    def host(self) -> str:
        return next(iter(self.allocation.hosts))


class Sweep:
    """Runs jobs on a cluster that is there. Made for one launch, used once."""

    def __init__(
        self,
        jobs: Sequence[Job],
        cluster: Cluster,
        ledger: Ledger,
        board: Board,
        display: Display,
        settings: LauncherSettings,
        setup: HostSetup,
    ) -> None:
        self._jobs = {job.number: job for job in jobs}
        self._cluster = cluster
        self._ledger = ledger
        self._board = board
        self._display = display
        self._settings = settings
        self._setup = setup
        self._queue = JobQueue(self._jobs, settings.retries, settings.backoff_seconds)
        self._running: dict[int, _Running] = {}
        self._spares: dict[str, Future[Any]] = {}
        self._heard: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._waits_for_hosts: set[int] = set()
        # Whole seconds, as files tell them.
        self._launched_at = float(math.floor(time.time()))
        self._num_interrupts = 0
        self._stop_seconds: float | None = None
        self._stop_reason = ""
        self._orphans: set[int] = set()
        """Jobs that the ledger calls running, of a command that was killed; until then something of them may run."""
        self._orphans_until = 0.0
        self.unwritten: OSError | None = None
        """Why the ledger is older than what has happened; None: it is not."""
        self.outcomes: dict[int, Outcome] = {}
        """How each job ended that has ended for good."""

    @property
    def was_interrupted(self) -> bool:
        """True if the user stopped it."""
        return self._num_interrupts > 0

    def postpone(self, jobs: Sequence[int]) -> None:
        """Do not start these before what an earlier command has left of them had time to end."""
        self._orphans, self._orphans_until = set(jobs), time.monotonic() + self._settings.stop_seconds
        for number in jobs:
            self._queue.postpone(number, self._orphans_until)

    def run(self) -> None:
        """Run all jobs; returns when all have ended for good, or it was stopped and those that ran have ended."""
        self._cluster.client.subscribe_topic(TOPIC, self._on_message)
        with interrupts(partial(self._heard.put, self._interrupted)), self._display:
            while self._queue.waiting or self._queue.running:
                self._look_for_hosts()
                self._start_what_fits()
                self._keep_spares()
                self._stop_again()
                if self.unwritten is not None:
                    self._write()
                self._adopt_orphans()
                self._display.refresh()
                self._hear()
            for _ in range(_LAST_WRITES):
                if self.unwritten is not None:
                    time.sleep(_TICK_SECONDS)
                    self._write()
        self._spares.clear()

    def _adopt_orphans(self) -> None:
        """Once nothing of them can run any more, the ledger says that they wait."""
        if self._orphans and time.monotonic() >= self._orphans_until:
            rows = [self._row(number) for number in sorted(self._orphans)]
            self._orphans.clear()
            self._write(*(row for row in rows if row.status == WAITING))

    def _hear(self) -> None:
        """Wait a moment for something to happen, and deal with all that has."""
        try:
            tell = self._heard.get(timeout=_TICK_SECONDS)
        except queue.Empty:
            return
        tell()
        while not self._heard.empty():
            self._heard.get_nowait()()

    def _look_for_hosts(self) -> None:
        for complaint in self._cluster.survey():
            self._display.say(f"{complaint}; it is left out")
        present = {host.address for host in self._cluster.hosts}
        for number, running in list(self._running.items()):
            if running.host not in present:
                self._ended(number, running.future, Outcome(FAILED, _LOST))
        self._spares = {address: spare for address, spare in self._spares.items() if address in present}

    def _start_what_fits(self) -> None:
        while (number := self._queue.next(time.monotonic())) is not None:
            job, hosts = self._jobs[number], self._cluster.hosts
            try:
                needs = job.needs
            except Exception as error:  # a config that cannot be composed, or whatever the user's function raises
                self._refuse(number, in_one_line(error))
                continue
            if allocate(needs, hosts) is None:
                if len(hosts) >= self._cluster.num_hosts_seen:
                    self._refuse(number, refusal(needs, hosts))
                    continue
                self._say_that_it_waits(number)
                return
            allocation = take(self._cluster.client, number, needs, hosts)
            if allocation is None:
                return
            self._start(job, allocation)

    def _say_that_it_waits(self, number: int) -> None:
        if number not in self._waits_for_hosts:
            self._waits_for_hosts.add(number)
            there, seen = len(self._cluster.hosts), self._cluster.num_hosts_seen
            self._display.say(
                f"job {number} does not fit the {there} of {seen} hosts that are there, and waits "
                f"{self._settings.start_timeout_seconds:g} s for the others to come back; later jobs wait with it"
            )

    def _start(self, job: Job, allocation: Allocation) -> None:
        address, part = next(iter(allocation.hosts.items()))
        attempt = self._row(job.number).attempts + 1
        hosts = {host: granted.num_threads for host, granted in allocation.hosts.items()}
        scheduler = self._cluster.scheduler_address
        grant = Grant(job.number, attempt, scheduler, hosts, self._launched_at, allocation.seats)
        try:
            work = job.work()
        except Exception as error:  # cloudpickle passes on whatever the user's objects raise
            give_back(self._cluster.client, job.number)
            self._refuse(job.number, f"the job function cannot be sent to a host: {in_one_line(error)}")
            return
        order = Order(grant, self._cluster.server_id(address), part.memory_bytes, part.num_gpus, work)
        self._queue.start(job.number)
        # Written first: a job that runs must never be one that the ledger calls waiting.
        self._change(job.number, status=RUNNING, attempts=attempt, host=address, started=_now(), ended="", seconds=None)
        future = self._submit(run_job_here, order, self._setup, host=address, name=f"job-{job.number}-{attempt}")
        self._running[job.number] = _Running(future, allocation, time.monotonic())
        future.add_done_callback(partial(self._on_done, job.number))

    def _keep_spares(self) -> None:
        """One spare process on each host for as long as jobs wait."""
        if not self._setup.preload or not self._queue.waiting:
            self._spares.clear()
            return
        for host in self._cluster.hosts:
            if host.address not in self._spares:
                name = f"spare-{uuid.uuid4().hex[:8]}"
                self._spares[host.address] = self._submit(keep_spare, self._setup, host=host.address, name=name)

    def _submit(self, function: Callable[..., Any], *args: Any, host: str, name: str) -> Future[Any]:
        return self._cluster.client.submit(
            function,
            *args,
            key=f"{name}-{self._setup.sweep}",
            workers=[host],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )

    def _on_done(self, number: int, future: Future[Any]) -> None:
        self._heard.put(lambda: self._ended(number, future, _outcome_of(future)))

    def _on_message(self, event: tuple[float, Mapping[str, Any]]) -> None:
        message = event[1]
        if message.get("sweep") == self._setup.sweep and message.get("kind") == "progress":
            self._heard.put(partial(self._board.progress, message, time.monotonic()))

    def _ended(self, number: int, future: Future[Any], outcome: Outcome) -> None:
        running = self._running.get(number)
        if running is None or running.future is not future:
            return
        del self._running[number]
        give_back(self._cluster.client, number)
        least_pause = 0.0
        if outcome.reason == _LOST:
            # Whatever Dask still does with the task is of no use any more.
            future.cancel(force=True)
            self._cluster.forget(running.host)
            # Its process may outlive its host for so long, and may be writing what the next attempt goes on with.
            least_pause = self._settings.stop_seconds
        seconds = round(time.monotonic() - running.started_at, 3)
        pause = None
        if outcome.status == FAILED and self._stop_seconds is None:
            pause = self._queue.fail(number, time.monotonic(), least_pause)
        else:
            self._queue.end(number)
        if pause is not None:
            reason = f"{outcome.reason}; again in {pause:g} s"
            self._change(number, status=WAITING, ended=_now(), seconds=seconds, reason=reason)
            return
        self.outcomes[number] = outcome
        value = as_json(outcome.job_return) if outcome.status == DONE else ""
        self._change(
            number,
            status=outcome.status,
            ended=_now(),
            seconds=seconds,
            return_value=value,
            reason=outcome.reason,
        )
        if outcome.status == FAILED and self._settings.fail_fast:
            self._stop(f"job {number} failed, and fail_fast=true", self._settings.stop_seconds)

    def _refuse(self, number: int, reason: str) -> None:
        """A job that cannot be started at all."""
        self._queue.drop(number)
        self.outcomes[number] = Outcome(FAILED, reason)
        self._change(number, status=FAILED, reason=reason)
        if self._settings.fail_fast:
            self._stop(f"job {number} failed, and fail_fast=true", self._settings.stop_seconds)

    def _interrupted(self) -> None:
        self._num_interrupts += 1
        if self._num_interrupts == 1:
            self._stop("stopped by Ctrl-C", self._settings.stop_seconds)
            self._display.say(
                f"stopping {len(self._running)} running jobs, for at most {self._settings.stop_seconds:g} s; "
                "Ctrl-C again kills them"
            )
        else:
            self._stop("killed by Ctrl-C", 0.0)

    def _stop(self, reason: str, patience_seconds: float) -> None:
        """Start nothing more, and stop what runs."""
        self._queue.drop_waiting()
        self._stop_reason, self._stop_seconds = reason, patience_seconds
        self._stop_again()

    def _stop_again(self) -> None:
        """Said again until all have ended: a job that was just being started has not heard it."""
        hosts = sorted({running.host for running in self._running.values()})
        if self._stop_seconds is not None and hosts:
            args = (self._setup.sweep, self._stop_reason, self._stop_seconds)
            self._cluster.client.run(stop_jobs, *args, workers=hosts, on_error="ignore")

    def _row(self, number: int) -> LedgerRow:
        return self._board.jobs[number].row

    def _change(self, number: int, **changes: Any) -> None:
        """Tell everybody of a job's new state: the ledger, the terminal, the dashboard."""
        row = self._row(number)._replace(reason="")._replace(**changes)
        self._write(row)
        self._board.change(row, time.monotonic())
        self._display.changed(row)
        told = {name: getattr(row, name) for name in ("job", "status", "host", "reason", "return_value")}
        message = {"sweep": self._setup.sweep, "kind": "status", "attempt": row.attempts, **told}
        # Who watches misses it; a scheduler that is gone for good is found out by the next thing that it is asked.
        with contextlib.suppress(OSError, TimeoutError):
            self._cluster.client.log_event(TOPIC, message)

    def _write(self, *rows: LedgerRow) -> None:
        """Write the ledger. A disk that refuses it for a while costs no job: it is tried again until the end."""
        try:
            self._ledger.write(*rows)
        except OSError as error:
            if self.unwritten is None:
                self._display.say(f"the ledger cannot be written, and is tried again while the jobs go on: {error}")
            self.unwritten = error
            return
        if self.unwritten is not None:
            self._display.say("the ledger is written again")
        self.unwritten = None


def _outcome_of(future: Future[Any]) -> Outcome:
    """How an attempt ended, from its Dask task, which has."""
    if future.status == "error":
        error = future.exception(timeout=_GATHER_SECONDS)
        if error is not None and not isinstance(error, KilledWorker):
            return Outcome(FAILED, in_one_line(error))
    if future.status == "finished":
        # A host that dies before it has handed over the result is lost like any other.
        with contextlib.suppress(OSError, TimeoutError):
            outcome: Outcome = future.result(timeout=_GATHER_SECONDS)
            return outcome
    return Outcome(FAILED, _LOST)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
