"""Frames of a whole run, from rows that know those of one actor each."""

import tracemalloc

import numpy as np
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


def by_definition(episodes: pd.DataFrame) -> "pd.Series[float]":
    """A column for each actor with what it has told last: the mean of them, written out."""
    ordered = episodes.sort_values("wall_seconds", kind="stable")
    told = {role: ordered["total_frames"].where(ordered["role"] == role).ffill() for role in ordered["role"].unique()}
    return pd.DataFrame(told, index=ordered.index).mean(axis=1).cummax().reindex(episodes.index)


def test_it_is_the_mean_of_what_each_actor_has_told_last() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        num_games, num_roles = rng.integers(1, 40), rng.integers(1, 8)
        episodes = pd.DataFrame(
            {
                "role": rng.choice([f"bundle-{role}" for role in range(num_roles)], num_games),
                # Ends at the same time, and frames that go back after a resume, are among them.
                "wall_seconds": rng.integers(0, 20, num_games).astype(float),
                "total_frames": rng.integers(0, 10**10, num_games),
            },
            index=rng.permutation(num_games),
        )
        pd.testing.assert_series_equal(run_frames(episodes), by_definition(episodes), check_exact=True)


def test_a_thousand_actors_of_many_games_take_no_table_of_games_times_actors() -> None:
    num_games, num_roles = 20_000, 1_000
    roles = [f"bundle-{number % num_roles}" for number in range(num_games)]
    frames = np.arange(num_games)
    episodes = pd.DataFrame({"role": roles, "wall_seconds": frames.astype(float), "total_frames": frames})
    tracemalloc.start()
    try:
        run_frames(episodes)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 8 * num_games * num_roles / 10
