"""Results of other tools, read from the files that they write or publish, as one tidy DataFrame.

    sb3:<folder>        Stable-Baselines3: every folder with files *monitor.csv, at or below it, is one run
    dopamine:<path>     Dopamine's published curves: <game>.json, or a folder of them
    dqn_zoo:<path>      DQN Zoo's published tables: <agent>.csv, or a folder of them, or of its single runs
    nnabla_rl:<folder>  nnabla-rl: every evaluation_result_scalar.tsv at or below it is one run

None of these files says how its games were played, so that none of their scores may stand among ours.
Not here: what the files look like (`pipeline.results.import_readers`), what the report shows of them
(`pipeline.results.import_section`).
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pipeline.errors import PipelineError
from pipeline.results.import_dopamine import read_dopamine
from pipeline.results.import_readers import COLUMNS, Readable, Reader, read_dqn_zoo, read_nnabla_rl, read_sb3


class _Tool(NamedTuple):
    read: Reader
    name: str
    """As in a caption."""
    played: str
    """How its games are played as far as the tool's own settings say, in words."""


TOOLS: Mapping[str, _Tool] = {
    # stable_baselines3/common/monitor.py: whatever environment it is put around.
    "sb3": _Tool(read_sb3, "Stable-Baselines3", "training games, protocol unknown"),
    # baselines/atari/README.md and dopamine/agents/dqn/configs/dqn.gin.
    "dopamine": _Tool(
        read_dopamine, "Dopamine", "training games; protocol not in the file, by default sticky actions 0.25"
    ),
    # README.md and dqn_zoo/dqn/run_atari.py.
    "dqn_zoo": _Tool(
        read_dqn_zoo,
        "DQN Zoo",
        "evaluation games; protocol not in the file, by default up to 30 no-ops and 30 minutes",
    ),
    # reproductions/algorithms/atari and nnabla_rl/environments/wrappers/atari.py.
    "nnabla_rl": _Tool(read_nnabla_rl, "nnabla-rl", "evaluation games; protocol not in the file, by default no-ops"),
}
"""Word of the command line -> the tool."""


class Import(NamedTuple):
    """One wish to import."""

    tool: str
    """Of TOOLS."""
    path: Path


class Imported(NamedTuple):
    """What was read."""

    points: pd.DataFrame
    """`tool` (of TOOLS) and COLUMNS; one row per game played, or per mean that a file holds, in order of frames."""
    problems: tuple[str, ...]
    """What was missing or unreadable; one line each, beginning with the path."""


NOTHING = Imported(pd.DataFrame(columns=["tool", *COLUMNS]), ())


def parse_import(word: str) -> Import:
    """`sb3:logs/a2c` as an Import. Raises ValueError with what is wrong, in a sentence."""
    tool, colon, path = word.partition(":")
    if not colon or tool not in TOOLS or not path:
        raise ValueError(f"{word!r} is no import; write {' or '.join(f'{known}:<path>' for known in TOOLS)}")
    if not os.path.exists(path):
        raise ValueError(f"{word}: there is no {path}")
    return Import(tool, Path(path))


def is_import(word: str) -> bool:
    """Whether a word is an import that can be read."""
    tool, _, path = word.partition(":")
    return tool in TOOLS and path != "" and os.path.exists(path)


def load_imports(wanted: Iterable[Import]) -> Imported:
    """Everything that can be read; a file or folder that cannot is named in `problems` and skipped."""
    frames, problems = [], []
    sources: dict[tuple[str, ...], Path] = {}
    for tool, path in dict.fromkeys(wanted):
        found, unreadable = _found(TOOLS[tool].read, path)
        problems += unreadable
        for file, read in found:
            try:
                read_points, remarks = read()
                points = read_points.assign(tool=tool)
            except (PipelineError, OSError, ValueError) as error:  # of a file that is no text, or holds no numbers
                problems.append(f"{file}: skipped: {error}")
                continue
            names = points[["tool", "agent", "game", "run"]].drop_duplicates().itertuples(index=False, name=None)
            runs = {tuple(map(str, name)): file for name in names}
            if twice := sorted(runs.keys() & sources.keys()):
                of_agent = " ".join(twice[0][1:])
                problems.append(f"{file}: skipped: {of_agent} is in {sources[twice[0]]}; import folders of other names")
                continue
            sources |= runs
            problems += remarks
            frames.append(points)
        if not found and not unreadable:
            problems.append(f"{path}: no files of {TOOLS[tool].name} are there")
    kept = [frame for frame in frames if len(frame)]
    if not kept:
        return NOTHING._replace(problems=tuple(problems))
    return Imported(pd.concat(kept, ignore_index=True)[["tool", *COLUMNS]], tuple(problems))


def _found(reader: Reader, path: Path) -> tuple[list[Readable], list[str]]:
    """What a reader finds at and below a path, and which folders it may not look into: those are left out alone."""
    unreadable: list[OSError] = []
    found: list[Readable] = []
    try:
        found += reader(path, unreadable.append)
    except OSError as error:
        unreadable.append(error)
    return found, [f"{error.filename or path}: skipped: it cannot be read: {error.strerror}" for error in unreadable]
