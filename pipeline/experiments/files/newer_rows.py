"""What a run folder holds of a training that was lost, when the run goes back to a checkpoint.

    rows of roles       those that were written after the checkpoint
    evaluations         of parameters newer than it, with their recordings: their version number comes again, and is
                        then of others. The random player's stay; the best parameters are played again
    checkpoints         newer ones, which could not be gone on from

All of it is moved to `discarded/`. Lines that are no rows (cut short, damaged) go the same way.
Not here: rows of a deterministic run, which makes the same ones again (`pipeline.experiments.files.exact`).
"""

import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path

from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.row_lines import Values, lines_of, row_in, set_aside
from pipeline.rows import RANDOM, ROW_FILES, EvaluationRow
from pipeline.run_folders import CHECKPOINTS, DISCARDED, RECORDINGS, recordings_of
from pipeline.whole_file import whole_file


def set_newer_aside(run: Path, version: int, wall_seconds: float, of_roles: Mapping[str, float]) -> int:
    """Move to `discarded/` what is newer than a checkpoint of this version and training time; returns how many lines.

    Of the roles in `of_roles` those rows count as newer that were written after its time there.
    """
    num_discarded = 0
    for name in dict.fromkeys(ROW_FILES.values()):
        path = run / name
        row_types = [row_type for row_type, of_type in ROW_FILES.items() if of_type == name]
        header, lines = lines_of(path)
        kept: list[bytes] = []
        discarded: list[bytes] = []
        for line in lines:
            row = row_in(line, row_types, header)
            if row is None:
                is_kept = False
            elif EvaluationRow in row_types:
                is_kept = row["agent"] == RANDOM or int(row["version"]) <= version
                if not is_kept:
                    _set_recording_aside(run, row)
            else:
                is_kept = float(row["wall_seconds"]) <= of_roles.get(row["role"], wall_seconds)
            (kept if is_kept else discarded).append(line)
        if discarded:
            set_aside(run / DISCARDED / name, discarded)
            with whole_file(path) as file:
                file.writelines([header, *kept])
        num_discarded += len(discarded)
    return num_discarded


def set_newer_checkpoints_aside(run: Path, version: int) -> None:
    """Move checkpoints of newer versions than the one that is gone back to, which were of no use, to `discarded/`.

    Else they would count as the newest for as long as the training takes to come there again.
    """
    for path in checkpoint.newer_than(run / CHECKPOINTS, version):
        move_aside(path, run / DISCARDED / CHECKPOINTS)


def move_aside(path: Path, folder: Path) -> None:
    """To this folder, under a name that is free there; from another disk, too, as of a linked folder."""
    folder.mkdir(parents=True, exist_ok=True)
    names = (f"{path.stem}{f'.{count}' if count else ''}{path.suffix}" for count in itertools.count())
    shutil.move(path, next(folder / name for name in names if not (folder / name).exists()))


def _set_recording_aside(run: Path, evaluation: Values) -> None:
    sampled = evaluation.get("sampled") == "True"
    found = recordings_of(run / RECORDINGS, evaluation["protocol"], evaluation["agent"], sampled=sampled)
    for recording, version in found.items():
        if version == int(evaluation["version"]):
            move_aside(recording, run / DISCARDED / RECORDINGS)
