"""What one slow worker costs DBA3C with 0, 1, 2 and 4 backup workers: `python -m studies dba3c.stragglers`.

Eight real workers in threads of one process, which share the cores of this machine: where nobody straggles, updates
with backup workers take as long and are of fewer gradients, since the late ones were computed on the same cores. They
stay eight: with b backup workers an update is the mean of the first 8 - b gradients (as Chen et al. 2016 compare them).
While a straggler sleeps the others have its share of the cores, which flatters the lines with one: compare the numbers
of backup workers within a line. The straggler, the last worker, sleeps before each of its gradients:

    none          it does not
    constant      four times the time of one update without stragglers and backup workers, which is measured first
    exponential   around the same mean

A row a run goes into results/dba3c/stragglers.csv, and runs that are there are not made again; at the end
docs/figures/dba3c_stragglers.png. 3 delays x 4 numbers x 3 rounds, 36 runs of a minute and a quarter, longer
for who waits for the straggler: 45 minutes or more.
Not here: more workers (`studies.dba3c.simulation`).
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from measuring.markdown import markdown, median_cell
from measuring.rounds import shuffled
from measuring.worker_speed import budget_seconds, run, speed
from pipeline.config.overrides import compose
from pipeline.results.formats import cell
from pipeline.results.style import save_figure
from pipeline.roles.straggler import DISTRIBUTIONS
from studies.arguments import FIGURES, on_top, refuse_published_figures
from studies.dba3c.figures import stragglers_figure
from studies.dba3c.settings import GAME, NETWORKS, OUTPUT, QUICK, precision_of
from studies.row_file import RowFile

NONE = "none"
NUM_STARTED, DELAY_UPDATES = 8, 4.0
"""Workers and backup workers of a run, and the mean delay of a straggler in healthy updates."""
TINY = (*NETWORKS["nature_grey"], "network.hidden_units=16", "topology.num_lanes=2", "algorithm.batch_size=10")
"""A worker whose step is quick; nobody looks at what it learns."""

_QUANTITIES = (
    ("ms per update", "seconds_per_update", 1e3, 1),
    ("data points per second", "data_points_per_second", 1.0, 0),
    ("late gradients, %", "late_share", 1e2, 1),
)
"""Of the table: in words, column, factor, decimals."""


class Delay(NamedTuple):
    """Of a straggler, in the mean."""

    seconds: float
    update_seconds: float
    """Of an update that waits for it; 0.0 where none does."""


NO_DELAY = Delay(0.0, 0.0)


def delay_of(
    healthy: "pd.Series[float]", num_updates: float, before: "pd.Series[float]", *, is_waited_for: bool
) -> Delay:
    """So many healthy updates long, or as long as `before`, the delays of the runs so far: all rows have one.

    `healthy`: seconds of an update, of each run in which nobody straggles.
    """
    update = float(healthy.median())
    told = before[before > 0]
    delay = num_updates * update if told.empty else float(told.iloc[0])
    return Delay(delay, update + delay if is_waited_for else 0.0)


@dataclass(frozen=True)
class StragglersRow:
    """One run."""

    distribution: str
    """Of the straggler's delay: "none", "constant" or "exponential"."""
    num_backup_workers: int
    round: int
    game: str
    num_workers: int
    """N, so many gradients make an update."""
    mean_delay_seconds: float
    seconds_per_update: float
    data_points_per_second: float
    late_share: float
    """Of all gradients."""
    waited_share: float
    """Of the first worker's time, which never straggles."""


def main(
    game: str = GAME,
    num_rounds: int = 3,
    run_seconds: float = 60.0,
    num_started: int = NUM_STARTED,
    backup_counts: Sequence[int] = (0, 1, 2, 4),
    delay_updates: float = DELAY_UPDATES,
    overrides: Sequence[str] = (),
    output: Path = OUTPUT,
    figures: Path = FIGURES,
) -> None:
    """Measure what has no row yet, then draw. `delay_updates` is the mean delay in healthy updates."""
    more = on_top(
        overrides,
        game=(game, GAME),
        num_started=(num_started, NUM_STARTED),
        delay_updates=(delay_updates, DELAY_UPDATES),
    )
    refuse_published_figures("figures", figures, output, OUTPUT, settings=bool(more))
    rows = stragglers_rows(output).made_with(more, precision_of(overrides))
    with tempfile.TemporaryDirectory() as results_dir:
        settings = [*QUICK, *TINY, "cluster=threads", f"game={game}", f"results_dir={results_dir}"]
        settings += overrides
        # What says how long a delay is comes first, then all in turn.
        healthy_first = [(round_, NONE, 0) for round_ in range(num_rounds)]
        in_turn = [
            (round_, *case)
            for round_ in range(num_rounds)
            for case in shuffled(product((NONE, *DISTRIBUTIONS), backup_counts), round_)
        ]
        for round_, distribution, num_backup in (*healthy_first, *in_turn):
            if rows.has(distribution, num_backup, round_):
                continue
            delay = NO_DELAY
            if distribution != NONE:
                done = rows.frame()
                healthy = done[(done["distribution"] == NONE) & (done["num_backup_workers"] == 0)]
                delay = delay_of(
                    healthy["seconds_per_update"],
                    delay_updates,
                    done.loc[done["distribution"] == distribution, "mean_delay_seconds"],
                    is_waited_for=num_backup == 0,
                )
            words = [budget_seconds(run_seconds, delay.update_seconds), *settings]
            rows.append(_measure(words, num_started - num_backup, num_backup, distribution, delay.seconds, round_))
    save_figure(stragglers_figure(rows.frame()), figures / "dba3c_stragglers.png")


def _measure(
    settings: list[str], num_workers: int, num_backup: int, distribution: str, delay: float, round_: int
) -> StragglersRow:
    own = [f"topology.num_workers={num_workers}", f"topology.num_backup_workers={num_backup}"]
    if distribution != NONE:
        own += [f"topology.stragglers=[[{num_workers + num_backup - 1},{distribution},{delay:.6f}]]"]
    config = compose([*settings, *own])
    measured = speed(config, run(config))
    return StragglersRow(
        distribution,
        num_backup,
        round_,
        config.game,
        num_workers,
        delay,
        measured.seconds_per_update,
        measured.data_points_per_second,
        measured.late_share,
        measured.waited_share,
    )


def stragglers_rows(folder: Path) -> RowFile[StragglersRow]:
    """The runs that are in `folder`."""
    settings = ("distribution", "num_backup_workers", "round")
    return RowFile(folder / "stragglers.csv", StragglersRow, settings, one_processor_within=())


def stragglers_table(runs: pd.DataFrame) -> str:
    """Three lines for each kind of delay, a column for each number of backup workers; StragglersRows."""
    rows = []
    for distribution, alike in runs.groupby("distribution", sort=False):
        # All delays of a kind have one mean.
        delay = alike["mean_delay_seconds"].iloc[0]
        name = "none" if delay == 0 else f"one, {distribution}, {cell(1e3 * delay, 0)} ms"
        for quantity, column, factor, decimals in _QUANTITIES:
            cells = {
                f"b = {count}": median_cell(factor * same[column], decimals)
                for count, same in alike.groupby("num_backup_workers")
            }
            rows.append({"straggler": name, "": quantity, **cells})
    return markdown(rows)


if __name__ == "__main__":
    main()
