"""Runs of real processes whose processes are killed at random: `make chaos ARGS="--kills 200 --seed 0"`.

Each run is `python -m pipeline.train ...` as somebody types it, on a small network, of one of the kinds of
`studies.chaos.cases`, in a temporary folder. Of its hosts, nannies, scheduler and coordinator one after the other is
killed, or made to stand still for some seconds. When it ends without its result, the same command is typed with
resume=true; behind its last kill it may come to its end. A row a kill goes into results/chaos/kills.csv and a row a run
into runs.csv, once the run is over; typed again, the campaign goes on with the run that comes next. What a run has
printed is kept in outputs/chaos/. The exit status is 1 if anything is wrong with any run of the seed, or two in a row
ended before their first kill, where the campaign ends.
Some three minutes a run of five kills. `--slurm` has the hosts in jobs of a Slurm that is there, as that of `python -m
tests.cluster.slurm_site`, and wants a seed of its own.
Not here: ssh, and what is listed in `studies.chaos`.
"""

import argparse
import logging
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from dask_jobs.quiet import LEVELS
from pipeline.config.overrides import compose
from pipeline.experiments.plan import make_plan
from studies.arguments import refuse_published
from studies.chaos.cases import HERE, ON_SLURM, PROCESSES, SLURM, case_of, words
from studies.chaos.rows import KillRow, RunRow, kill_rows, run_rows
from studies.chaos.watched import RunPlan, WatchedRun

OUTPUT = Path("results/chaos")
_MOST_IN_VAIN = 2
"""Runs in a row of which nothing was killed: those that end before their first row would go on so without end."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until there are so many kills."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="of this seed in all, those that are there counted")
    parser.add_argument("--seed", type=int, default=0, help="of what is killed when")
    parser.add_argument("--slurm", action="store_true", help="on Slurm alone, and not on any other cluster")
    parser.add_argument("--kills-per-run", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=1.0, help="of training in each run")
    parser.add_argument("--deadline", type=float, default=300.0, help="seconds for a new row or an end after a kill")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="where the rows go")
    parser.add_argument("--printed", type=Path, default=Path("outputs/chaos"), help="where the output of runs goes")
    chosen = parser.parse_args(arguments)
    other = {
        name: getattr(chosen, name) != parser.get_default(name) for name in ("kills_per_run", "minutes", "deadline")
    }
    refuse_published("--output", chosen.output, OUTPUT, **other)
    # Of schedulers that die: this campaign is their client for moments.
    for name, level in LEVELS.items():
        logging.getLogger(name).setLevel(level)
    kills, runs = kill_rows(chosen.output), run_rows(chosen.output)
    _check_clusters(chosen, runs.frame())
    run, in_vain = 0, 0
    while (num_left := chosen.kills - int((kills.frame()["seed"] == chosen.seed).sum())) > 0:
        if in_vain == _MOST_IN_VAIN:
            print(
                f"{in_vain} runs in a row ended before anything of them was killed, and so would all that come: see "
                f"{_printed(chosen, run)}",
                file=sys.stderr,
            )
            break
        while runs.has(chosen.seed, run):
            run += 1
        of_kills, of_run = _carry_out(chosen, run, num_left)
        in_vain = 0 if of_kills else in_vain + 1
        # A campaign that is stopped between the two writes its kills once all the same.
        kills.append(*(row for row in of_kills if not kills.has(row.seed, row.run, row.number)))
        runs.append(of_run)
    found = runs.frame()
    wrong = found[(found["seed"] == chosen.seed) & found["faults"].notna()]
    for row in wrong.to_dict("records"):
        print(f"run {row['run']}: {row['faults']}; see {_printed(chosen, row['run'])}", file=sys.stderr)
    return 1 if len(wrong) or in_vain == _MOST_IN_VAIN else 0


def _check_clusters(chosen: argparse.Namespace, runs: pd.DataFrame) -> None:
    """End the program where the runs of its seed are on other clusters."""
    clusters = sorted(set(runs.loc[runs["seed"] == chosen.seed, "cluster"]))
    if any((cluster == SLURM) != chosen.slurm for cluster in clusters):
        raise SystemExit(
            f"the runs of seed {chosen.seed} in {chosen.output} are on {', '.join(clusters)}, and those asked for are "
            f"{'' if chosen.slurm else 'not '}on Slurm: nothing was made. Name a --seed of their own"
        )


def _carry_out(chosen: argparse.Namespace, run: int, num_left: int) -> tuple[list[KillRow], RunRow]:
    """The rows of one run, whose output is kept."""
    plan = _plan(chosen, run, min(num_left, chosen.kills_per_run))
    print(f"run {run}: {' '.join(plan.words)} cluster={plan.case.cluster}", flush=True)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        of_kills, of_run, printed = WatchedRun(plan, Path(folder), partial(print, "   ", flush=True)).carry_out()
    chosen.printed.mkdir(parents=True, exist_ok=True)
    _printed(chosen, run).write_text(printed, encoding="utf-8")
    print(f"    {of_run.minutes:.1f} minutes, {of_run.end_reason}: {of_run.faults or 'nothing is wrong'}", flush=True)
    return of_kills, of_run


def _printed(chosen: argparse.Namespace, run: int) -> Path:
    """Where the output of a run is kept."""
    return Path(chosen.printed, f"{chosen.seed}-{run}.txt")


def _plan(chosen: argparse.Namespace, run: int, num_kills: int) -> RunPlan:
    case = case_of(run, ON_SLURM if chosen.slurm else HERE)
    typed = words(case, chosen.seed * 1000 + run, chosen.minutes)
    # Who starts hosts by hand has read in the plan how many.
    cluster = SLURM if chosen.slurm else PROCESSES
    num_hosts = sum(make_plan(compose([*typed, f"cluster={cluster}"])).num_hosts.values())
    return RunPlan(chosen.seed, run, case, typed, num_hosts, num_kills, chosen.deadline)


if __name__ == "__main__":
    sys.exit(main())
