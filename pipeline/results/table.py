"""The table of one game: the random player, the human, DQN and Gorila as published, and our runs beside them.

Our rows carry a 95 % interval over episodes, the protocol, and every way in which that protocol differs from the
published one: a score that was made differently is named as such, and it is not normalised.
Not here: where scores come from (`results.load`, `results.published`), the 49 games in one table.
"""

from typing import Any

import pandas as pd
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from pipeline.games import ATARI49
from pipeline.results.load import RUN_KEYS, LoadedRuns
from pipeline.results.published import load_published
from pipeline.results.scores import mean_interval, normalised_score

PUBLISHED_ROWS = {
    "random player": ("random_noop", "Mnih et al. 2015"),
    "human": ("human_noop", "Mnih et al. 2015"),
    "DQN (Nature)": ("dqn_nature_noop", "Mnih et al. 2015"),
    "Gorila DQN": ("gorila_noop", "Nair et al. 2015"),
}
"""Name of the row -> column of the published table, and the paper."""

PUBLISHED_PROTOCOL: dict[str, float | bool] = {
    "epsilon": 0.05,
    "frame_skip": 4,
    "sticky_probability": 0.0,
    "noop_max": 30,
    "max_frames": 18_000,
    "full_action_set": False,
}
"""No-op starts as both papers score them (Mnih et al. 2015, methods): at most 5 minutes of play, 30 episodes."""

OUR_RANDOM_PLAYER = "ours: random player"

COLUMNS = ("agent", "score", "low", "high", "episodes", "normalised", "frames", "protocol", "differs", "source")
"""Score and interval in points; normalised in percent of the human; frames of training, in emulator frames."""

_HEADINGS = ("agent", "score", "95 % interval", "episodes", "% of human", "training frames", "protocol", "source")

_ON_TERMINAL = _HEADINGS[:5]
"""What 80 columns hold; the notes below say the rest."""


def game_table(loaded: LoadedRuns, game: str) -> pd.DataFrame:
    """The published rows of a game, then ours: each run's newest parameters, and its random player if it has one.

    Columns are COLUMNS; a cell that does not apply is NaN or "". Of a run evaluated several times the newest
    parameters count, not the best ones: the best of many noisy means is too high.
    """
    published = _published_scores(game)
    rows: list[dict[str, Any]] = []
    if published:
        rows += [
            {
                "agent": agent,
                "score": published[column],
                "protocol": "noop_starts",
                "differs": "",
                "source": paper,
            }
            for agent, (column, paper) in PUBLISHED_ROWS.items()
        ]
    commits = {tuple(run[key] for key in RUN_KEYS): run["commit"] for run in loaded.runs.to_dict("records")}
    ours = loaded.evaluations[loaded.evaluations["game"] == game]
    for group, evaluations in ours.groupby([*RUN_KEYS, "protocol", "agent"], sort=True):
        *keys, protocol, agent = group
        rows.append(
            _our_row(evaluations, "/".join(map(str, keys)), str(protocol), str(agent), commits.get(tuple(keys)))
        )
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    if published:
        random, human = published["random_noop"], published["human_noop"]
        comparable = table["score"].where(table["differs"] == "")
        table["normalised"] = normalised_score(comparable, random, human)
    return table


def as_markdown(table: pd.DataFrame) -> str:
    """A `game_table` as a Markdown table, with its notes below."""
    lines = ["| " + " | ".join(_HEADINGS) + " |", "|" + "---|" * len(_HEADINGS)]
    lines += ["| " + " | ".join(cells.values()) + " |" for cells in _cells(table)]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes(table))]) + "\n"


def as_rich(table: pd.DataFrame, title: str) -> Table:
    """A `game_table` for a terminal of 80 columns; source, frames and protocol of our rows stand in the notes below."""
    cells = _cells(table)
    ours = [
        f"{row['agent']}: {row['source']}, protocol {row['protocol']}"
        + ("." if row["agent"] == OUR_RANDOM_PLAYER else f", {row['training frames']} training frames.")
        for row in cells
        if row["source"].startswith("run ")
    ]
    rich = Table(title=title, caption="\n".join([*ours, *notes(table)]), caption_justify="left", box=SIMPLE)
    for heading in _ON_TERMINAL:
        rich.add_column(heading, justify="left" if heading == "agent" else "right")
    for row in cells:
        rich.add_row(*(escape(row[heading]) for heading in _ON_TERMINAL))
    return rich


def notes(table: pd.DataFrame) -> list[str]:
    """What a reader of the table has to know: what the numbers are, and which of ours were made differently."""
    found = [
        "Published: no-op starts; sources in results/published/README.md.",
        "% of human: 100 * (score - random) / |human - random|, with the published random player and human; left out "
        "where the protocol differs.",
        "Intervals: BCa bootstrap over episodes of one agent; they do not cover differences between seeds.",
    ]
    if not (table["source"].str.startswith("run ")).any():
        found.append("No evaluation of ours was found.")
    if table["agent"].eq(OUR_RANDOM_PLAYER).any():
        # Mnih et al. 2015, methods: the random player acts at 10 Hz, so that it holds each action for 6 frames.
        found.append("The published random player chose an action every 6th frame, ours at every step.")
    for row in table[table["differs"] != ""].to_dict("records"):
        found.append(f"{row['agent']}, {row['source']}: not the published protocol: {row['differs']}.")
    return found


def _published_scores(game: str) -> dict[str, float]:
    """Column -> score of one game; empty for a game that is not among the 49."""
    if game not in ATARI49:
        return {}
    published = load_published()
    return dict(zip(published.columns, published.loc[[game]].to_numpy(dtype="float64")[0].tolist(), strict=True))


def _our_row(evaluations: pd.DataFrame, run: str, protocol: str, agent: str, commit: object) -> dict[str, Any]:
    newest = evaluations[evaluations["version"] == evaluations["version"].max()]
    score = mean_interval(newest["score"])
    return {
        "agent": f"ours: {run.partition('/')[0]}" if agent == "checkpoint" else OUR_RANDOM_PLAYER,
        "score": score.mean,
        "low": score.low,
        "high": score.high,
        "episodes": score.num_episodes,
        "frames": int(newest["total_frames"].max()),
        "protocol": protocol,
        "differs": _differences(newest, agent),
        "source": f"run {run}" + (f" at {str(commit)[:7]}" if commit else ""),
    }


def _differences(evaluations: pd.DataFrame, agent: str) -> str:
    """How these episodes were played otherwise than the published ones: "max_frames 2000 instead of 18000"."""
    found = []
    for field, published in PUBLISHED_PROTOCOL.items():
        if field == "epsilon" and agent == "random":
            continue
        played = sorted(set(evaluations[field].tolist()))
        if played != [published]:
            found.append(f"{field} {' and '.join(map(str, played))} instead of {published}")
    return ", ".join(found)


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
