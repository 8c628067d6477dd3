"""`python -m benchmarks.peers`: agent steps per second of ours and of other libraries, training in turn on two cores.

    make bench-peers ARGS="--rounds 5 --out benchmarks/results/peers.jsonl"
    CLEANRL=/path/to/checkout make bench-peers ARGS="--only gorila cleanrl_dqn"

A JSON line for each contender and round, at the end their table. A library that does not install, crashes or hangs is a
line with its reason, and the rest goes on. A round of ten contenders takes 17 minutes with windows of a minute.
`--ordinary` gives all of them no more of the processor than AVX2. On a machine with many cores `--at-once 4` measures
four rounds at a time, each on cores of its own and each beginning with another contender.
Not here: who they are (`benchmarks.peers.contenders`), the document's table (`benchmarks.peers.table`).
"""

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.peers import environments, table
from benchmarks.peers.contenders import Contender, Shared, contenders
from benchmarks.peers.lanes import lanes
from benchmarks.peers.watch import Outcome, Start, Window, watch
from benchmarks.rows import CHECKOUT, Row
from measuring.processor import ORDINARY, processor
from measuring.provenance import Figure, as_line


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print what was found as it comes."""
    chosen = _parsed(arguments)
    # So that whoever is being measured is ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # A restricted processor is measured in float32: its rows say so.
    precision = "float32" if chosen.ordinary else chosen.precision
    shared = Shared(chosen.game, chosen.cores, precision, chosen.cleanrl)
    everybody = contenders(shared)
    if unknown := [name for name in chosen.only if name not in everybody]:
        raise SystemExit(f"there is no {', '.join(unknown)}; there are {', '.join(everybody)}")
    taking_part = {name: everybody[name] for name in everybody if name in (chosen.only or everybody)}
    cores = lanes(chosen.at_once, chosen.cores)
    benchmark = _Benchmark(chosen, shared, taking_part)
    with ThreadPoolExecutor(chosen.at_once) as pool:
        try:
            list(pool.map(benchmark.lane, range(chosen.at_once), cores))
        except BaseException:
            benchmark.stop.set()
            raise
    print(table.table(benchmark.rows), file=sys.stderr)


class _Benchmark:
    """One session: who takes part, and the rows that are there."""

    def __init__(self, chosen: argparse.Namespace, shared: Shared, taking_part: Mapping[str, Contender]) -> None:
        self.rows: list[Row] = []
        self.stop = threading.Event()
        """Set, each lane ends what it measures, and itself."""
        self._chosen = chosen
        self._shared = shared
        self._taking_part = taking_part
        self._session = datetime.now(UTC).isoformat(timespec="seconds")
        # Before anything is measured, since it takes cores.
        self._pythons = {name: _python(one, shared, chosen.environments) for name, one in taking_part.items()}
        self._writing = threading.Lock()
        """Held for a line, so that lanes write one after the other."""

    def lane(self, number: int, cores: Sequence[int]) -> None:
        """Every `at_once`-th round, on these cores."""
        for round_ in range(number, self._chosen.rounds, self._chosen.at_once):
            for name in rotated(tuple(self._taking_part), number):
                outcome = self._outcome(name, cores)
                if self.stop.is_set():
                    return
                self._keep(as_line("peers", session=self._session, round=round_, **self._row(name, outcome)))

    def _keep(self, line: str) -> None:
        with self._writing:
            self.rows.append(json.loads(line))
            print(line, flush=True)
            if self._chosen.out is not None:
                with self._chosen.out.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")

    def _outcome(self, name: str, cores: Sequence[int]) -> Outcome:
        with self._writing:
            print(f"{datetime.now():%H:%M:%S} {name}", file=sys.stderr, flush=True)
        contender, chosen, python = self._taking_part[name], self._chosen, self._pythons[name]
        if isinstance(python, environments.NotInstalled):
            return Outcome(None, f"not installed: {python}", 0, {})
        start = Start(
            command=[str(python), "-m", f"benchmarks.peers.drivers.{contender.driver}", *contender.words],
            variables=_variables(ordinary=chosen.ordinary),
            cores=cores[: contender.num_cores],
        )
        return watch(start, contender.num_roles, Window(chosen.warmup, chosen.seconds, chosen.start), self.stop)

    def _row(self, name: str, outcome: Outcome) -> Mapping[str, Figure]:
        contender, shared, chosen = self._taking_part[name], self._shared, self._chosen
        rates = outcome.rates
        settings = " ".join(word for word in contender.words if str(shared.cleanrl) not in word)
        return {
            "contender": name,
            "kind": contender.kind,
            "ours": contender.is_ours,
            "processor": processor(ordinary=chosen.ordinary, precision=shared.precision),
            "precision": shared.precision if contender.is_ours else "float32",
            "num_cores_used": contender.num_cores or shared.num_cores,
            "rounds_at_once": chosen.at_once,
            "settings": settings,
            "warmup_seconds": chosen.warmup,
            **({} if rates is None else rates._asdict()),
            **({} if rates is None else {"peak_rss_gb": outcome.peak_rss_bytes / 1e9}),
            "reason": outcome.reason,
            **outcome.facts,
        }


def rotated(names: Sequence[str], by: int) -> Sequence[str]:
    """The same names in the same order, beginning further on."""
    first = by % len(names)
    return [*names[first:], *names[:first]]


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0, help="of the window that is measured")
    parser.add_argument("--warmup", type=float, default=10.0, help="seconds between the first update and the window")
    parser.add_argument("--start", type=float, default=300.0, help="seconds that one may take until its first update")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="some of them")
    parser.add_argument("--game", default="Pong")
    parser.add_argument("--cores", type=int, default=2, help="for each round")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="rounds at a time, on cores of their own")
    parser.add_argument("--precision", default="float32", choices=("float32", "auto"), help="ours; theirs is float32")
    parser.add_argument("--ordinary", action="store_true", help="AVX2, whatever the processor can do")
    parser.add_argument("--out", type=Path, metavar="FILE", help="add the lines to this file")
    parser.add_argument("--environments", type=Path, default=CHECKOUT / ".venv-peers", help="where they are kept")
    checkout = os.environ.get("CLEANRL")
    parser.add_argument(
        "--cleanrl", type=Path, default=checkout and Path(checkout), help="a checkout of CleanRL, else $CLEANRL"
    )
    return parser.parse_args(arguments)


def _python(contender: Contender, shared: Shared, folder: Path) -> Path | environments.NotInstalled:
    try:
        return _installed(contender, shared, folder)
    except environments.NotInstalled as reason:
        return reason


def _installed(contender: Contender, shared: Shared, folder: Path) -> Path:
    if contender.is_ours:
        return Path(sys.executable)
    if contender.environment == "cleanrl":
        if shared.cleanrl is None:
            raise environments.NotInstalled("CLEANRL does not name a checkout of CleanRL")
        if not (shared.cleanrl / "cleanrl" / "dqn_atari.py").exists():
            raise environments.NotInstalled("the checkout that CLEANRL names has no cleanrl/dqn_atari.py")
    return environments.python_of(contender.environment, folder)


def _variables(*, ordinary: bool) -> Mapping[str, str]:
    # What our own run has set for its threads is not for others.
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    own = {"PYTHONPATH": str(CHECKOUT), "PYTHONUNBUFFERED": "1", "CUDA_VISIBLE_DEVICES": ""}
    return inherited | own | (ORDINARY if ordinary else {})


if __name__ == "__main__":
    main()
