"""One launch of a sweep from its first job to its last: starts jobs, hears of them, tells of them.

Everything happens in one thread, in the order in which it is heard of; what other threads and signals have to tell
waits in a queue. What is done is decided in `decisions`, and carried out here.
Not here: what a host does with a job (`attempt`), who holds what (`grants`), telling (`announcer`).
"""

import contextlib
import datetime
import queue
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from distributed import Future, KilledWorker
from hydra.errors import CompactHydraException

from dask_jobs.allocation import Allocation
from dask_jobs.announcer import Announcer
from dask_jobs.asking import AskedJobs
from dask_jobs.attempt import run_job_here, stop_jobs
from dask_jobs.cluster import Cluster
from dask_jobs.decisions import Adopt, Again, Decisions, Forget, Instruction, Over, Refused, Say, Stop, Try
from dask_jobs.grants import give_back, take
from dask_jobs.interrupts import interrupts
from dask_jobs.job import Job, as_json
from dask_jobs.ledger import DONE, FAILED, RUNNING, WAITING
from dask_jobs.needs import Grant
from dask_jobs.outcome import HOST_LOST, HostSetup, Order, Outcome
from dask_jobs.progress import TOPIC
from dask_jobs.spares import keep_spare
from dask_jobs.watched_time import WatchedTime
from dask_jobs.work import in_one_line

_WITHOUT_HOSTS = (
    "no host has come back in time (hydra.launcher.start_timeout_seconds): start some, and the same command goes on "
    "with what is not done"
)


@dataclass(frozen=True)
class SweepTiming:
    """How a sweep spends its time."""

    tick_seconds: float = 0.5
    """Longest time between two looks at the hosts, and between two attempts to write the ledger."""
    gather_seconds: float = 10.0
    """How long a host has to hand over a result that is there."""
    num_last_writes: int = 20
    """How often a ledger that the disk refuses is tried at the end."""


class SweepEnd(NamedTuple):
    """What became of a launch."""

    outcomes: dict[int, Outcome]
    """How each job ended that has ended for good."""
    was_interrupted: bool
    """True if the user stopped it."""
    unwritten: OSError | None
    """Why the ledger is older than what has happened; None: it is not."""


class _Running(NamedTuple):
    """An attempt that has been started."""

    future: Future[Any]
    started_at: float

    def seconds(self) -> float:
        """How long it has taken, pauses included."""
        return round(time.monotonic() - self.started_at, 3)


class Sweep:
    """Runs jobs on a cluster that is there. Made for one launch, used once."""

    def __init__(
        self,
        jobs: Sequence[Job],
        cluster: Cluster,
        announcer: Announcer,
        decisions: Decisions,
        watched: WatchedTime,
        setup: HostSetup,
        timing: SweepTiming | None = None,
        asked: AskedJobs | None = None,
    ) -> None:
        """`watched`: the time that `decisions` go by; `asked`: more jobs, one after the other, while there is room."""
        self._jobs = {job.number: job for job in jobs}
        self._cluster = cluster
        self._announcer = announcer
        self._decisions = decisions
        self._setup = setup
        self._timing = timing or SweepTiming()
        self._asked = asked
        self._running: dict[int, _Running] = {}
        self._watched = watched
        self._spares: dict[str, Future[Any]] = {}
        """Of the spare process on each host."""
        self._heard: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._launch_id = uuid.uuid4().hex
        self.was_signalled = False
        """Whether somebody wants an end, be it that nobody has dealt with it yet."""

    def run(self) -> SweepEnd:
        """Run all jobs; returns when all have ended for good, or it was stopped and those that ran have ended."""
        self._cluster.client.subscribe_topic(TOPIC, self._on_message)
        with interrupts(self._on_signal), self._announcer.display:
            while self._asks_more or not self._decisions.is_over:
                self._look_for_hosts()
                # After the look: a machine that has slept has not heard from anybody.
                if (said := self._cluster.check_scheduler(is_stopping=self._decisions.is_stopping)) is not None:
                    self._announcer.display.say(said)
                self._start_what_fits()
                while self._asks_for_one():
                    self._start_what_fits()
                if self._asked is not None and (said := self._asked.complaint()) is not None:
                    self._announcer.display.say(said)
                self._keep_spares()
                self._announcer.write_again()
                self._announcer.display.refresh()
                self._hear()
            self._announcer.write_at_last(self._timing.num_last_writes, self._timing.tick_seconds)
        self._spares.clear()
        return SweepEnd(self._decisions.outcomes, self._decisions.was_interrupted, self._announcer.unwritten)

    @property
    def _asks_more(self) -> bool:
        return self._asked is not None and self._asked.has_more and not self._decisions.is_stopping

    @property
    def _holds_back(self) -> bool:
        """Whether no job is to start now: as many run as are wanted at once, or somebody is to be heard first."""
        most = None if self._asked is None else self._asked.num_at_once
        return not self._heard.empty() or (most is not None and self._decisions.num_running >= most)

    def _asks_for_one(self) -> bool:
        """Ask for another job where none could start now; False where there is no more, or no room for it."""
        asked = self._asked
        # One that pauses before another attempt holds nothing meanwhile, and keeps no room free.
        is_one_next = self._decisions.next(self._watched.now()) is not None
        if asked is None or not self._asks_more or is_one_next or self._holds_back or not self._cluster.hosts:
            return False
        job = asked.next()
        self._announcer.to_come(asked.num_left)
        if job is None:
            return False
        self._jobs[job.number] = job
        self._announcer.add(job.overrides, asked.row(job)._replace(status=WAITING, reason=""))
        self._decisions.add(job.number)
        return True

    def _hear(self) -> None:
        """Wait a moment for something to happen, and deal with all that has."""
        with contextlib.suppress(queue.Empty):
            self._heard.get(timeout=self._timing.tick_seconds)()
            while True:
                self._heard.get_nowait()()

    def _look_for_hosts(self) -> None:
        for complaint in self._cluster.survey():
            self._announcer.display.say(f"{complaint}; it is left out")
        self._carry_out(self._decisions.look(self._watched.now(), present := self._cluster.present))
        if self._cluster.num_hosts_seen == 0 and self._decisions.num_running == 0:
            raise CompactHydraException(_WITHOUT_HOSTS)
        self._spares = {address: spare for address, spare in self._spares.items() if address in present}

    def _start_what_fits(self) -> None:
        before = None
        # One that is next again waits, and later jobs with it.
        while not self._holds_back and (number := self._decisions.next(self._watched.now())) not in (None, before):
            before = number
            try:
                needs = self._jobs[number].needs
            except Exception as error:  # a config that cannot be composed, or whatever the user's function raises
                self._carry_out(self._decisions.refuse(number, in_one_line(error)))
                continue
            self._carry_out(self._decisions.judge(number, needs, *self._cluster.room))

    def _carry_out(self, instructions: Sequence[Instruction]) -> None:
        change = self._announcer.change
        for instruction in instructions:
            match instruction:
                case Try(job, needs):
                    allocation = take(self._cluster.client, job, needs, self._cluster.hosts, self._running)
                    if allocation is not None:
                        self._start(self._jobs[job], allocation)
                case Refused(job, reason):
                    change(job, status=FAILED, reason=reason)
                    self._tell(job, Outcome(FAILED, reason))
                case Again(job, reason):
                    change(job, status=WAITING, ended=_now(), seconds=self._running[job].seconds(), reason=reason)
                    self._release(job)
                case Over(job, outcome):
                    value = as_json(outcome.job_return) if outcome.status == DONE else ""
                    ending = {"ended": _now(), "seconds": self._running[job].seconds(), "return_value": value}
                    # Written first: of a scheduler that is gone, the release raises, and what is done is done.
                    change(job, status=outcome.status, reason=outcome.reason, **ending)
                    self._tell(job, outcome)
                    self._release(job)
                case Forget(job, host):
                    self._running[job].future.cancel(force=True)
                    self._cluster.forget(host)
                case Stop(hosts, reason, patience):
                    self._cluster.run_on(list(hosts), stop_jobs, self._setup.sweep, reason, patience)
                case Adopt(jobs):
                    self._announcer.adopt(jobs)
                case Say(text):
                    self._announcer.display.say(text)

    def _start(self, job: Job, allocation: Allocation) -> None:
        address, part = next(iter(allocation.hosts.items()))
        attempt = self._announcer.row(job.number).attempts + 1
        hosts = {host: granted.num_threads for host, granted in allocation.hosts.items()}
        grant = Grant(job.number, attempt, self._cluster.scheduler_address, hosts, self._launch_id, allocation.seats)
        try:
            work = job.work()
        except Exception as error:  # cloudpickle passes on whatever the user's objects raise
            give_back(self._cluster.client, job.number)
            reason = f"the job function cannot be sent to a host: {in_one_line(error)}"
            self._carry_out(self._decisions.refuse(job.number, reason))
            return
        order = Order(grant, self._cluster.server_id(address), part.memory_bytes, part.num_gpus, work)
        # Written first: a job that runs must never be one that the ledger calls waiting.
        begin = {"attempts": attempt, "host": address, "started": _now(), "ended": "", "seconds": None}
        self._announcer.change(job.number, status=RUNNING, **begin)
        future = self._submit(run_job_here, order, self._setup, host=address, name=f"job-{job.number}-{attempt}")
        self._running[job.number] = _Running(future, time.monotonic())
        self._decisions.started(job.number, address)
        future.add_done_callback(partial(self._on_done, job.number))

    def _tell(self, job: int, outcome: Outcome) -> None:
        if self._asked is not None:
            self._asked.ended(job, outcome)
            self._announcer.to_come(self._asked.num_left)

    def _release(self, job: int) -> None:
        del self._running[job]
        give_back(self._cluster.client, job)

    def _keep_spares(self) -> None:
        """One spare process on each host for as long as jobs wait, or are still to come."""
        if not self._setup.preload or not (self._decisions.has_waiting or self._asks_more):
            self._spares.clear()
            return
        for host in self._cluster.hosts:
            if host.address not in self._spares:
                name = f"spare-{uuid.uuid4().hex[:8]}"
                self._spares[host.address] = self._submit(keep_spare, self._setup, host=host.address, name=name)

    def _submit(self, function: Callable[..., Any], *args: Any, host: str, name: str) -> Future[Any]:
        key, pinned = f"{name}-{self._setup.sweep}", {"workers": [host], "allow_other_workers": False}
        return self._cluster.client.submit(function, *args, key=key, pure=False, retries=0, **pinned)

    def _on_done(self, number: int, future: Future[Any]) -> None:
        self._heard.put(partial(self._ended, number, future))

    def _on_message(self, event: tuple[float, Mapping[str, Any]]) -> None:
        message = event[1]
        if message.get("sweep") == self._setup.sweep and message.get("kind") == "progress":
            self._heard.put(partial(self._announcer.progress, message))

    def _ended(self, number: int, future: Future[Any]) -> None:
        # Another attempt may run by now. The client cancels all when its connection breaks: the cluster tells of that.
        if number in self._running and self._running[number].future is future and not future.cancelled():
            outcome = _outcome_of(future, self._timing.gather_seconds)
            self._carry_out(self._decisions.ended(number, outcome, self._watched.now()))

    def _on_signal(self, name: str) -> None:
        self.was_signalled = True
        self._heard.put(lambda: self._carry_out(self._decisions.interrupted(name)))


def _outcome_of(future: Future[Any], gather_seconds: float) -> Outcome:
    """How an attempt ended, from its Dask task, which has."""
    if future.status == "error":
        error = future.exception(timeout=gather_seconds)
        if error is not None and not isinstance(error, KilledWorker):
            return Outcome(FAILED, in_one_line(error))
    if future.status == "finished":
        # A host that dies before it has handed over the result is lost like any other.
        with contextlib.suppress(OSError, TimeoutError):
            outcome: Outcome = future.result(timeout=gather_seconds)
            return outcome
    return HOST_LOST


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
