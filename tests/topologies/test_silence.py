"""Silent roles, by looks on a clock that is turned by hand."""

import pytest

from pipeline.topologies.silence import Silence
from tests.clocks import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def silence(clock: Clock) -> Silence:
    """After a look at a role that was heard three times."""
    silence = Silence(clock.monotonic)
    assert silence.look({"worker-0": 3}, is_behind=False) == {"worker-0": 0.0}
    return silence


def test_who_is_not_heard_is_silent_for_as_long_as_was_listened(clock: Clock, silence: Silence) -> None:
    clock.now += 0.25
    assert silence.look({"worker-0": 4, "worker-1": 0}, is_behind=False) == {"worker-0": 0.0, "worker-1": 0.0}
    clock.now += 0.5
    assert silence.look({"worker-0": 4, "worker-1": 0}, is_behind=False) == {"worker-0": 0.5, "worker-1": 0.5}
    clock.now += 0.25
    assert silence.look({"worker-0": 5, "worker-1": 0}, is_behind=False) == {"worker-0": 0.0, "worker-1": 0.75}


def test_a_coordinator_that_stood_still_itself_finds_nobody_silent(clock: Clock, silence: Silence) -> None:
    clock.now += 3600.0
    assert silence.look({"worker-0": 3}, is_behind=False) == {"worker-0": 1.0}


def test_while_news_wait_to_be_read_nobody_grows_silent(clock: Clock, silence: Silence) -> None:
    clock.now += 0.5
    assert silence.look({"worker-0": 3}, is_behind=True) == {"worker-0": 0.0}
    clock.now += 0.5
    assert silence.look({"worker-0": 3}, is_behind=False) == {"worker-0": 0.5}


def test_a_role_that_was_away_begins_anew(clock: Clock, silence: Silence) -> None:
    clock.now += 0.5
    assert silence.look({}, is_behind=False) == {}
    clock.now += 0.5
    assert silence.look({"worker-0": 3}, is_behind=False) == {"worker-0": 0.0}
