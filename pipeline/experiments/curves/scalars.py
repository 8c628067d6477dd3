"""Rows as points of curves, for tools that draw them: who, what, at how many frames, how much.

    EpisodeRow                          episodes/score, episodes/num_steps      of the role that played
    UpdateRow, ActorCriticUpdateRow     updates/<column>                        of the role that learned
    EvaluationRow                       evaluations/<protocol>/<agent>          mean score of all its games

Not here: the rows (`pipeline.rows`), the tools (`pipeline.experiments.curves.loggers`).
"""

import dataclasses
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pipeline.rows import PROTOCOL_FIELDS, ActorCriticUpdateRow, EpisodeRow, EvaluationRow, Row, UpdateRow

EVALUATIONS = "evaluations"
"""Source of the means of evaluations: no role's, since each is one number of the whole run."""

SCORE = "episodes/score"
"""Tag of the score of a training game."""

_POSITION = ("role", "total_frames", "wall_seconds")
"""Columns that say where a point is, and are none themselves."""


class Scalar(NamedTuple):
    """One point of one curve."""

    source: str
    """The role it is of, or EVALUATIONS."""
    tag: str
    """Name of the curve, e.g. "updates/mean_loss"."""
    value: float
    """Always finite."""
    frames: int
    """Emulator frames of the whole run, as far as its source knows; what curves are drawn against."""
    wall_seconds: float
    """Training time, since the run's first start."""


def scalars(rows: Sequence[Row]) -> list[Scalar]:
    """The points of `rows`, in their order, means of evaluations last.

    All games of an evaluation have to be among the same `rows`. A column that is NaN, such as what was not measured
    yet, gives no point.
    """
    points = [point for row in rows if not isinstance(row, EvaluationRow) for point in _of_role(row)]
    points += _of_evaluations(row for row in rows if isinstance(row, EvaluationRow))
    return [point for point in points if math.isfinite(point.value)]


def _of_role(row: EpisodeRow | UpdateRow | ActorCriticUpdateRow) -> Iterator[Scalar]:
    if isinstance(row, EpisodeRow):
        values: dict[str, float] = {SCORE: row.score, "episodes/num_steps": row.num_steps}
    else:
        columns = (field.name for field in dataclasses.fields(row) if field.name not in _POSITION)
        values = {f"updates/{name}": getattr(row, name) for name in columns}
    for tag, value in values.items():
        yield Scalar(row.role, tag, float(value), row.total_frames, row.wall_seconds)


def _of_evaluations(games: Iterable[EvaluationRow]) -> Iterator[Scalar]:
    played: dict[tuple[object, ...], list[EvaluationRow]] = {}
    settings: dict[tuple[str, str], list[tuple[object, ...]]] = {}
    for game in games:
        of_game = tuple(getattr(game, field) for field in PROTOCOL_FIELDS)
        if of_game not in (known := settings.setdefault((game.protocol, game.agent), [])):
            known.append(of_game)
        # Settings of a protocol can be changed on the command line: "noop_starts (2)" is played otherwise.
        number = known.index(of_game) + 1
        name = game.protocol if number == 1 else f"{game.protocol} ({number})"
        played.setdefault((f"evaluations/{name}/{game.agent}", game.version), []).append(game)
    for (tag, _), rows in played.items():
        mean = statistics.fmean(row.score for row in rows)
        yield Scalar(EVALUATIONS, str(tag), mean, rows[0].total_frames, rows[0].wall_seconds)
