"""Our scores beside published ones at the same frames: a table of budgets for each game, and one over all games.

    our evaluations -> our_points (a row per run and evaluation) -> budget_table (one game, a column per mark)
    run_scores      -> equal_frames_table (each of our entries against each published agent, over games)

Hardly any published score was played like ours: each row says how, and a difference is marked, never left out.
Not here: published scores without a budget (`pipeline.results.atari49`), the figure
(`pipeline.results.budget_figure`).
"""

import string
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pipeline.results.budgets import MARKS, Score, Yardstick, mark_of, yardsticks
from pipeline.results.formats import ReportTable, cell, interval_cell
from pipeline.results.protocols import NOOP_STARTS, differences
from pipeline.results.published import load_published
from pipeline.results.run_scores import BEST, LAST, RANDOM, TRAINING, UNEQUAL_FRAMES, entry_name
from pipeline.results.scores import normalised_score
from pipeline.rows import PROTOCOL_FIELDS

POINT_COLUMNS = ("game", "entry", "protocol", "differs", "seed", "frames", "hours", "score", *PROTOCOL_FIELDS)
"""Of `our_points`; `differs` is how the games were played otherwise than published scores under no-op starts, behind
the score stand all settings that they were played with."""


def our_points(evaluations: pd.DataFrame) -> pd.DataFrame:
    """One row per run, protocol and evaluation of its newest parameters, with POINT_COLUMNS: the mean of its games."""
    played = evaluations[evaluations["agent"].isin([TRAINING, LAST])]
    rows = []
    by = ["experiment", "game", "seed", "protocol", *PROTOCOL_FIELDS, "version"]
    for group, games in played.groupby(by, sort=True):
        keys: dict[str, Any] = dict(zip(by, group, strict=True))
        entry = entry_name(str(keys["experiment"]), LAST, is_sampled=bool(keys["sampled"]))
        differs = differences(keys, NOOP_STARTS)
        frames, hours = games["total_frames"].max(), games["wall_seconds"].min() / 3600
        settings = (keys[field] for field in PROTOCOL_FIELDS)
        of_run = keys["game"], entry, keys["protocol"], differs, keys["seed"]
        rows.append((*of_run, float(frames), hours, games["score"].mean(), *settings))
    return pd.DataFrame(rows, columns=list(POINT_COLUMNS))


def budget_table(points: pd.DataFrame, game: str) -> ReportTable | None:
    """Our entries and all published agents of one game, a column per mark; None where no run of ours came to a mark."""
    ours = _at_marks(points[points["game"] == game])
    if ours.empty:
        return None
    lines = [
        _Line(f"ours: {entry}", _how(str(protocol), str(differs)), _our_scores(of_entry), _our_seeds(of_entry))
        for (entry, protocol, differs), of_entry in ours.groupby(["entry", "protocol", "differs"], sort=True)
    ]
    lines += [
        _Line(one.agent, one.played, scores, dict.fromkeys(MARKS, one.num_seeds))
        for one in yardsticks()
        if (scores := _scores_of(one, game))
    ]
    marks = [mark for mark in MARKS if any(mark in line.scores for line in lines)]
    numbers = [
        {"game": game, "agent": line.agent, "played": line.played, "seeds": line.num_seeds[mark], "frames": mark}
        | line.scores[mark]._asdict()
        for line in lines
        for mark in marks
        if mark in line.scores
    ]
    letters = _letters(line.played for line in lines)
    text = [
        {"agent": line.agent, "played": letters[line.played]}
        | {millions(mark): _marked_cell(line, mark) for mark in marks}
        | {"seeds": str(line.most_seeds)}
        for line in lines
    ]
    notes = (
        *_legend(letters),
        "Score in points, the lowest and the highest seed in brackets. Published scores have their sources in "
        "results/published/README.md.",
        "Rows that were played otherwise may not be compared beyond their rough place.",
        *([_FEWER_SEEDS] if any(line.has_fewer(mark) for line in lines for mark in line.scores) else []),
    )
    title = f"{game} at equal frames"
    return ReportTable(
        f"budgets_{game}", title, pd.DataFrame(numbers).drop(columns="is_between"), pd.DataFrame(text), notes
    )


def equal_frames_table(scores: pd.DataFrame) -> ReportTable | None:
    """Each of our entries of `run_scores` against each published agent, over the games that both have at its frames.

    None where no run of ours has come to the first published mark, or every published agent lacks most of our games.
    """
    trained = scores[(scores["agent"] != RANDOM) & scores["game"].isin(load_published().index)]
    # The best parameters of a run were picked by looking at all of it: at their own age nobody knew that they are the
    # best, so they stand where their run does.
    trained = trained.assign(total_frames=trained["total_frames"].where(trained["agent"] != BEST, trained["reach"]))
    # Parameters that are younger have no place among older ones: the mean of both would be of neither.
    longest = trained.groupby(["entry", "protocol", "differs", "game"])["total_frames"].transform("max")
    as_long = trained[UNEQUAL_FRAMES * trained["total_frames"] >= longest]
    numbers = pd.DataFrame(_comparisons(as_long))
    if numbers.empty:
        return None
    letters = _letters(one.played for one in yardsticks())
    # The median of five games says nothing of 49.
    shown = numbers[2 * numbers["games"] >= numbers["our_games"]]
    if shown.empty:
        return None
    text = [
        {
            "ours": f"{row['agent']}{' *' if row['differs'] else ''}",
            "protocol": row["protocol"],
            "frames": millions(row["frames"]),
            "published": row["published"],
            "played": letters[row["played"]],
            "games": str(row["games"]),
            "our median, %": cell(row["median"], 1),
            "their median, %": cell(row["published_median"], 1),
            "above / within / below": _placed(row),
        }
        for row in shown.to_dict("records")
    ]
    notes = [
        *_legend({played: letters[played] for played in letters if (shown["played"] == played).any()}),
        "Medians of scores normalised by " + NOOP_STARTS.normalised_by + ", over the games that both have.",
        "Published agents that lack more than half of our games are in the CSV file alone.",
        "Above, within, below: games in which our mean lies above, in or below the range of the published seeds.",
    ]
    if (as_long["agent"] == BEST).any():
        notes.append("The best parameters of a run were picked from all of it, and stand at its frames.")
    if len(as_long) < len(trained):
        notes.append("Of a game's runs those count that have come as far as the longest.")
    if shown["differs"].ne("").any():
        notes.append("* ours was played otherwise than published scores under no-op starts as well.")
    if shown["is_between"].any():
        notes.append("Where our frames lie between two published marks, their score is on the straight line between.")
    return ReportTable("equal_frames", "At equal frames", numbers, pd.DataFrame(text), tuple(notes))


def millions(frames: float) -> str:
    """As a heading: "2 M"."""
    return f"{frames / 1e6:.3g} M"


_FEWER_SEEDS = (
    "(1 of 3): of three seeds one was evaluated there. The others may have stopped at their score, or be under way."
)


class _Line(NamedTuple):
    agent: str
    played: str
    scores: Mapping[int, Score]
    """By mark."""
    num_seeds: Mapping[int, int]
    """Behind each."""

    @property
    def most_seeds(self) -> int:
        """Behind any."""
        return max(self.num_seeds[mark] for mark in self.scores)

    def has_fewer(self, mark: int) -> bool:
        """Whether there are more elsewhere."""
        return self.num_seeds[mark] < self.most_seeds


class _Pair(NamedTuple):
    """A game that both have."""

    game: str
    frames: float
    ours: float
    theirs: Score


def _at_marks(points: pd.DataFrame) -> pd.DataFrame:
    """Of each run and mark the evaluation that is nearest to it, with the mark."""
    marked = points.assign(mark=points["frames"].map(mark_of)).dropna(subset=["mark"])
    marked = marked.assign(away=(marked["frames"] - marked["mark"]).abs()).sort_values("away", kind="stable")
    return marked.drop_duplicates(["entry", "protocol", "differs", "seed", "mark"]).drop(columns="away")


def _our_scores(points: pd.DataFrame) -> dict[int, Score]:
    return {
        mark: Score(scores.mean(), *((scores.min(), scores.max()) if len(scores) > 1 else (np.nan, np.nan)))
        for mark in MARKS
        if len(scores := points.loc[points["mark"] == mark, "score"])
    }


def _our_seeds(points: pd.DataFrame) -> dict[int, int]:
    return {mark: points.loc[points["mark"] == mark, "seed"].nunique() for mark in MARKS}


def _scores_of(one: Yardstick, game: str) -> dict[int, Score]:
    found = {mark: one.at(game, mark) for mark in MARKS}
    return {mark: score for mark, score in found.items() if score is not None}


def _pairs(of_entry: pd.DataFrame, one: Yardstick) -> list[_Pair]:
    return [
        _Pair(str(game), frames, runs["score"].mean(), theirs)
        for game, runs in of_entry.groupby("game", sort=True)
        if (theirs := one.at(str(game), frames := float(runs["total_frames"].mean()))) is not None
    ]


def _comparisons(trained: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for (entry, protocol, differs), of_entry in trained.groupby(["entry", "protocol", "differs"], sort=True):
        pairs_of = [(one, pairs) for one in yardsticks() if (pairs := _pairs(of_entry, one))]
        # Of a game of which nobody published anything at our frames no published agent lacks more than another.
        num_games = len({pair.game for _, pairs in pairs_of for pair in pairs})
        ours = {"agent": entry, "protocol": protocol, "differs": differs, "our_games": num_games}
        for one, pairs in pairs_of:
            yield ours | {"published": one.agent, "played": one.played} | _compared(pairs)


def _compared(pairs: list[_Pair]) -> dict[str, Any]:
    published = load_published().loc[[pair.game for pair in pairs]]
    ends = published[NOOP_STARTS.random], published[NOOP_STARTS.human]
    ranged = [pair for pair in pairs if not np.isnan(pair.theirs.low)]
    above = sum(pair.ours > pair.theirs.high for pair in ranged)
    below = sum(pair.ours < pair.theirs.low for pair in ranged)
    return {
        "frames": float(np.mean([pair.frames for pair in pairs])),
        "games": len(pairs),
        "median": float(np.median(normalised_score([pair.ours for pair in pairs], *ends))),
        "published_median": float(np.median(normalised_score([pair.theirs.mean for pair in pairs], *ends))),
        "above": above,
        "within": len(ranged) - above - below,
        "below": below,
        "is_between": any(pair.theirs.is_between for pair in pairs),
    }


def _placed(row: Mapping[Any, Any]) -> str:
    counts = [row[name] for name in ("above", "within", "below")]
    return " / ".join(map(str, counts)) if sum(counts) else "range not published"


def _letters(played: Iterable[str]) -> dict[str, str]:
    """How something was played -> a letter for a cell, in the order in which they come."""
    return dict(zip(dict.fromkeys(played), map("({})".format, string.ascii_lowercase), strict=False))


def _legend(letters: Mapping[str, str]) -> Iterator[str]:
    return (f"{letter}: {played}." for played, letter in letters.items())


def _how(protocol: str, differs: str) -> str:
    return f"{protocol}: {differs}" if differs else protocol


def _marked_cell(line: _Line, mark: int) -> str:
    """With the number of seeds, where fewer have come as far, or were evaluated there, than elsewhere."""
    if (score := line.scores.get(mark)) is None:
        return "-"
    fewer = f" ({line.num_seeds[mark]} of {line.most_seeds})" if line.has_fewer(mark) else ""
    return interval_cell(score.mean, score.low, score.high, 1) + fewer
