"""Our random player beside the published one, on all games: the test of a protocol before anything is trained.

The published player chose an action every 6th frame (Mnih et al. 2015, Methods), so that one of ours with frame skip 6
is its equal and one with 4 is not.
Not here: trained agents (`pipeline.results.atari49`).
"""

import pandas as pd

from pipeline.games import ATARI49
from pipeline.results.formats import MISSING, ReportTable, cell, interval_cell
from pipeline.results.load import LoadedRuns
from pipeline.results.protocols import NOOP_STARTS
from pipeline.results.published import load_published
from pipeline.results.run_scores import RANDOM
from pipeline.results.scores import mean_interval

_ALIKE = ("sticky_probability", "noop_max", "max_frames", "full_action_set", "start_states")
"""What has to be as published; the frame skip may be another, and has a column of its own."""


def random_play_table(loaded: LoadedRuns) -> ReportTable:
    """All 49 games: the published random score, and ours for each frame skip that was played.

    Episodes of all runs count together; one that several runs played alike, from the same seed, counts once.
    """
    assert NOOP_STARTS.played is not None, "no-op starts can be played"
    games = loaded.evaluations[loaded.evaluations["agent"] == RANDOM]
    for field in _ALIKE:
        games = games[games[field] == NOOP_STARTS.played[field]]
    games = games.drop_duplicates(["game", "frame_skip", "min_frame_skip", "episode_seed"])
    published = load_published()[NOOP_STARTS.random]
    numbers = pd.DataFrame({"published": published}, index=pd.Index(ATARI49, name="game"))
    text = {"game": list(ATARI49), "published": [cell(score, 1) for score in published]}
    for (most, fewest), played in games.groupby(["frame_skip", "min_frame_skip"], sort=True):
        name = f"frame skip {most}" if most == fewest else f"frame skip {fewest} to {most}"
        by_game = {str(game): mean_interval(rows["score"]) for game, rows in played.groupby("game")}
        of_all = [by_game.get(game) for game in ATARI49]
        for field in ("mean", "low", "high"):
            numbers[f"{name} {field}"] = [float("nan") if found is None else getattr(found, field) for found in of_all]
        text[name] = [
            MISSING if found is None else interval_cell(found.mean, found.low, found.high, 1) for found in of_all
        ]
        text[f"{name}: agrees"] = [
            MISSING if found is None else _agrees(published[game], found.low, found.high)
            for game, found in zip(ATARI49, of_all, strict=True)
        ]
    return ReportTable("random_play", "Random player", numbers, pd.DataFrame(text), _NOTES)


_NOTES = (
    "The published random player (Mnih et al. 2015) chose an action every 6th frame.",
    "Brackets: 95 % BCa bootstrap interval over episodes. Agrees: the published score lies inside. It has an "
    "uncertainty of its own that was not published, so that some of 49 games lie outside by chance.",
)


def _agrees(published: float, low: float, high: float) -> str:
    if pd.isna(low):
        return "one game only"
    return "yes" if low <= published <= high else "no, below ours" if published < low else "no, above ours"
