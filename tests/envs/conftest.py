"""Factories of lanes that are closed when the test ends."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from pipeline.envs.atari import AtariLanes
from pipeline.envs.due_lanes import DueLanes, make_due_lanes
from tests.protocols import ba3c_protocol, nature_protocol

MakeLanes = Callable[..., AtariLanes]
MakeDueLanes = Callable[..., DueLanes]


@pytest.fixture
def make_lanes() -> Iterator[MakeLanes]:
    """`make_lanes(game, num_lanes=1, **changes)`: lanes under Nature's protocol, changed as named."""
    with ExitStack() as stack:

        def make(game: str, num_lanes: int = 1, **changes: Any) -> AtariLanes:
            lanes = AtariLanes(game, nature_protocol(**changes), num_lanes, num_threads=1)
            return stack.enter_context(closing(lanes))

        yield make


@pytest.fixture
def make_nature() -> Iterator[MakeDueLanes]:
    """`make_nature(game, num_lanes=1, **changes)`: due lanes under Nature's protocol, changed as named."""
    with ExitStack() as stack:

        def make(game: str, num_lanes: int = 1, **changes: Any) -> DueLanes:
            lanes = make_due_lanes(game, nature_protocol(**changes), num_lanes, num_threads=1)
            return stack.enter_context(closing(lanes))

        yield make


@pytest.fixture
def make_ba3c() -> Iterator[MakeDueLanes]:
    """`make_ba3c(game, num_lanes=1, **changes)`: due lanes under BA3C's protocol, changed as named."""
    with ExitStack() as stack:

        def make(game: str, num_lanes: int = 1, **changes: Any) -> DueLanes:
            lanes = make_due_lanes(game, ba3c_protocol(**changes), num_lanes, num_threads=1)
            return stack.enter_context(closing(lanes))

        yield make
