"""What a run has rows of, role by role: a tool that goes on takes what it holds beyond them for a time that is undone.

Not here: what is done about it (`pipeline.experiments.curves.tensorboard`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import RunFolderError


class RowsOfRole(NamedTuple):
    """Of one role."""

    frames: list[int]
    games: list[tuple[int, float]]
    """Frames and score, in order of frames."""


def rows_of_roles(folder: Path) -> Mapping[str, RowsOfRole] | None:
    """By role, of what is in the files of the run in `folder` now; None where there are none."""
    # pandas, for runs that go on alone
    from pipeline.results.load import load_run

    try:
        loaded = load_run(folder)
    except (RunFolderError, OSError):
        return None
    found: dict[str, RowsOfRole] = {}
    for table in (loaded.episodes, loaded.updates, loaded.actor_critic_updates):
        for role, rows in table.sort_values("total_frames", kind="stable").groupby("role"):
            of_role = found.setdefault(str(role), RowsOfRole([], []))
            of_role.frames.extend(map(int, rows["total_frames"]))
            if table is loaded.episodes:
                of_role.games.extend(zip(of_role.frames, map(float, rows["score"]), strict=True))
    return found
