"""The table of one game: the random player, the human, DQN and Gorila as published, and our runs beside them.

Our rows carry a 95 % interval over episodes, the protocol, and every way in which that protocol differs from the
published one: a score that was made differently is named as such, and it is not normalised.
Not here: where scores come from (`results.run_scores`, `results.published`), the 49 games in one table
(`results.atari49`).
"""

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from pipeline.games import ATARI49, check_game
from pipeline.results.formats import ReportTable
from pipeline.results.load import RUN_KEYS, LoadedRuns, short_commit
from pipeline.results.protocols import NOOP_STARTS, OUR_START_STATES, published_scores
from pipeline.results.random_player import OUR_RANDOM_PLAYER
from pipeline.results.run_scores import BEST, RANDOM, SAMPLED, SAMPLED_NOTE, run_scores
from pipeline.results.scores import normalised_score

COLUMNS = (
    "agent",
    "score",
    "low",
    "high",
    "episodes",
    "normalised",
    "frames",
    "protocol",
    "differs",
    "source",
    "init_from",
)
"""Score and interval in points; normalised in percent of the human; frames of training, in emulator frames."""

_HEADINGS = ("agent", "score", "95 % interval", "episodes", "% of human", "training frames", "protocol", "source")

_ON_TERMINAL = _HEADINGS[:5]
"""What 80 columns hold; the notes below say the rest."""

_OF_PUBLISHED = (
    "Published: no-op starts; sources in results/published/README.md.",
    "% of human: 100 * (score - random) / |human - random|, with the published random player and human; left out where "
    "the protocol differs.",
)
_OF_NONE_PUBLISHED = (
    f"Published scores are of {len(ATARI49)} games, and this is none of them: nothing of others stands here, and there "
    "is no % of human.",
)


def game_table(loaded: LoadedRuns, game: str) -> pd.DataFrame:
    """The published rows of a game, then ours: each run's newest parameters, and its random player if it has one.

    Columns are COLUMNS; a cell that does not apply is NaN or "". Of a run evaluated several times the newest
    parameters count, not the best ones: the best of many noisy means is too high. Raises ConfigError for no game.
    """
    check_game(game)
    evaluations = loaded.evaluations[loaded.evaluations["game"] == game]
    return table_of_scores(run_scores(loaded._replace(evaluations=evaluations)), game)


def table_of_scores(scores: pd.DataFrame, game: str) -> pd.DataFrame:
    """`game_table` from `run_scores` that were made before, of this game and others."""
    published = published_scores(NOOP_STARTS, game)
    rows: list[dict[str, Any]] = [
        {
            "agent": agent,
            "score": score,
            "protocol": NOOP_STARTS.key,
            "differs": "",
            "init_from": "",
            "source": NOOP_STARTS.papers[agent],
        }
        for agent, score in published.items()
    ]
    rows += [_our_row(row) for row in scores[scores["game"] == game].to_dict("records")]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    if published:
        comparable = table["score"].where(table["differs"] == "")
        table["normalised"] = normalised_score(comparable, published["random player"], published["human"])
    return table


def as_report_table(table: pd.DataFrame, game: str) -> ReportTable:
    """A `game_table` for files and the report."""
    return ReportTable(game, game, table, pd.DataFrame(_cells(table), columns=list(_HEADINGS)), tuple(notes(table)))


def as_rich(table: pd.DataFrame, title: str) -> Table:
    """A `game_table` for a terminal of 80 columns; source, frames and protocol of our rows stand in the notes below."""
    cells = _cells(table)
    ours = [
        f"{row['agent']}: {row['source']}, protocol {row['protocol']}"
        + ("." if row["agent"] == OUR_RANDOM_PLAYER else f", {row['training frames']} training frames.")
        for row in cells
        if row["source"].startswith("run ")
    ]
    # As they are: rich reads a folder called [old] as a style.
    caption = Text("\n".join([*ours, *notes(table)]))
    rich = Table(title=Text(title), caption=caption, caption_justify="left", box=SIMPLE)
    for heading in _ON_TERMINAL:
        rich.add_column(heading, justify="left" if heading == "agent" else "right")
    for row in cells:
        rich.add_row(*(escape(row[heading]) for heading in _ON_TERMINAL))
    return rich


def notes(table: pd.DataFrame) -> list[str]:
    """What a reader of the table has to know: what the numbers are, and which of ours were made differently."""
    is_ours = table["source"].str.startswith("run ")
    found = list(_OF_PUBLISHED if not is_ours.all() or table.empty else _OF_NONE_PUBLISHED)
    found.append("Intervals: BCa bootstrap over episodes of one agent; they do not cover differences between seeds.")
    if not is_ours.any():
        found.append("No evaluation of ours was found.")
    if table["agent"].str.contains(f", {BEST}", regex=False).any():
        found.append(f"{BEST}: the best of the evaluations during training, played again on fresh seeds.")
    if (table["agent"].str.endswith(f", {SAMPLED}") & (table["differs"] == "")).any():
        found.append(SAMPLED_NOTE)
    if table["agent"].eq(OUR_RANDOM_PLAYER).any() and not is_ours.all():
        # Mnih et al. 2015, methods: the random player acts at 10 Hz, so that it holds each action for 6 frames.
        found.append("The published random player chose an action every 6th frame, ours at every step.")
    if table["differs"].str.contains("start_states ").any():
        found.append(OUR_START_STATES)
    for row in table[table["init_from"] != ""].to_dict("records"):
        found.append(f"{row['agent']}, {row['source']}: began with the parameters of {row['init_from']}.")
    for differs, alike in table[table["differs"] != ""].groupby("differs", sort=False):
        agents = "; ".join(f"{row['agent']}, {row['source']}" for row in alike.to_dict("records"))
        found.append(f"{agents}: not the published protocol: {differs}.")
    return found


def _our_row(score: Mapping[Hashable, Any]) -> dict[str, Any]:
    """A row of `run_scores` as a row of the table."""
    run, commit = "/".join(str(score[key]) for key in RUN_KEYS), short_commit(score["commit"])
    return {
        "agent": OUR_RANDOM_PLAYER if score["agent"] == RANDOM else f"ours: {score['entry']}",
        "score": score["score"],
        "low": score["low"],
        "high": score["high"],
        "episodes": score["episodes"],
        "frames": score["total_frames"],
        "protocol": score["protocol"],
        "differs": score["differs"],
        "init_from": "" if score["agent"] == RANDOM else score["init_from"],
        "source": f"run {run}" + (f" at {commit}" if commit else ""),
    }


def _cells(table: pd.DataFrame) -> list[dict[str, str]]:
    """The rows as text, by heading."""
    return [
        {
            "agent": row["agent"],
            "score": _number(row["score"], 1),
            "95 % interval": "" if pd.isna(row["low"]) else f"[{_number(row['low'], 1)}, {_number(row['high'], 1)}]",
            "episodes": _number(row["episodes"], 0),
            "% of human": _number(row["normalised"], 1),
            "training frames": _number(row["frames"], 0),
            "protocol": row["protocol"] + (" (differs)" if row["differs"] else ""),
            "source": row["source"],
        }
        for row in table.to_dict("records")
    ]


def _number(value: float, decimals: int) -> str:
    return "" if pd.isna(value) else f"{value:,.{decimals}f}"
