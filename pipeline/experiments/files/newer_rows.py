"""What a run folder holds of a training that was lost, when the run goes back to a checkpoint.

    rows of roles       those that were written after the checkpoint
    evaluations         of parameters newer than it; their recordings, too. The version number of such parameters comes
                        again, and is then of others
    checkpoints         newer ones, which nobody could read
    stay                the random player, and the best parameters as long as their own checkpoint is kept

All of it is moved to `discarded/`. Lines that are no rows (cut short, damaged) go the same way.
Not here: a deterministic run, which makes the same rows again (`pipeline.experiments.files.exact`).
"""

from collections.abc import Mapping
from pathlib import Path

from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.row_lines import Values, lines_of, row_in, set_aside
from pipeline.rows import BEST, RANDOM, ROW_FILES, EvaluationRow
from pipeline.run_folders import recording_name
from pipeline.whole_file import whole_file

CHECKPOINTS = "checkpoints"
"""Name of the folder of checkpoints inside a run folder."""

RECORDINGS = "recordings"
"""Name of the folder of recorded evaluation games inside a run folder."""

DISCARDED = "discarded"
"""Name of the folder, inside a run's, of rows that were lost or replaced."""


def set_newer_aside(run: Path, wall_seconds: float, of_roles: Mapping[str, float]) -> int:
    """Move to `discarded/` what is newer than a checkpoint of this training time; returns how many lines.

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
            is_kept = row is not None and (
                float(row["wall_seconds"]) <= of_roles.get(row.get("role", ""), wall_seconds)
                or (EvaluationRow in row_types and _outlives_its_training(run, row))
            )
            (kept if is_kept else discarded).append(line)
            if row is not None and not is_kept and EvaluationRow in row_types:
                _set_recording_aside(run, row)
        if discarded:
            set_aside(run / DISCARDED / name, discarded)
            with whole_file(path) as file:
                file.writelines([header, *kept])
        num_discarded += len(discarded)
    return num_discarded


def set_newer_checkpoints_aside(run: Path, version: int) -> None:
    """Move checkpoints of newer versions than the one that is gone back to, which nobody could read, to `discarded/`.

    Else they would count as the newest for as long as the training takes to come there again.
    """
    for path in checkpoint.newer_than(run / CHECKPOINTS, version):
        aside = run / DISCARDED / CHECKPOINTS
        aside.mkdir(parents=True, exist_ok=True)
        path.replace(aside / path.name)


def _outlives_its_training(run: Path, evaluation: Values) -> bool:
    if evaluation["agent"] == BEST:
        return checkpoint.path_of(run / CHECKPOINTS / BEST, int(evaluation["version"])).exists()
    return evaluation["agent"] == RANDOM


def _set_recording_aside(run: Path, evaluation: Values) -> None:
    sampled = evaluation.get("sampled") == "True"
    name = recording_name(evaluation["protocol"], evaluation["agent"], int(evaluation["version"]), sampled=sampled)
    recording = run / RECORDINGS / name
    if recording.exists():
        aside = run / DISCARDED / RECORDINGS
        aside.mkdir(parents=True, exist_ok=True)
        recording.replace(aside / name)
