"""States on which the mean max-Q of a run is followed, from real games."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from pipeline.roles import heldout
from pipeline.roles.heldout import NUM_HELDOUT_STATES, heldout_states
from tests.protocols import nature_protocol


@pytest.mark.slow
def test_states_are_the_same_for_a_seed_and_others_for_another_and_are_made_once_in_a_process() -> None:
    protocol = nature_protocol()
    states = heldout_states("Breakout", protocol, 0)
    assert states.shape == (NUM_HELDOUT_STATES, 4, 84, 84)
    assert heldout_states("Breakout", protocol, 0) is states
    np.testing.assert_array_equal(heldout._played.__wrapped__("Breakout", protocol, 0), states)
    assert not np.array_equal(heldout_states("Breakout", protocol, 1), states)


@pytest.mark.slow
def test_roles_that_ask_at_once_share_states_that_are_played_once() -> None:
    heldout._played.cache_clear()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: heldout_states("Breakout", nature_protocol(), 0), range(2))
    assert first is second
    assert heldout._played.cache_info().misses == 1


def test_a_game_whose_actions_last_a_random_number_of_frames_has_states_too() -> None:
    random_skip = replace(nature_protocol(), min_frame_skip=2, max_pool=False)
    states = heldout_states("Breakout", random_skip, 0)
    assert states.shape == (NUM_HELDOUT_STATES, 4, 84, 84) and (states != states[0]).any()


def test_few_states_are_seen_twice() -> None:
    states = heldout_states("Breakout", nature_protocol(), 0)
    assert len(np.unique(states, axis=0)) > NUM_HELDOUT_STATES * 0.9
