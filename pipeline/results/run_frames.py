"""How many emulator frames a run of several actors had made when each of its training games ended.

A row has what its actor could know: its own frames times the number of actors. Of actors that are not equally fast that
is too much for one and too little for another; here they are put together.
Not here: evaluations, whose rows have the frames behind the parameters that they play.
"""

import pandas as pd


def run_frames(episodes: pd.DataFrame) -> "pd.Series[float]":
    """(N,) frames of all actors together at the end of each of `episodes`, the EpisodeRows of one run, by their index.

    The mean of what each actor has told last, as far as they have: behind by at most one game of each other actor, for
    an actor tells of its frames when its games end.
    """
    ordered = episodes.sort_values("wall_seconds", kind="stable")
    # The sum of what all have told last grows by what one tells more than before: a column for each of a thousand
    # actors would take gigabytes.
    told, role = ordered["total_frames"], ordered["role"]
    more = told - told.groupby(role).shift(fill_value=0)
    # One that finishes its first game late may be behind what the others have told.
    frames = (more.cumsum() / (~role.duplicated()).cumsum()).cummax()
    return frames.reindex(episodes.index)
