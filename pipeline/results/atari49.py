"""The table of the 49 games: random player, human, DQN and Gorila as published, and our entries beside them.

Only what was played like the published scores stands here; a game or a seed that is not there is marked "missing".
Not here: one game in detail (`pipeline.results.table`), one number for all games (`pipeline.results.summary`), scores
under other protocols (`pipeline.results.other_protocols`).
"""

from collections.abc import Mapping, Sequence, Sized

import numpy as np
import pandas as pd

from pipeline.games import ATARI49
from pipeline.results.formats import MISSING, ReportTable, cell, interval_cell
from pipeline.results.protocols import Starts
from pipeline.results.published import load_published
from pipeline.results.random_player import (
    NOT_KNOWN,
    NOT_KNOWN_NOTE,
    NOT_PLAYED,
    OUR_RANDOM_PLAYER,
    is_above,
    of_starts,
)
from pipeline.results.run_scores import (
    EQUAL_RUNS_NOTE,
    SAMPLED,
    SAMPLED_NOTE,
    are_equal_runs,
    interval_over_runs,
    score_matrix,
)
from pipeline.results.scores import FloatArray, normalised_score

SINGLE_SEED = "†"
"""Marks an interval over the episodes of a single run."""


def atari49_table(
    starts: Starts, entries: Mapping[str, pd.DataFrame], random: pd.DataFrame, games: Sequence[str] = ATARI49
) -> ReportTable:
    """A row for each of `games`; `entries` as `run_scores.entries` gives them, none for starts that nobody can repeat.

    `random`: our random player's, as `random_player.random_scores` gives them.
    """
    published, numbers, text = load_published().loc[list(games)], pd.DataFrame(index=pd.Index(games, name="game")), {}
    text["game"] = list(games)
    for name, column in {"random": starts.random, "human": starts.human, **starts.agents}.items():
        numbers[name] = published[column]
        text[name] = [cell(score, 1) for score in published[column]]
        if name in starts.agents:
            numbers[f"{name} %"] = normalised(published[column], starts)
            text[f"{name} %"] = [cell(score, 1) for score in numbers[f"{name} %"]]
    if entries:
        floor = of_starts(random, starts)[["mean", "low", "high"]].reindex(list(games))
        numbers = numbers.join(floor.add_prefix("our random "))
        text[OUR_RANDOM_PLAYER] = [
            NOT_PLAYED if pd.isna(mean) else interval_cell(mean, low, high, 1)
            for _, mean, low, high in floor.itertuples()
        ]
    for name, scores in entries.items():
        ours = entry_by_game(scores, starts, random).loc[list(games)]
        numbers = numbers.join(ours.add_prefix(f"{name} "))
        text |= _entry_text(name, ours, num_seeds=scores["seed"].nunique())
    table = pd.DataFrame(text)
    notes = _notes(starts, entries, has_unknown=bool((table == NOT_KNOWN).any(axis=None)))
    return ReportTable(f"atari49_{starts.key}", f"{counted_games(games)}, {starts.name}", numbers, table, notes)


def counted_games(games: Sized) -> str:
    """ "1 game", "49 games"."""
    return f"{len(games)} game{'s' * (len(games) != 1)}"


def entry_by_game(scores: pd.DataFrame, starts: Starts, random: pd.DataFrame) -> pd.DataFrame:
    """One entry's scores by game, over the 49: score, low, high, seeds, %, and whom it is above.

    The interval is as in `run_scores.interval_over_runs`. "above" names published agents whose score is lower, "above
    random" is as in `random_player`. Empty games are NaN and "".
    """
    matrix, published = score_matrix(scores, ATARI49), load_published()
    num_seeds = np.count_nonzero(~np.isnan(matrix), axis=0)
    rows = []
    for index, game in enumerate(ATARI49):
        runs = scores[scores["game"] == game].sort_values("seed")
        if runs.empty:
            rows.append((np.nan, np.nan, np.nan))
        else:
            rows.append((float(matrix[: num_seeds[index], index].mean()), *interval_over_runs(runs)))
    table = pd.DataFrame(rows, columns=["score", "low", "high"], index=pd.Index(ATARI49, name="game"))
    table["seeds"] = num_seeds
    table["%"] = normalised(table["score"], starts)
    table["above"] = [
        ", ".join(agent for agent, column in starts.agents.items() if table["score"][game] > published[column][game])
        for game in ATARI49
    ]
    floor = of_starts(random, starts).to_dict("index")
    table["above random"] = [
        is_above(row["low"], row["high"], floor.get(game)) if row["seeds"] else ""
        for game, row in table.to_dict("index").items()
    ]
    return table


def normalised(scores: pd.Series, starts: Starts) -> FloatArray:
    """Scores by game, of any games of the 49, as percent of the human of these starts."""
    published = load_published().loc[scores.index]
    return normalised_score(scores, published[starts.random], published[starts.human])


def _entry_text(name: str, ours: pd.DataFrame, num_seeds: int) -> dict[str, list[str]]:
    rows = ours.to_dict("records")
    return {
        f"ours: {name}": [
            MISSING
            if row["seeds"] == 0
            else interval_cell(row["score"], row["low"], row["high"], 1) + (SINGLE_SEED if row["seeds"] == 1 else "")
            for row in rows
        ],
        f"{name}: seeds": [MISSING if row["seeds"] == 0 else f"{row['seeds']} of {num_seeds}" for row in rows],
        f"{name} %": [MISSING if row["seeds"] == 0 else cell(row["%"], 1) for row in rows],
        f"{name}: above random": [row["above random"] or MISSING for row in rows],
        f"{name}: above": [MISSING if row["seeds"] == 0 else row["above"] or "neither" for row in rows],
    }


def _notes(starts: Starts, entries: Mapping[str, pd.DataFrame], *, has_unknown: bool) -> tuple[str, ...]:
    columns = ", ".join([starts.random, starts.human, *starts.agents.values()])
    found = [
        f"Published scores: {starts.name}, columns {columns} of results/published/atari49_reference.csv.",
        f"%: 100 * (score - random) / |human - random|, with {starts.random} and {starts.human}: "
        f"{starts.normalised_by}.",
    ]
    if starts.played is None:
        found.append("Nobody can repeat these starts: the start points were never published. No score of ours is here.")
    elif not entries:
        found.append(f"No score of ours was played under {starts.name} as the published ones were.")
    else:
        found.append("Brackets: 95 % interval, Student's t over seeds.")
        found.append(
            "Above random: the whole interval lies above that of our random player, who acts as often as agents do; "
            f'"no": the intervals meet, "{NOT_PLAYED}": it played no games like these. A single seed says nothing of '
            "how sure the training is to get there."
        )
        if has_unknown:
            found.append(NOT_KNOWN_NOTE)
        if any(are_equal_runs(scores, ["game"]) for scores in entries.values()):
            found.append(EQUAL_RUNS_NOTE)
        if any(name.endswith(f", {SAMPLED}") for name in entries):
            found.append(SAMPLED_NOTE)
        found.append(
            f"{SINGLE_SEED}: a single seed; the interval is over its episodes and knows nothing of other seeds."
        )
    return tuple(found)
