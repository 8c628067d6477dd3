"""Our random player beside the published one, on all games: the test of a protocol before anything is trained.

The published player chose an action every 6th frame (Mnih et al. 2015, Methods), so that one of ours with frame skip 6
is its equal, and its agreement is the test; one with 4, as the runs of agents play, is another player.
Not here: trained agents (`pipeline.results.atari49`), whether they are above ours (`pipeline.results.random_player`).
"""

import pandas as pd

from pipeline.games import ATARI49
from pipeline.results.formats import MISSING, ReportTable, cell, interval_cell
from pipeline.results.protocols import NOOP_STARTS, RANDOM_FIELDS
from pipeline.results.published import load_published
from pipeline.results.random_player import played_alike

_SKIPS = ("frame_skip", "min_frame_skip")
_PUBLISHED_SKIPS = (6, 6)


def random_play_table(random: pd.DataFrame) -> ReportTable:
    """All 49 games: the published random score, and ours for each frame skip that was played, of `random_scores`.

    Frame skips aside, only what was played as the published score was: of other protocols the notes say how much.
    """
    assert NOOP_STARTS.played is not None, "no-op starts can be played"
    alike = [field for field in RANDOM_FIELDS if field not in _SKIPS]
    is_alike = played_alike(random, NOOP_STARTS.played, alike)
    published = load_published()[NOOP_STARTS.random]
    numbers = pd.DataFrame({"published": published}, index=pd.Index(ATARI49, name="game"))
    text = {"game": list(ATARI49), "published": [cell(score, 1) for score in published]}
    notes = list(_NOTES)
    for skips, played in random[is_alike].groupby(list(_SKIPS), sort=True):
        most, fewest = skips
        name = f"frame skip {most}" if most == fewest else f"frame skip {fewest} to {most}"
        ours = played.set_index("game")[["mean", "low", "high"]].reindex(ATARI49)
        numbers = numbers.join(ours.add_prefix(f"{name} "))
        text[name] = [interval_cell(mean, low, high, 1) for _, mean, low, high in ours.itertuples()]
        if skips == _PUBLISHED_SKIPS:
            text[f"{name}: agrees"] = [
                MISSING if pd.isna(mean) else _agrees(published[game], low, high)
                for game, mean, low, high in ours.itertuples()
            ]
            notes += _AGREES
    if left_out := int((~is_alike).sum()):
        notes.append(f"Left out: {left_out} means of games under other protocols.")
    return ReportTable("random_play", "Random player", numbers, pd.DataFrame(text), tuple(notes))


_NOTES = (
    "The published random player (Mnih et al. 2015) chose an action every 6th frame. One that chooses more often is "
    "another player, with higher scores on some games and lower ones on others.",
    "Brackets: 95 % BCa bootstrap interval over episodes.",
)
_AGREES = (
    "Agrees: the published score lies inside. It has an uncertainty of its own that was not published, so that some of "
    "49 games lie outside by chance.",
)


def _agrees(published: float, low: float, high: float) -> str:
    if pd.isna(low):
        return "one game only"
    return "yes" if low <= published <= high else "no, below ours" if published < low else "no, above ours"
