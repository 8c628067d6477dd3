"""One row per agent for all games: mean, median, interquartile mean, optimality gap, games won, chance of improvement.

An entry that lacks games is summarised over the games it has, in a block of its own, with the published agents over the
same games: figures over other games are not compared.
Not here: how the numbers are made (`pipeline.results.aggregates`, `pipeline.results.comparison`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pipeline.games import ATARI49
from pipeline.results import aggregates
from pipeline.results.aggregates import Games, Statistic, means
from pipeline.results.atari49 import entry_by_game
from pipeline.results.comparison import improvement_over_games
from pipeline.results.formats import ReportTable, interval_cell
from pipeline.results.protocols import DQN, GORILA, Starts
from pipeline.results.published import load_published
from pipeline.results.random_player import NOT_KNOWN, NOT_PLAYED, OUR_RANDOM_PLAYER, YES, of_starts
from pipeline.results.run_scores import score_matrix
from pipeline.results.scores import FloatArray, normalised_score

HUMAN_LEVEL = 75.0
"""Percent of the human's normalised score that counts as his level (Mnih et al. 2015, figure 3)."""

COLUMNS = ("games", "agent", "num_games", "num_seeds", "statistic", "value", "low", "high")
"""`games` names the set of games: "all", a few by their names, or "those of" entries; value in percent, in games, or a
probability."""

_HEADINGS = {
    "median": "median %",
    "iqm": "IQM %",
    "mean": "mean %",
    "optimality_gap": "gap %",
    "above_random": "above our random",
    "above_dqn": "above DQN",
    "above_gorila": "above Gorila",
    "at_human_level": f"≥ {HUMAN_LEVEL:.0f} % human",
    "twice_dqn": "≥ 2 x DQN",
    "five_times_dqn": "≥ 5 x DQN",
    "improvement_dqn": "P(> DQN)",
    "improvement_gorila": "P(> Gorila)",
}

_COUNTS = (
    "above_random",
    "above_dqn",
    "above_gorila",
    "at_human_level",
    "twice_dqn",
    "five_times_dqn",
    "improvement_dqn",
    "improvement_gorila",
)
"""Of games, and chances: they stand in a table of their own."""
_AVERAGES = tuple(name for name in _HEADINGS if name not in _COUNTS)

_DECIMALS = {"median": 1, "mean": 1, "iqm": 1, "optimality_gap": 1, "improvement_dqn": 2, "improvement_gorila": 2}
"""Counts of games have none."""


_MOST_NAMED = 3
"""Games; a row has no room for the names of more."""

NO_RUN = "-"
"""In place of the number of seeds, of an agent that nobody trained."""


_BRACKETS = (
    "Brackets: 95 % percentile interval of a bootstrap that resamples runs within each game; none where a game has a "
    "single seed. It is too narrow for few seeds: with 3 seeds of 49 games it holds the truth in about 88 % of the "
    "cases, with 3 seeds of one game in about 75 %. Published agents have one score per game: no interval."
)


def summary_tables(
    starts: Starts, entries: Mapping[str, pd.DataFrame], random: pd.DataFrame, games: Sequence[str] = ATARI49
) -> tuple[ReportTable, ReportTable]:
    """The published agents and `entries`, over all of `games` and over those that an incomplete entry has.

    The first has averages, the second counts of games and chances: a page has no room for all side by side.
    `random`: our
    random player's, as `random_player.random_scores` gives them; it has a row where it played all games.
    """
    numbers = summary(starts, entries, random, games)
    averages, counts = _notes(starts), _count_notes(entries, starts, random)
    return (
        _table(f"summary_{starts.key}", f"Summary, {starts.name}", numbers, _AVERAGES, averages),
        _table(f"wins_{starts.key}", f"Games won, {starts.name}", numbers, _COUNTS, counts),
    )


def _table(
    name: str, title: str, all_numbers: pd.DataFrame, statistics: Sequence[str], notes: tuple[str, ...]
) -> ReportTable:
    numbers = all_numbers[all_numbers["statistic"].isin(statistics)].reset_index(drop=True)
    rows = []
    for (of_games, agent), of_agent in numbers.groupby(["games", "agent"], sort=False):
        first = of_agent.iloc[0]
        which = f"all {first['num_games']}" if of_games == "all" else f"{first['num_games']}: {of_games}"
        cells = {"agent": agent, "games": which, "seeds": first["num_seeds"]}
        for row in of_agent.set_index("statistic", drop=False).loc[list(statistics)].to_dict("records"):
            cells[_HEADINGS[row["statistic"]]] = (
                "-"
                if pd.isna(row["value"])
                else interval_cell(row["value"], row["low"], row["high"], _DECIMALS.get(row["statistic"], 0))
            )
        rows.append(cells)
    return ReportTable(name, title, numbers, pd.DataFrame(rows), notes)


def summary(
    starts: Starts, entries: Mapping[str, pd.DataFrame], random: pd.DataFrame, all_games: Sequence[str] = ATARI49
) -> pd.DataFrame:
    """The same as numbers, one row per set of games, agent and statistic, with COLUMNS."""
    blocks: dict[tuple[str, ...], dict[str, pd.DataFrame]] = {tuple(all_games): {}}
    for name, scores in entries.items():
        if games := tuple(game for game in ATARI49 if (scores["game"] == game).any()):
            blocks.setdefault(games, {})[name] = scores
    rows: list[dict[str, Any]] = []
    floor = of_starts(random, starts)["mean"]
    for games, ours in blocks.items():
        block = _name_of_games(games, list(ours))
        published = load_published().loc[list(games)]
        agents = {agent: published[[column]].to_numpy("float64").T for agent, column in starts.agents.items()}
        if set(games) <= set(floor.index):
            agents[OUR_RANDOM_PLAYER] = floor.loc[list(games)].to_numpy("float64")[None]
        num_seeds = dict.fromkeys(agents, NO_RUN)
        above_random: dict[str, float] = {}
        for name, scores in ours.items():
            agents[f"ours: {name}"] = matrix = score_matrix(scores, games)
            num_seeds[f"ours: {name}"] = _seeds(matrix)
            answers = _above_random(scores, starts, random)
            if not answers.isin([NOT_PLAYED, NOT_KNOWN]).all():
                above_random[f"ours: {name}"] = float((answers == YES).sum())
        for agent, matrix in agents.items():
            count = above_random.get(agent, np.nan)
            rows += [
                {"games": block, "agent": agent, "num_games": len(games), "num_seeds": num_seeds[agent]} | row
                for row in (
                    {"statistic": "above_random", "value": count, "low": np.nan, "high": np.nan},
                    *_statistics_of(agent, matrix, games, starts),
                )
            ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _name_of_games(games: Sequence[str], entries: Sequence[str]) -> str:
    if len(games) == len(ATARI49):
        return "all"
    if len(games) <= _MOST_NAMED:
        return ", ".join(games)
    # It may be that none of ours has all of them.
    return f"those of {'; '.join(entries)}" if entries else "all of this report"


def _statistics_of(agent: str, scores: FloatArray, games: Sequence[str], starts: Starts) -> list[dict[str, Any]]:
    """All statistics of scores (num_runs, num_games) in points."""
    published = load_published().loc[list(games)]
    random, human = published[starts.random].to_numpy("float64"), published[starts.human].to_numpy("float64")
    baselines = {name: published[column].to_numpy("float64") for name, column in starts.agents.items()}
    estimates = aggregates.stratified_estimates(
        normalised_score(scores, random, human),
        _statistics({name: normalised_score(values, random, human) for name, values in baselines.items()}),
    )
    rows = [
        {"statistic": name, "value": float(found.value), "low": float(found.low), "high": float(found.high)}
        for name, found in estimates.items()
    ]
    for name, baseline in (("improvement_dqn", DQN), ("improvement_gorila", GORILA)):
        probability, low, high = improvement_over_games(scores, baselines[baseline][None], is_published=True)
        rows.append({"statistic": name, "value": probability, "low": low, "high": high})
    against_itself = {DQN: ("above_dqn", "twice_dqn", "five_times_dqn", "improvement_dqn")}.get(
        agent, ("above_gorila", "improvement_gorila") if agent == GORILA else ()
    )
    return [row | dict.fromkeys(("value", "low", "high"), np.nan) if row["statistic"] in against_itself else row
            for row in rows]  # fmt: skip


def _statistics(baselines: Mapping[str, FloatArray]) -> dict[str, Statistic]:
    """Statistics of normalised scores, given those of DQN and Gorila (num_games,)."""
    dqn, gorila = baselines[DQN], baselines[GORILA]

    def games_at_least(limits: FloatArray | float) -> Statistic:
        return lambda of_games: np.asarray((means(of_games) >= limits).sum(axis=-1))

    def games_above(limits: FloatArray) -> Statistic:
        return lambda of_games: np.asarray((means(of_games) > limits).sum(axis=-1))

    def games_at_multiples(factor: int) -> Statistic:
        # Above DQN as well: some of its scores are 0 or below, and a multiple of them is reached by the worse.
        def count(of_games: Games) -> FloatArray:
            ours = means(of_games)
            return np.asarray(((ours >= factor * dqn) & (ours > dqn)).sum(axis=-1))

        return count

    return {
        "median": aggregates.median,
        "mean": aggregates.mean,
        "iqm": aggregates.interquartile_mean,
        "optimality_gap": aggregates.optimality_gap,
        "above_dqn": games_above(dqn),
        "above_gorila": games_above(gorila),
        "at_human_level": games_at_least(HUMAN_LEVEL),
        "twice_dqn": games_at_multiples(2),
        "five_times_dqn": games_at_multiples(5),
    }


def _seeds(scores: FloatArray) -> str:
    """How many runs the games have: "3", "2-3"."""
    counts = np.count_nonzero(~np.isnan(scores), axis=0)
    return str(counts.max()) if counts.min() == counts.max() else f"{counts.min()}-{counts.max()}"


def _above_random(scores: pd.DataFrame, starts: Starts, random: pd.DataFrame) -> "pd.Series[str]":
    """Of the games that an entry has."""
    answers = entry_by_game(scores, starts, random)["above random"]
    return answers[answers != ""]


def _notes(starts: Starts) -> tuple[str, ...]:
    return (
        f"100 %: {starts.human}, 0 %: {starts.random} of results/published/atari49_reference.csv: "
        f"{starts.normalised_by}.",
        "IQM: mean of the middle half of all runs of all games. Gap: how far runs stay below 100 %, on average.",
        _BRACKETS,
    )


def _count_notes(entries: Mapping[str, pd.DataFrame], starts: Starts, random: pd.DataFrame) -> tuple[str, ...]:
    found = [
        "≥ k x DQN: normalised score above DQN's and at least k times it. P(> X): chance that a run scores higher than "
        "X's published score on a game, averaged over games.",
        "Brackets as above; that of a count may lie beside the count, where many games are close to the line.",
    ]
    if entries:
        found.append(
            "Above our random: games on which the whole interval of our score lies above our random player's, which is "
            "played every 4th frame like the agents; the table of the 49 games says on which. The published one, 0 %, "
            "acts every 6th frame: where ours is better than that, a few percent are no learning."
        )
        for name, scores in entries.items():
            answers = _above_random(scores, starts, random)
            if 0 < (num_unknown := int((answers == NOT_PLAYED).sum())) < len(answers):
                found.append(
                    f"Of {num_unknown} of the {len(answers)} games of {name} there are no games of our random player: "
                    "they are not among those above it."
                )
            if num_unknown := int((answers == NOT_KNOWN).sum()):
                found.append(
                    f"Of {num_unknown} of the {len(answers)} games of {name} it is not known whether it is above our "
                    "random player: one of the two scores has no interval."
                )
    return tuple(found)
