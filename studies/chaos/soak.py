"""A run at full speed for an hour, and the memory, threads, files and sockets that it holds meanwhile.

`experiment=gorila` on Pong with two bundles and two shards in processes of their own, with a replay that is full after
the first minutes, everything saved every two minutes. Each 10 s the command and all that it has started are counted
together, as the operating system has them; memory is their proportional set size, in which a page that two share counts
half for each. A row a look goes to `results/chaos/soak.csv`, and a figure to docs. What grows is held against its own
middle: the mean of the last quarter beside that of the second one. `python -m studies chaos.soak`, some 62 minutes, on
cores that have nothing else to do.
Not here: what a run is planned to take (`pipeline.experiments.plan`).
"""

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import pandas as pd
import psutil
from matplotlib.figure import Figure

from pipeline.results.style import COLOURS, STYLE, save_figure
from studies.arguments import FIGURES, is_other, refuse_published
from studies.row_file import RowFile

WORDS = (
    "experiment=gorila",
    "game=Pong",
    "cluster=processes",
    "topology.shards=apart",
    "replay.capacity=20_000",
    "replay.min_transitions=5_000",
    # AdaGrad, from 500 transitions on, made the network blind within six minutes.
    "optimizer=adam",
    "checkpoint.replay=true",
    "checkpoint.every_minutes=2",
    "training_evaluation.every_frames=null",
    "evaluation=smoke",
    "budget.frames=null",
    "progress=none",
)
FAILED = "soak.failed.csv"
"""Rows of a run that failed."""
OUTPUT = Path("results/chaos")
FIGURE = FIGURES / "soak.png"
_LOOK_SECONDS = 10.0
HELD = {"memory_mb": "memory (MB)", "num_threads": "threads", "num_files": "open files", "num_sockets": "sockets"}
"""Column -> what it is."""


@dataclass(frozen=True)
class SoakRow:
    """One look at all processes of the run."""

    seconds: float
    """Since the command was started."""
    num_processes: int
    memory_mb: float
    num_threads: int
    num_files: int
    num_sockets: int
    num_frames: int
    """That the run has made by then, by its rows."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, look, draw; what was there before stays where the run fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="of training")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where the rows go, anew")
    parser.add_argument("--figure", type=Path, default=FIGURE, help="what is drawn")
    parser.add_argument("words", nargs="*", help="more settings of the run")
    chosen = parser.parse_args(arguments)
    other = {"minutes": chosen.minutes != parser.get_default("minutes"), "words": bool(chosen.words)}
    refuse_published("--output", chosen.output, OUTPUT, **other)
    refuse_published("--figure", chosen.figure, FIGURE, **other, output=is_other(chosen.output, OUTPUT))
    with tempfile.TemporaryDirectory() as folder:
        rows = soak_rows(Path(folder))
        words = [*WORDS, f"budget.minutes={chosen.minutes}", f"results_dir={folder}", *chosen.words]
        with subprocess.Popen([sys.executable, "-m", "pipeline.train", *words]) as command:
            for row in looks(command, Path(folder)):
                rows.append(row)
        if command.returncode == 0:
            save_figure(figure_of(rows.frame()), chosen.figure)
            chosen.output.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(folder) / "soak.csv", chosen.output)
        else:
            chosen.output.mkdir(parents=True, exist_ok=True)
            print(
                f"the run failed; what was seen is in {shutil.copy(Path(folder) / 'soak.csv', chosen.output / FAILED)}"
            )
    return command.returncode


def soak_rows(folder: Path) -> RowFile[SoakRow]:
    """What is in `folder`."""
    return RowFile(folder / "soak.csv", SoakRow, settings=("seconds",))


def looks(command: "subprocess.Popen[bytes]", results: Path, every_seconds: float = _LOOK_SECONDS) -> Iterator[SoakRow]:
    """Until it ends, from a tenth of a look on."""
    begun = time.monotonic()
    wait = every_seconds / 10
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            command.wait(wait)
            return
        wait = every_seconds
        yield _look(command.pid, time.monotonic() - begun, results)


def compared(looked: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Of each of HELD the mean of the second quarter of the time and of the last one; SoakRows."""
    quarter = pd.cut(looked["seconds"] / looked["seconds"].max(), [-1, 0.25, 0.5, 0.75, 1], labels=False)
    means = looked.groupby(quarter)[list(HELD)].mean()
    return {name: (float(means[name][1]), float(means[name][3])) for name in HELD}


@matplotlib.rc_context(STYLE)
def figure_of(looked: pd.DataFrame) -> Figure:
    """All of HELD over minutes, one below the other; SoakRows."""
    figure = Figure(figsize=(6.0, 5.0), layout="constrained")
    for axes, (name, words) in zip(figure.subplots(len(HELD), sharex=True), HELD.items(), strict=True):
        axes.plot(looked["seconds"] / 60, looked[name], color=COLOURS[0])
        axes.set_ylim(bottom=0)
        axes.set_ylabel(words)
    axes.set_xlabel("minutes since the command was typed")
    return figure


def _look(pid: int, seconds: float, results: Path) -> SoakRow:
    looked = [found for process in _members(pid) if (found := _held_by(process)) is not None]
    memory, threads, files, sockets = (sum(held[index] for held in looked) for index in range(4))
    return SoakRow(
        seconds=round(seconds, 1),
        num_processes=len(looked),
        memory_mb=round(memory / 1e6, 1),
        num_threads=int(threads),
        num_files=int(files),
        num_sockets=int(sockets),
        num_frames=_frames_in(results),
    )


def _held_by(process: psutil.Process) -> tuple[float, int, int, int] | None:
    """Bytes, threads, files, sockets; None: it has just ended."""
    try:
        sockets = len(process.net_connections("all"))
        memory: float = process.memory_full_info().pss
        return memory, process.num_threads(), process.num_fds() - sockets, sockets
    except psutil.Error:
        return None


def _members(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def _frames_in(results: Path) -> int:
    """Of the newest row of updates; 0 before there is one."""
    for path in results.rglob("updates.csv"):
        frames = pd.read_csv(path, usecols=["total_frames"])["total_frames"]
        return int(frames.max()) if len(frames) else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
