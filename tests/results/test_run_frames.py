"""Frames of a whole run, from rows that know those of one actor each."""

import pandas as pd

from pipeline.results.run_frames import run_frames


def test_actors_that_are_not_equally_fast_are_put_together() -> None:
    # Of two actors, one makes 300 frames where the other makes 100; each row has twice its actor's own.
    rows = [("fast", 1.0, 600), ("fast", 3.0, 1800), ("slow", 2.0, 400), ("slow", 3.5, 600), ("fast", 4.0, 2400)]
    episodes = pd.DataFrame(rows, columns=["role", "wall_seconds", "total_frames"], index=[7, 8, 9, 10, 11])
    assert run_frames(episodes).to_dict() == {
        7: 600.0,  # the slow one has not told anything yet
        9: 600.0,  # 300 + 200 would be 500: frames do not go back
        8: 1100.0,
        10: 1200.0,
        11: 1500.0,
    }


def test_a_single_actor_knows_its_frames() -> None:
    episodes = pd.DataFrame({"role": "bundle-0", "wall_seconds": [2.0, 1.0], "total_frames": [800, 400]})
    assert run_frames(episodes).tolist() == [800.0, 400.0]
    assert run_frames(episodes.iloc[:0]).empty
