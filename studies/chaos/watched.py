"""One run from its first start to its end, with its kills: started, watched, killed, typed again, looked over.

Not here: which runs there are (`studies.chaos.campaign`), what is decided of them (`draws`, `judging`).
"""

import itertools
import signal
import time
from collections.abc import Callable
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from studies.chaos import judging, output, processes, scene
from studies.chaos.cases import ADDRESS, LEASE_SECONDS, Case
from studies.chaos.command import TypedCommand
from studies.chaos.draws import Draw, chosen, draw
from studies.chaos.hosts import StartedHosts
from studies.chaos.judging import EndOfRun, faults
from studies.chaos.kills import EndOfKills, Kill, row_of
from studies.chaos.rows import KillRow, RunRow

_POLL_SECONDS = 0.25
_MORE_STARTS = 4
"""Than kills; a run that has no result by then is left as it is."""
_GRACE_SECONDS = 30.0
"""How long processes and roles of a run that has ended may take to leave, their lease included."""


class RunPlan(NamedTuple):
    """What is done with one run."""

    seed: int
    run: int
    case: Case
    words: list[str]
    """What is typed, but for the address of a cluster."""
    num_hosts: int
    """That the run wants."""
    num_kills: int
    deadline_seconds: float
    """Within which a new row or an end is to come."""

    def facts(self) -> dict[str, Any]:
        """Columns of all of its rows."""
        replacement = "yes" if self.case.has_replacement else "no"
        of_case = {"system": self.case.system, "cluster": self.case.cluster, "shards": self.case.shards}
        return {"seed": self.seed, "run": self.run, "replacement": replacement, **of_case}


class _Turn(Enum):
    DUE = "what was waited for"
    ENDED = "the command has ended"
    HUNG = "nothing came within the deadline"


class WatchedRun:
    """For `carry_out`, once."""

    def __init__(self, plan: RunPlan, folder: Path, say: Callable[[str], None]) -> None:
        """`folder`: empty, for all that the run leaves. `say` hears of each kill."""
        self._plan = plan
        self._say = say
        (folder / "tmp").mkdir()
        self._mark = f"{plan.seed}-{plan.run}-{time.time_ns()}"
        self._environment = {processes.MARK: self._mark, "TMPDIR": str(folder / "tmp")}
        self._folder = folder
        self._begun = time.monotonic()
        self._kills: list[Kill] = []
        self._seen: dict[str, set[str]] = {}
        """File -> lines that were in it at some time."""
        self._num_rows = 0
        self._progress_at = 0.0
        """When a row came last, or something else from which the deadline counts."""
        self._has_rows = False
        """Since the last start or kill."""
        self._stopped: tuple[psutil.Process, float] | None = None
        self._without_reason = 0

    def carry_out(self) -> tuple[list[KillRow], RunRow, str]:
        """The rows of its kills, its own, and all that it has printed. No process of it is left afterwards."""
        case = self._plan.case
        words = [*self._plan.words, f"cluster={case.cluster}", "results_dir=runs"]
        self._hosts: StartedHosts | None = None
        try:
            if case.cluster == ADDRESS:
                num_hosts = self._plan.num_hosts + case.num_spares
                self._hosts = StartedHosts(self._folder, num_hosts, self._environment, has_nannies=case.has_replacement)
                words += [f"cluster.address={self._hosts.address}", f"cluster.num_hosts={num_hosts}"]
            self._command = TypedCommand(self._folder, words, self._environment)
            self._type()
            has_hung = self._live()
            return self._look_over(has_hung=has_hung)
        finally:
            self._wake(at_once=True)
            processes.end_all(self._mark, grace_seconds=0.0)

    def _live(self) -> bool:
        """Until its last end; True if it has hung."""
        while True:
            number, plan = len(self._kills), self._plan
            drawn = draw(plan.seed, plan.run, number, plan.case.victims) if number < plan.num_kills else None
            turn = self._wait(drawn)
            if turn is _Turn.HUNG:
                self._say("nothing comes any more: it hangs")
                if self._kills:
                    self._kills[-1].has_hung = True
                return True
            if turn is _Turn.DUE:
                assert drawn is not None
                self._kill(drawn)
            elif not self._goes_on():
                return False

    def _now(self) -> float:
        return time.monotonic() - self._begun

    def _wait(self, drawn: Draw | None) -> _Turn:
        due: float | None = None
        while True:
            self._look()
            now = self._now()
            if self._command.exit_status is not None:
                return _Turn.ENDED
            if drawn is not None:
                if due is None and (self._has_rows or not drawn.waits):
                    due = now + drawn.delay_seconds
                if due is not None and now >= due:
                    return _Turn.DUE
            if now - self._progress_at > self._plan.deadline_seconds:
                return _Turn.HUNG
            time.sleep(_POLL_SECONDS)

    def _look(self) -> None:
        self._wake()
        self._command.see_checkpoints()
        if self._hosts is not None and self._plan.case.has_replacement:
            self._hosts.replace_lost()
        num_rows = 0
        for name, rows in self._command.rows().items():
            self._seen.setdefault(name, set()).update(rows.lines)
            num_rows += len(rows.lines)
        if num_rows > self._num_rows:
            self._has_rows, self._progress_at = True, self._now()
            for kill in self._kills:
                kill.rows_at = kill.rows_at or self._now()
        self._num_rows = num_rows

    def _kill(self, drawn: Draw) -> None:
        hosts, coordinator = self._hosts, self._command.pid
        # Before anything is asked: a client of Dask's waits without end for a scheduler that stands still.
        self._wake(at_once=True)
        seen = scene.look(self._mark, coordinator, None if hosts is None else hosts.scheduler_pid)
        kinds = [kind for kind in (drawn.victim, "host", "coordinator") if seen.victims.get(kind)]
        if self._command.exit_status is not None or not kinds:
            return  # it has just ended by itself
        placed = chosen(seen.victims[kinds[0]], drawn.which)
        self._look()
        kill = Kill(
            drawn,
            kinds[0],
            placed.address,
            placed.roles,
            self._now(),
            seen.update,
            seen.frames,
            len(self._command.printed()),
        )
        processes.send(placed.process, drawn.signal)
        if drawn.signal is signal.SIGSTOP:
            self._stopped = placed.process, kill.at + drawn.stop_seconds
        self._kills.append(kill)
        self._has_rows, self._progress_at = False, kill.at
        where = f" {kill.address} ({' '.join(kill.roles) or 'no role'})" if kill.address else ""
        self._say(f"{kill.at:.0f} s, update {kill.update}: {drawn.signal.name} to the {kill.victim}{where}")

    def _wake(self, *, at_once: bool = False) -> None:
        if self._stopped is not None and (at_once or self._now() >= self._stopped[1]):
            processes.send(self._stopped[0], signal.SIGCONT)
            self._stopped = None

    def _type(self) -> None:
        self._typed_at = len(self._command.printed())
        self._command.type()
        self._has_rows, self._progress_at = False, self._now()

    def _goes_on(self) -> bool:
        """The command has ended: whether it is typed again."""
        status, reason = self._command.exit_status, self._command.end_reason()
        if self._has_result():
            return False
        is_killed = status is not None and status < 0
        told = self._command.printed()[self._typed_at :]
        if not is_killed and (not output.is_error(told) or (reason is None and "building" in told)):
            self._without_reason += 1
        if self._kills:
            self._kills[-1].has_died |= is_killed
            self._kills[-1].has_reason |= not is_killed
        if self._command.num_starts > self._plan.num_kills + _MORE_STARTS:
            return False
        self._say(
            f"{self._now():.0f} s: it ended ({f'signal {-status}' if is_killed and status else reason}); typed again"
        )
        self._wake(at_once=True)
        if self._hosts is not None:
            self._hosts.make_whole()
        self._type()
        return True

    def _has_result(self) -> bool:
        return self._command.exit_status == 0 and self._command.end_reason() in judging.ENDED

    def _look_over(self, *, has_hung: bool) -> tuple[list[KillRow], RunRow, str]:
        ended_at = self._now()
        self._look()
        left = _left(self._mark, self._command, self._hosts, waits=not has_hung)
        printed, kept, aside = self._command.printed(), self._command.rows(), self._command.rows("discarded")
        counts = {
            "ends without a reason": self._without_reason,
            "rows doubled": sum(judging.rows_doubled(rows.header, rows.lines) for rows in kept.values()),
            "rows lost": sum(
                judging.rows_lost(seen, *(rows[name].all if name in rows else [] for rows in (kept, aside)))
                for name, seen in self._seen.items()
            ),
            **left,
        }
        reason, status = self._command.end_reason(), None if has_hung else self._command.exit_status
        found = faults(EndOfRun(reason, status, output.TRACEBACK in printed, counts, self._command.num_starts))
        checkpoints = {update: at - self._begun for update, at in self._command.checkpoints.items()}
        end = EndOfKills(printed, ended_at, reason in judging.ENDED, checkpoints)
        facts = self._plan.facts()
        kills = [
            row_of(kill, after, end, {**facts, "number": number})
            for number, (kill, after) in enumerate(itertools.zip_longest(self._kills, self._kills[1:]))
        ]
        run = RunRow(
            **facts,
            num_kills=len(kills),
            num_starts=self._command.num_starts,
            minutes=ended_at / 60,
            end_reason=reason or "",
            exit_status=-1 if status is None else status,
            within_deadline="no" if has_hung else "yes",
            rows_doubled=counts["rows doubled"],
            rows_lost=counts["rows lost"],
            processes_left=left["processes left"],
            roles_left=left["roles left"],
            ports_left=left["ports left"],
            files_left=left["files left"],
            faults="; ".join(found),
            distributed=metadata.version("distributed"),
        )
        return kills, run, printed


def _left(mark: str, command: TypedCommand, hosts: StartedHosts | None, *, waits: bool) -> dict[str, int]:
    """What is left of a run that has ended, once it had time to leave and its cluster was closed."""
    grace, roles_left = LEASE_SECONDS + _GRACE_SECONDS if waits else 0.0, 0
    if hosts is not None:
        end = time.monotonic() + grace
        while (roles_left := scene.roles_on_cluster(hosts.port)) and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
        hosts.close()
    left = processes.end_all(mark, grace_seconds=grace)
    return {
        "processes left": left.num_processes,
        "roles left": roles_left,
        "ports left": left.num_ports,
        "files left": len(command.temporary_files()),
    }
