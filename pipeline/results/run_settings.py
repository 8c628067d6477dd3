"""Settings in which runs of one experiment differ: its name does not change with them, so that a reader has to be told.

Not here: what settings mean (`pipeline.config.run_config`), budgets and commits (`pipeline.results.cautions`).
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from pipeline.checked_files import bytes_in, check_yaml
from pipeline.older_settings import in_settings_of_today
from pipeline.settings import flat, is_of_the_course

_WHICH_RUN = ("game", "seed")

_MOST_SETTINGS = 5
_MOST_RUNS = 3


def unlike_settings(runs: pd.DataFrame) -> list[str]:
    """A line per experiment of `LoadedRuns.runs` whose runs were given different settings, with the settings.

    Settings of an earlier version are compared as this one would have written them. One that some of the runs do not
    have all the same is of another version of pipeline: their commits say so already.
    """
    found = []
    for experiment, of_experiment in runs.groupby("experiment", sort=True):
        settings = {
            f"{run['game']}/{run['seed']}": read
            for run in of_experiment.to_dict("records")
            if (read := settings_in(Path(run["folder"])))
        }
        different = list(_different(settings))
        if different:
            more = len(different) - _MOST_SETTINGS
            found.append(
                f"{experiment}: runs with different settings under one name: {'; '.join(different[:_MOST_SETTINGS])}"
                + (f"; and {more} more" if more > 0 else "")
            )
    return found


def _different(settings: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for name in next(iter(settings.values()), {}):
        if name in _WHICH_RUN or is_of_the_course(name) or not all(name in of_run for of_run in settings.values()):
            continue
        runs_with: dict[str, list[str]] = {}
        for run, of_run in settings.items():
            runs_with.setdefault(str(of_run[name]), []).append(run)
        if len(runs_with) > 1:
            yield f"{name} {', '.join(f'{value} ({_listed(runs)})' for value, runs in runs_with.items())}"


def _listed(runs: Sequence[str]) -> str:
    return ", ".join(runs) if len(runs) <= _MOST_RUNS else f"{len(runs)} runs"


def settings_in(folder: Path) -> dict[str, Any]:
    """What `config.yaml` says: dotted name -> value; empty if it is missing or none of ours, which `load_run` says."""
    try:
        text = bytes_in(folder / "config.yaml").decode()
        check_yaml(text)
        read = yaml.load(text, yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return dict(flat(in_settings_of_today(read))) if isinstance(read, dict) else {}
