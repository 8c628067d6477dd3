"""What a reader has to be told beside the tables: what is missing, and what is not alike though it stands together.

Not here: files that could not be read (`LoadedRuns.problems`), differences of one table (its notes).
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from pipeline.games import ATARI49
from pipeline.results.atari49 import counted_games
from pipeline.results.load import RUN_KEYS, LoadedRuns, short_commit
from pipeline.results.run_scores import LAST, RANDOM, UNEQUAL_FRAMES, entries

FEW_FILTERS = 0.1
"""Share of the first convolution's filters. Ours: of 32, two runs that learned had 29 and 6, one that did not had 1."""
_LAST_ROWS = 10
"""Of a run, over which the share is averaged."""


def missing_scores(loaded: LoadedRuns, scores: pd.DataFrame, games: Sequence[str] = ATARI49) -> list[str]:
    """Games and seeds of each experiment without a score under no-op starts, and runs without an end; a line each."""
    played = scores[(scores["agent"] == LAST) & (scores["differs"] == "")]
    found = []
    for experiment, runs in loaded.runs.groupby("experiment", sort=True):
        seeds_of = played[played["experiment"] == experiment].groupby("game")["seed"].agg(set).to_dict()
        if lacking := [game for game in games if game not in seeds_of]:
            how_many = f"{len(lacking)} of {counted_games(games)}"
            found.append(f"{experiment}: no score under no-op starts on {how_many}: {', '.join(lacking)}")
        games_without: dict[str, list[str]] = {}
        for game, seeds in sorted(seeds_of.items()):
            if lost := sorted(set(runs["seed"]) - seeds):
                games_without.setdefault(_seeds(lost), []).append(str(game))
        for lost_seeds, without in games_without.items():
            found.append(f"{experiment}: no score under no-op starts of {lost_seeds} on {', '.join(without)}")
    for run in loaded.runs[loaded.runs["end_reason"].isna()].to_dict("records"):
        found.append(f"{_name(run)}: no end is written: it goes on, or it was killed")
    ended_early = loaded.runs["end_reason"].astype(str).str.startswith(("interrupted", "error"))
    scored = {tuple(run) for run in scores[scores["agent"] != RANDOM][list(RUN_KEYS)].to_numpy()}
    for run in loaded.runs[ended_early].to_dict("records"):
        has_score = tuple(run[key] for key in RUN_KEYS) in scored
        what = "scores are of what it had reached" if has_score else "it has no score"
        found.append(f"{_name(run)}: ended before its budget ({run['end_reason']}); {what}")
    return found


def protocol_warnings(scores: pd.DataFrame) -> list[str]:
    """Scores of trained agents that were played otherwise than published ones, and how; one line a protocol."""
    apart = scores[(scores["differs"] != "") & (scores["agent"] != RANDOM)]
    found = []
    for (protocol, differs), alike in apart.groupby(["protocol", "differs"], sort=True):
        games_of = alike.groupby("entry", sort=True)["game"].unique()
        of_entries = "; ".join(f"{entry} ({_games(list(games))})" for entry, games in games_of.items())
        found.append(
            f"{protocol} is not the published protocol: {differs}. Scores under it are not normalised and stand in no "
            f"table beside published ones: {of_entries}."
        )
    return found


def unlike_runs(scores: pd.DataFrame) -> list[str]:
    """Entries whose runs are of several commits, or trained for other numbers of frames; a line each.

    Those that were played otherwise than published ones are entries of their protocol: a table of ours has them too.
    """
    apart = scores[(scores["differs"] != "") & (scores["agent"] != RANDOM)].groupby(["entry", "protocol"], sort=True)
    together = {**entries(scores), **{f"{entry} ({protocol})": rows for (entry, protocol), rows in apart}}
    found = []
    for name, rows in together.items():
        commits = sorted(filter(None, {short_commit(commit) for commit in rows["commit"]}))
        if len(commits) > 1:
            found.append(f"{name}: runs of {len(commits)} commits in one column: {', '.join(commits)}")
        fewest, most = rows["total_frames"].min(), rows["total_frames"].max()
        if rows["agent"].iloc[0] == LAST and most > UNEQUAL_FRAMES * fewest:
            found.append(f"{name}: runs of {fewest:,} to {most:,} training frames in one column")
    return found


def warm_starts(loaded: LoadedRuns) -> list[str]:
    """Runs that began with the parameters of another one; a line each."""
    return [
        f"{_name(run)}: began with the parameters of {run['init_from']}; its frames do not count those behind them"
        for run in loaded.runs[loaded.runs["init_from"].fillna("") != ""].to_dict("records")
    ]


def living_filters(loaded: LoadedRuns) -> "pd.Series[float]":
    """Share of the first convolution's filters that still learned at the end of each run of an actor-critic.

    By RUN_KEYS; NaN where rows are of before it was measured.
    """
    in_order = loaded.actor_critic_updates.sort_values("version", kind="stable")
    last = in_order.groupby(list(RUN_KEYS), sort=True).tail(_LAST_ROWS)
    return last.groupby(list(RUN_KEYS), sort=True)["active_filters"].mean()


def blind_runs(loaded: LoadedRuns) -> list[str]:
    """Runs of an actor-critic that ended with most of the first convolution switched off; a line each."""
    found = []
    for key, share in living_filters(loaded).items():
        assert isinstance(key, tuple)
        if share < FEW_FILTERS:
            found.append(
                f"{'/'.join(map(str, key))}: at the end {share:.0%} of the first convolution's filters still learned; "
                "the others are switched off, as by bright pictures or by steps that were too large. It may score more "
                "with network.centred_pixels=true, or a lower optimizer.learning_rate (and its learning_rate_changes)"
            )
    return found


def _name(run: Mapping[Hashable, Any]) -> str:
    return "/".join(str(run[key]) for key in RUN_KEYS)


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _games(games: Sequence[str]) -> str:
    return ", ".join(games) if len(games) <= 5 else f"{len(games)} games"
