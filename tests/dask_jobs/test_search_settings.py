"""The settings of a search, and every mistake in them."""

from typing import Any

import pytest

from dask_jobs.search_settings import SearchSettings


@pytest.mark.parametrize(
    ("changes", "mistake"),
    [
        ({"direction": "up"}, "direction=up must be one of maximize, minimize"),
        ({"n_trials": 0}, "n_trials=0 must be at least 1"),
        ({"n_jobs": 0}, "n_jobs=0 must be at least 1, or null"),
        (
            {"seed": 1, "sampler": object()},
            "seed=1 is for the sampler that stands when none is named: put it into sampler",
        ),
    ],
)
def test_each_mistake_is_told(changes: dict[str, Any], mistake: str) -> None:
    assert SearchSettings(**changes).mistakes() == [mistake]


def test_what_stands_when_nothing_is_said_is_right() -> None:
    assert SearchSettings().mistakes() == []
