"""Dopamine's published curves: `breakout.json`, a list of {"Agent": "DQN", "Iteration": 0, "Value": 1.57}.

Values are mean scores of an iteration's training games. There are two orders:

    breakout.json         run after run, each with all iterations from 0 on
    breakout_Impala.json  iteration after iteration, each with a value of every run; behind the game stands the network

In the second the n-th value of each iteration is taken for the n-th run's. Of an iteration that lacks one nobody can
tell whose it is, and the whole iteration is left out.
Not here: other tools (`pipeline.results.import_readers`), bad files (`pipeline.results.imports`).
"""

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pipeline.checked_files import LARGEST_COUNT
from pipeline.errors import RunFolderError
from pipeline.games import game_named
from pipeline.results.import_readers import MEANS, Points, Readable, Unreadable, known_game, points_of
from pipeline.results.import_tables import text_of

_FRAMES = 1_000_000
"""Of one iteration: 250,000 steps of 4 frames (`Runner.training_steps` of its configurations)."""


class _Record(NamedTuple):
    number: int
    """In the file, from 1 on."""
    agent: str
    iteration: int
    value: float
    """NaN where no game ended."""


def read_dopamine(path: Path, _: Unreadable) -> Iterator[Readable]:
    """The files at `path`, one or a folder of them, each with what reads it (`import_readers.Reader`)."""
    for file in [path] if path.is_file() else sorted(path.glob("*.json")):
        # A plot's description, which refers to the data.
        if not file.name.endswith(".vg.json"):
            yield file, partial(_read_file, file)


def _read_file(file: Path) -> Points:
    name, _, network = (file.stem, "", "") if game_named(file.stem) else file.stem.partition("_")
    game = known_game(name, file.name)
    try:
        listed = json.loads(text_of(file))
    except (ValueError, RecursionError) as error:
        raise RunFolderError(f"{file.name} is no JSON, or no whole one: {error}") from error
    if not isinstance(listed, list):
        raise RunFolderError(f"{file.name} is no list of objects with Agent, Iteration and Value")
    by_agent: dict[str, list[_Record]] = {}
    for number, values in enumerate(listed, 1):
        record = _record(file, number, values)
        by_agent.setdefault(record.agent, []).append(record)
    rows, remarks = [], []
    for agent, records in by_agent.items():
        runs, without = _runs_of(file, records)
        named = f"{agent} ({network})" if network else agent
        rows += [(named, str(run), (one.iteration + 1) * _FRAMES, one.value) for run, one in runs]
        if without:
            remarks.append(f"{file}: {agent}: {_left_out(without)}")
    read = pd.DataFrame(rows, columns=["agent", "run", "frames", "score"])
    return Points(
        points_of(read["agent"], game, read["run"], MEANS, read["frames"], read["score"]),
        tuple(remarks),
    )


def _record(file: Path, number: int, values: Any) -> _Record:
    try:
        agent, iteration, value = (values[name] for name in ("Agent", "Iteration", "Value"))
    except (TypeError, KeyError) as error:
        raise RunFolderError(f"{file.name}, record {number} is no object with Agent, Iteration and Value") from error
    value = math.nan if value is None else value
    is_sound = isinstance(agent, str) and type(iteration) is int and type(value) in (int, float)
    if not is_sound or not 0 <= iteration <= LARGEST_COUNT or abs(value) > LARGEST_COUNT:
        raise RunFolderError(
            f"{file.name}, record {number}: Agent {agent!r}, Iteration {iteration!r}, Value {value!r} are no text, "
            "whole number and number"
        )
    return _Record(number, agent, iteration, float(value))


def _runs_of(file: Path, records: Sequence[_Record]) -> tuple[list[tuple[int, _Record]], list[int]]:
    """Each record of an agent with its run, from 1 on; and the iterations that are left out.

    Raises RunFolderError with the record that fits neither order.
    """
    iterations = [record.iteration for record in records]
    takes_turns = iterations == sorted(iterations) and len(set(iterations)) < len(iterations)
    before = -1
    for record in records:
        begins_again = record.iteration == (before if takes_turns else 0)
        if record.iteration != before + 1 and not begins_again:
            follows = f"iteration {before}" if before >= 0 else "nothing"
            raise RunFolderError(
                f"{file.name}, record {record.number}: iteration {record.iteration} of {record.agent} follows {follows}"
                ": records are missing, or of several runs in no order"
            )
        before = record.iteration
    if not takes_turns:
        runs = itertools.accumulate(int(iteration == 0) for iteration in iterations)
        return list(zip(runs, records, strict=True)), []
    num_values = Counter(iterations)
    num_runs = max(num_values.values())
    without = [iteration for iteration, number in num_values.items() if number < num_runs]
    numbers = itertools.cycle(range(1, num_runs + 1))
    kept = [record for record in records if num_values[record.iteration] == num_runs]
    return list(zip(numbers, kept, strict=False)), without


def _left_out(without: Sequence[int]) -> str:
    first = f"iteration {without[0]}" + (f" and {len(without) - 1} more" if len(without) > 1 else "")
    lacks = (
        "lack values of some runs, and nobody can tell of which: they are"
        if len(without) > 1
        else ("lacks values of some runs, and nobody can tell of which: it is")
    )
    return f"{first} {lacks} left out"
