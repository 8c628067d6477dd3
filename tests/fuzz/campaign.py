"""A campaign: every kind of file, every damage, so many times each, and what came of it.

Not here: `make fuzz` (`tests.fuzz.__main__`).
"""

import shutil
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dask_jobs.ledger import LedgerError
from pipeline.errors import PipelineError
from tests.fuzz.damage import ARRAYS, BYTES, OTHER_VALUES, UNPICKLED
from tests.fuzz.files import KINDS

SENTENCE, READ, FAULT = "sentence", "read", "fault"
_LONGEST_SENTENCE = 1_000
"""Characters, the path not counted."""


class Outcome(NamedTuple):
    """What came of one damaged file."""

    kind: str
    damage: str
    seed: int
    result: str
    """SENTENCE, READ (the damage is in nothing that counts, or is another sound file) or FAULT."""
    text: str
    """The sentence, or what is wrong."""


def campaign(folder: Path, num_rounds: int, seed: int = 0) -> Iterator[Outcome]:
    """`num_rounds` files of each kind for each damage, in `folder`, which is emptied of each kind's files."""
    for kind_name, kind in KINDS.items():
        home = folder / kind_name.replace(" ", "_")
        home.mkdir(parents=True)
        path = kind.make(home)
        sound = path.read_bytes()
        files = {file: file.read_bytes() for file in home.rglob("*") if file.is_file()}
        wanted = kind.read(path)
        for damage_name, damage in {**BYTES, **(ARRAYS if kind.is_archive else {})}.items():
            for number in range(num_rounds):
                damaged = damage(sound, np.random.default_rng([seed, number, len(damage_name)]))
                shutil.rmtree(home)
                for file, data in files.items():
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(data)
                path.write_bytes(damaged)
                may_differ = kind.takes_any_values and damage_name == OTHER_VALUES
                result, text = _outcome(kind_name, path, damaged, wanted, may_differ=may_differ)
                yield Outcome(kind_name, damage_name, number, result, text)
        shutil.rmtree(home)


def _outcome(kind_name: str, path: Path, damaged: bytes, wanted: object, *, may_differ: bool) -> tuple[str, str]:
    kind = KINDS[kind_name]
    try:
        read = kind.read(path)
        result, text = READ, ""
        if kind.is_archive and read != wanted and not may_differ:
            result, text = FAULT, "it was read, as something else"
    except (PipelineError, LedgerError) as error:
        result, text = SENTENCE, str(error)
        if not (path.name in text or str(path.parent) in text) or len(text) - len(str(path)) > _LONGEST_SENTENCE:
            result, text = FAULT, f"no sentence that names the file: {text[:2_000]}"
    except Exception:
        result, text = FAULT, traceback.format_exc(limit=-4)
    if not kind.may_change and path.read_bytes() != damaged:
        result, text = FAULT, "reading has changed it"
    if UNPICKLED:
        UNPICKLED.clear()
        result, text = FAULT, "code of the file was run"
    return result, text


def table(counts: Counter[tuple[str, str]]) -> str:
    """A line for each kind: files tried, sentences, read, faults."""
    lines = [f"{'file':24}{'tried':>8}{'sentence':>10}{'read':>8}{'fault':>8}"]
    for kind in (*KINDS, "all"):
        of_kind = [
            sum(n for (k, r), n in counts.items() if kind in (k, "all") and r == result)
            for result in (SENTENCE, READ, FAULT)
        ]
        lines.append(f"{kind:24}{sum(of_kind):>8,}{of_kind[0]:>10,}{of_kind[1]:>8,}{of_kind[2]:>8,}")
    return "\n".join(lines)
