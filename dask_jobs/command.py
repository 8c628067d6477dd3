"""One command from its first launch to its last: the ledger and the cluster that all its launches share.

Jobs that the ledger of the sweep's folder calls done are not run again. How a command ends that did not do all jobs:

    a job failed           when all others have ended, Hydra's sweeper reads its value: the program ends with that error
    ... fail_fast=true     the others are stopped first, and the error names the job
    Ctrl-C, SIGTERM        jobs are stopped in order, then the program ends with INTERRUPTED_STATUS

Not here: one launch at work (`sweep`).
"""

import atexit
import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from hydra.core.utils import JobReturn
from hydra.errors import CompactHydraException
from omegaconf import OmegaConf
from rich.console import Console

from dask_jobs.announcer import Announcer
from dask_jobs.asking import AskedJobs, JobSource
from dask_jobs.board import Board
from dask_jobs.cluster import Cluster, SchedulerState, open_cluster
from dask_jobs.decisions import Decisions
from dask_jobs.display import Display, ending
from dask_jobs.job import Job, Program, host_setup
from dask_jobs.ledger import DONE, FAILED, LEDGER, RUNNING, WAITING, Ledger, LedgerError, LedgerRow
from dask_jobs.outcome import Outcome
from dask_jobs.sweep import Sweep
from dask_jobs.terminal import INTERRUPTED_STATUS, lasting_output
from dask_jobs.watched_time import WatchedTime

_BROKEN = "the connection to the scheduler broke, and hosts stop their jobs:"
_LEFT_BY = {False: "an earlier command was killed", True: "the connection broke"}
_LOGS = "logs"
_NOTE = "multirun.yaml"
"""Hydra's own name for it."""


class Command:
    """Opens what it needs at its first launch, and gives it back at the end of the program, or by `close`."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._folder = Path(str(program.config.hydra.sweep.dir)).absolute()
        self._setup = host_setup(program, self._folder / _LOGS)
        self._opened = contextlib.ExitStack()
        self._of_cluster = contextlib.ExitStack()
        self._ledger: Ledger | None = None
        self._cluster: Cluster | None = None
        self._launched: dict[int, Job] = {}
        # Hydra does not tell a launcher that there is nothing more to come.
        atexit.register(self.close)

    def launch(self, job_overrides: Sequence[Sequence[str]], first_number: int) -> list[JobReturn]:
        """Run those of these jobs that are not done. Raises CompactHydraException, or SystemExit after Ctrl-C."""
        ledger = self._open_ledger()
        jobs = [self._job(ledger, overrides, first_number + i) for i, overrides in enumerate(job_overrides)]
        pending = [job for job in dict.fromkeys(jobs) if _row(ledger, job).status != DONE]
        if jobs and not pending:
            self._say_that_all_is_done(len(set(jobs)))
        outcomes = self._run(pending, ledger, None) if pending else {}
        return [
            job.job_return(outcomes[job.number])
            if job.number in outcomes
            else job.earlier_return(_row(ledger, job).return_value)
            for job in jobs
        ]

    def launch_asked(self, source: JobSource, num_at_once: int | None) -> list[JobReturn]:
        """Run the jobs of a source, so many at once; None: as many as the hosts take.

        Raises as `launch`, and when all that ran has ended what the source has raised.
        """
        ledger = self._open_ledger()
        self._note()
        done = source.recall(ledger.rows)

        def make(overrides: Sequence[str]) -> Job:
            return self._job(ledger, overrides, len(self._launched))

        asked = AskedJobs(source, make, lambda job: _row(ledger, job), num_at_once)
        first = asked.to_repeat()
        # Shown with the others, and not run again.
        self._launched |= {number: Job(number, tuple(words), self._program) for number, words in done.items()}
        if first:
            self._run(first, ledger, asked)
        else:
            self._say_that_all_is_done(len(self._launched))
        if asked.error is not None:
            raise asked.error
        return asked.returns

    def close(self) -> None:
        """Close the cluster if it is our own, and let others have the ledger."""
        self._opened.close()

    def _job(self, ledger: Ledger, overrides: Sequence[str], number: int) -> Job:
        """The job with these overrides, which is always the same one: its number, and with it its folder, stay."""
        key = self._program.key(overrides)
        row = ledger.row(key)
        if row is None:
            row = LedgerRow(ledger.free_number(number), key)
            ledger.add(row)
        job = Job(row.job, tuple(overrides), self._program)
        launched = self._launched.setdefault(row.job, job)
        if launched.overrides != job.overrides:
            raise CompactHydraException(
                f"jobs {' '.join(launched.overrides)!r} and {' '.join(job.overrides)!r} are one and the same here: "
                f"{', '.join(self._program.settings.ignored_overrides)} (hydra.launcher.ignored_overrides) tell no job "
                "from another; sweep over something else"
            )
        return launched

    def _say_that_all_is_done(self, num_jobs: int) -> None:
        self._say(
            f"{num_jobs} jobs are done already, by {self._folder / LEDGER}; to run one again, delete its row there and "
            "what it has left"
        )

    def _say(self, text: str) -> None:
        """What there is to say while no board is shown."""
        Display(_console(), self._program.settings.progress, Board({}, [])).say(text)

    def _run(
        self, jobs: Sequence[Job], ledger: Ledger, asked: AskedJobs | None, *, is_again: bool = False
    ) -> dict[int, Outcome]:
        """`is_again`: in the same command, after its connection broke."""
        try:
            return self._run_once(jobs, ledger, asked, is_again)
        except _CutOffError as cut_off:
            ended, unfinished = cut_off.outcomes, cut_off.unfinished
        # The client that has connected anew is of no use (`connection`), and may fail to be closed.
        left, self._cluster = self._of_cluster.pop_all(), None
        with contextlib.suppress(Exception):
            left.close()
        jobs = [job for number, job in self._launched.items() if number in unfinished]
        return ended | self._run(jobs, ledger, asked, is_again=True)

    def _run_once(
        self, jobs: Sequence[Job], ledger: Ledger, asked: AskedJobs | None, is_again: bool
    ) -> dict[int, Outcome]:
        orphans = [job.number for job in jobs if _row(ledger, job).status == RUNNING]
        strays = [row for row in ledger.rows if row.status == RUNNING and row.job not in self._launched]
        # First: a command that finds no cluster has tried nothing, and leaves the ledger as it was.
        cluster = self._open_cluster(is_again=is_again)
        waiting = {job.number: _row(ledger, job)._replace(status=WAITING, reason="") for job in jobs}
        # Until they are started again the file calls orphans running: whoever comes after this command is told, too.
        self._write(ledger, *(row for number, row in waiting.items() if number not in orphans))
        rows = [waiting.get(number, _row(ledger, job)) for number, job in self._launched.items()]
        settings = self._program.settings
        board = Board({number: job.overrides for number, job in self._launched.items()}, rows)
        display = Display(_console(), settings.progress, board)
        announcer = Announcer(self._setup.sweep, ledger, board, display, cluster.client, strays)
        announcer.begin()
        announcer.to_come(0 if asked is None else asked.num_left)
        decisions, watched = Decisions((job.number for job in jobs), settings), WatchedTime()
        dashboard = cluster.dashboard_url
        display.say(f"{board.counts()} in {self._folder}" + (f"; dashboard {dashboard}" if dashboard else ""))
        for complaint in cluster.complaints:
            display.say(f"{complaint}; it is left out")
        # Of a job whose host was lost just before, something may run as well.
        begun = [job.number for job in jobs if is_again and _row(ledger, job).attempts] or orphans
        if begun or strays:
            decisions.postpone(begun, watched.now())
        if orphans:
            display.say(
                f"{len(orphans)} jobs were running when {_LEFT_BY[is_again]}: they start in "
                f"{settings.stop_seconds:g} s, when whatever is left of them has ended"
            )
        try:
            sweep = Sweep(jobs, cluster, announcer, decisions, watched, self._setup, asked=asked)
            end = sweep.run()
        except Exception as error:  # each of Dask's calls has another one for a scheduler that is gone
            if (told := _in_words(cluster, decisions, announcer, sweep.was_signalled)) is None:
                raise
            raise told from error
        display.say(ending(board, self._folder / LEDGER, Path(self._setup.log_folder)))
        if end.unwritten is not None:
            display.say(f"the ledger could not be written, and is older than that: {end.unwritten}")
        if end.was_interrupted:
            display.say("the same command goes on with what is not done")
            sys.exit(INTERRUPTED_STATUS)
        failed = [job for job in self._launched.values() if _is_failed(end.outcomes.get(job.number))]
        if failed and settings.fail_fast:
            row = _row(ledger, failed[0])
            raise CompactHydraException(f"job {row.job} {row.overrides} failed, fail_fast=true: {row.reason}")
        return end.outcomes

    def _write(self, ledger: Ledger, *rows: LedgerRow) -> None:
        with self._writing(LEDGER):
            ledger.write(*rows)

    def _note(self) -> None:
        """Keep what the multirun was composed of, as Hydra's own sweeper does; only of whoever holds the ledger."""
        with self._writing(_NOTE):
            OmegaConf.save(self._program.config, self._folder / _NOTE)

    @contextlib.contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CompactHydraException(f"{self._folder / name} cannot be written: {error}") from error

    def _open_ledger(self) -> Ledger:
        if self._ledger is None:
            try:
                self._ledger = Ledger.open(self._folder)
            except LedgerError as error:
                raise CompactHydraException(str(error)) from error
            except OSError as error:
                raise CompactHydraException(f"no ledger can be kept in {self._folder}: {error}") from error
            self._opened.callback(self._ledger.close)
            # Closed first: nobody else is to have the folder while jobs are being ended.
            self._opened.enter_context(self._of_cluster)
        return self._ledger

    def _open_cluster(self, *, is_again: bool) -> Cluster:
        if self._cluster is None:
            opened = open_cluster(self._program.settings, self._setup, say=self._say, is_again=is_again)
            self._cluster = self._of_cluster.enter_context(opened)
        return self._cluster


class _CutOffError(Exception):
    """The connection of a launch broke."""

    def __init__(self, decisions: Decisions) -> None:
        self.outcomes = decisions.outcomes
        self.unfinished = decisions.unfinished


def _in_words(cluster: Cluster, decisions: Decisions, announcer: Announcer, was_signalled: bool) -> Exception | None:
    """What has ended a launch, where that is the way to the scheduler; None: it is not.

    Ends the program where somebody wanted that, and the connection broke.
    """
    cluster.connection.settle()
    if cluster.connection.is_broken:
        if not was_signalled and not decisions.is_stopping:
            announcer.display.say(f"{_BROKEN} this command joins again")
            return _CutOffError(decisions)
        told = f"{_BROKEN} the same command goes on with what is not done"
        if not was_signalled:
            return CompactHydraException(told)
        announcer.display.say(told)
        sys.exit(INTERRUPTED_STATUS)
    if (state := cluster.scheduler_state()) is SchedulerState.THERE:
        return None
    # Jobs of one that stands still may still run: whoever comes after this command is told of them.
    if state is SchedulerState.GONE:
        announcer.interrupt("its scheduler is gone")
    return CompactHydraException(_without_scheduler(state, cluster.scheduler_address))


def _without_scheduler(state: SchedulerState, address: str) -> str:
    if state is SchedulerState.GONE:
        return (
            f"the scheduler at {address} is gone, and its hosts stop their jobs: start another, and the same command "
            "goes on with what is not done"
        )
    return (
        f"the scheduler at {address} does not answer, and jobs may still run there: end it or wake it, and the same "
        "command goes on with what is not done"
    )


def _console() -> Console:
    """Of any program of Hydra's, where no reader and no terminal that is gone may end a sweep."""
    return Console(file=lasting_output())


def _is_failed(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.status == FAILED


def _row(ledger: Ledger, job: Job) -> LedgerRow:
    row = ledger.row(job.key)
    assert row is not None
    return row
