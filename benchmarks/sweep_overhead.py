"""What a sweep costs beside the same runs typed by hand, how soon its jobs play, and how busy it keeps the machine.

    by hand   `python -m pipeline.train game=A`, then B, one command after the other
    sweep     `python -m pipeline.train -m game=A,B hydra/launcher=dask`, which opens a cluster of its own

Both from the start of the first command to the end of the last, in turn, with final evaluations. Start-up is from the
moment a job is given to its host until its games are about to be reset, as its own messages tell: that of the first job
has the whole import in it, later ones find a process that has done it (`first_startup_seconds`, `startup_seconds`).
`busy_share` is that of all cores of the machine over the sweep, whoever kept them busy.
A round takes some twelve minutes on two cores. Not here: sweeps of jobs that run side by side (`make sweep-smoke`).
"""

import contextlib
import json
import logging
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

import psutil
from distributed import Client

from dask_jobs.progress import TOPIC
from measuring.provenance import report
from measuring.rounds import alternate, median_ratio, seconds

RUN = ("experiment=dba3c_quick", "budget.frames=1_400_000", "progress=none", "overwrite=true")
"""Three minutes on two cores, and the evaluation."""

_POLL_SECONDS = 0.05
_CLOSE_SECONDS = 5.0


def main(
    games: Sequence[str] = ("Breakout", "Boxing", "Freeway"), num_rounds: int = 1, overrides: Sequence[str] = RUN
) -> None:
    """Print one JSON line."""
    # A client whose scheduler has gone, as it does at the end of a sweep, says so at length.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    busy_shares: list[float] = []
    startups: list[list[float]] = []
    with tempfile.TemporaryDirectory() as place:
        measured = alternate(
            {
                "by_hand": lambda: _by_hand(games, [*overrides, f"results_dir={place}/by_hand"]),
                "sweep": lambda: _sweep(games, [*overrides, f"results_dir={place}/sweep"], busy_shares, startups),
            },
            num_rounds,
            num_warmup_rounds=0,
        )
    report(
        "sweep_overhead",
        num_runs=len(games),
        num_rounds=num_rounds,
        overrides=" ".join(overrides),
        by_hand_seconds=statistics.median(measured["by_hand"]),
        sweep_seconds=statistics.median(measured["sweep"]),
        sweep_over_by_hand=median_ratio(measured["sweep"], measured["by_hand"]),
        first_startup_seconds=statistics.median(of_sweep[0] for of_sweep in startups),
        startup_seconds=statistics.median(startup for of_sweep in startups for startup in of_sweep[1:]),
        max_startup_seconds=max(startup for of_sweep in startups for startup in of_sweep[1:]),
        busy_share=statistics.median(busy_shares),
    )


def _by_hand(games: Sequence[str], overrides: Sequence[str]) -> float:
    commands = [_command(f"game={game}", *overrides) for game in games]
    return seconds(lambda: _carry_out(*commands))


def _sweep(
    games: Sequence[str], overrides: Sequence[str], busy_shares: list[float], startups: list[list[float]]
) -> float:
    """Seconds of the sweep; its share of busy cores and the start-ups of its jobs go to the end of the lists."""
    port = _free_port()
    # A ledger of this sweep alone: one that is there would answer for its jobs.
    with tempfile.TemporaryDirectory() as folder:
        command = _command(
            "-m",
            f"game={','.join(games)}",
            *overrides,
            "hydra/launcher=dask",
            # One job after the other, as by hand, however many cores there are.
            "hydra.launcher.threads_per_host=2",
            f"hydra.launcher.dashboard_address=127.0.0.1:{port}",
            f"hydra.sweep.dir={folder}",
        )
        watch = _StartupWatch(port)
        busy, all_together = _cpu_seconds()
        wall = seconds(partial(_carry_out, command))
        busy_after, all_after = _cpu_seconds()
    busy_shares.append((busy_after - busy) / (all_after - all_together))
    startups.append(watch.startups())
    return wall


class _StartupWatch:
    """Listens to the messages of a sweep, from when its scheduler answers until that is gone."""

    def __init__(self, port: int) -> None:
        self._given: dict[int, float] = {}
        """When a job was given to its host, in the scheduler's time."""
        self._began: dict[int, list[float]] = defaultdict(list)
        """When it began to play, as each of its messages has it."""
        self._client: Client | None = None
        threading.Thread(target=self._join, args=(port,), daemon=True).start()

    def startups(self) -> list[float]:
        """Seconds from being given to a host until the games are reset, of each job in order."""
        if self._client is not None:
            # It may still be looking for the scheduler, which is gone.
            with contextlib.suppress(TimeoutError):
                self._client.close(timeout=_CLOSE_SECONDS)
        # A message is some time on its way, so the least is nearest to the truth.
        return [min(self._began[job]) - given for job, given in sorted(self._given.items())]

    def _join(self, port: int) -> None:
        address = None
        while address is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/identity.json") as answer:
                    address = json.load(answer)["address"]
            except OSError:
                time.sleep(_POLL_SECONDS)
        self._client = Client(address, set_as_default=False)
        self._client.subscribe_topic(TOPIC, self._hear)

    def _hear(self, event: tuple[float, dict[str, object]]) -> None:
        stamp, message = event
        job, details = message.get("job"), message.get("details")
        if not isinstance(job, int):
            return
        if message.get("status") == "running":
            self._given[job] = stamp
        elif isinstance(details, dict) and details.get("wall_seconds"):
            self._began[job].append(stamp - float(details["wall_seconds"]))


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "pipeline.train", *words]


def _carry_out(*commands: Sequence[str]) -> None:
    """One after the other."""
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _cpu_seconds() -> tuple[float, float]:
    """Seconds of all cores since the machine started: busy, and all."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # The kernel counts the time of guests twice.
    return sum(times) - idle - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0), sum(times)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
