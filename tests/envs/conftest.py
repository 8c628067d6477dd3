"""A factory of lanes that are closed when the test ends."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from pipeline.envs.atari import AtariLanes
from tests.protocols import nature_protocol

MakeLanes = Callable[..., AtariLanes]


@pytest.fixture
def make_lanes() -> Iterator[MakeLanes]:
    """`make_lanes(game, num_lanes=1, **changes)`: lanes under Nature's protocol, changed as named."""
    with ExitStack() as stack:

        def make(game: str, num_lanes: int = 1, **changes: Any) -> AtariLanes:
            lanes = AtariLanes(game, nature_protocol(**changes), num_lanes, num_threads=1)
            return stack.enter_context(closing(lanes))

        yield make
