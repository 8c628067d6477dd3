"""The jobs of a multirun as runs, without starting any: what `-m ... plan=true` lists.

Not here: what each needs and how long it takes (`pipeline.experiments.sweeps.plan`), running them (`dask_jobs`).
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.config.choices import all_jobs, of_sweep_file, read_choices, text_of
from pipeline.config.composition import LAUNCHER, SWEEPER, Files
from pipeline.config.overrides import check_case, typed_words
from pipeline.config.run_config import RunConfig
from pipeline.errors import ConfigError


class SweepJob(NamedTuple):
    """One of them, its number the place in the list."""

    overrides: tuple[str, ...]
    """As Hydra would give them to the job, but for those about Hydra itself."""
    run: RunConfig


def jobs_to_plan(arguments: Sequence[str]) -> list[SweepJob] | None:
    """The jobs of a command line without mistakes, in Hydra's order; None unless it is a multirun with plan=true.

    Raises ConfigError with all mistakes that show in combinations only, and for a sweeper that chooses jobs itself.
    """
    words = typed_words(arguments)
    if words is None or not words.multirun:
        return None
    files = Files(words.own)
    parsed, _ = read_choices(words.overrides, files, multirun=True)
    if not any(choices[0].key_or_group == "plan" and choices[0].value() is True for choices in parsed):
        return None
    of_file, _ = of_sweep_file(parsed, files, words.overrides)
    if (sweeper := files.sweeper(words.overrides)) is not None:
        raise ConfigError(
            [
                f"plan=true: {SWEEPER}={sweeper} chooses each job when others have ended: plan one run, without "
                f"-m, {SWEEPER}, {LAUNCHER} and intervals"
            ]
        )
    compose_once = functools.cache(files.compose_tree)
    jobs: list[SweepJob] = []
    found: list[str] = []
    for case in all_jobs(parsed, of_file):
        mistakes, run = check_case(case, files, compose_once)
        found += mistakes
        if run is not None:
            jobs.append(SweepJob(tuple(map(text_of, case)), run))
    if found:
        raise ConfigError(list(dict.fromkeys(found)))
    return jobs
