"""Names of random streams: those of before for a first start, others for a start in the place of a lost one."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.replay.config import ReplayTrafficConfig
from pipeline.roles.spec import RoleSpec
from tests.roles.wiring import Wired, bundle_spec
from tests.roles.worker_wiring import WiredAlone, q_worker_spec, worker_spec


@pytest.mark.parametrize("spec", [bundle_spec(), worker_spec(), q_worker_spec()])
def test_a_first_start_has_the_streams_that_it_always_had_in_every_generation(spec: RoleSpec) -> None:
    place = replace(spec.place, num_steps_before=700)
    for attempt in (1_001, 2_001):
        first = replace(spec, place=place, attempt=attempt)
        assert first.stream_name("noise") == (place.role, "noise", 700)


@pytest.mark.parametrize("spec", [bundle_spec(), worker_spec(), q_worker_spec()])
def test_a_start_in_the_place_of_a_lost_one_has_streams_of_its_own_unless_its_run_is_to_repeat(spec: RoleSpec) -> None:
    again = replace(spec, attempt=1_002, is_restart=True)
    assert again.stream_name("noise") == (spec.place.role, "noise", 0, 1_002)
    assert replace(again, restorable=True).stream_name("noise") == (spec.place.role, "noise", 0)


def test_a_bundle_that_was_lost_at_once_does_not_play_its_games_again() -> None:
    played = []
    for changes in ({}, {"attempt": 2}, {"attempt": 2, "is_restart": True}):
        wired = Wired(bundle_spec(**changes))
        wired.run(60)
        played.append(wired.bundle._replay.state().ring.action)
        wired.bundle.close()
    np.testing.assert_array_equal(played[0], played[1])
    assert not np.array_equal(played[0], played[2])


def test_a_worker_that_was_lost_at_once_does_not_play_its_games_again() -> None:
    first, again = (WiredAlone(worker_spec(attempt=i, is_restart=i > 1)).workers[0] for i in (1, 2))
    batches = [worker._rollouts.collect(worker._policy, 0) for worker in (first, again)]
    assert not np.array_equal(batches[0].a_tm1, batches[1].a_tm1)
    for worker in (first, again):
        worker.close()


def test_a_global_replay_holds_a_role_back_for_as_long_as_its_traffic_says() -> None:
    traffic = ReplayTrafficConfig(chunk_steps=1, prefetch=0, slack_updates=None, wait_seconds=7.0)
    assert [bundle_spec(traffic=one).held_back_seconds for one in (None, traffic)] == [0.0, 7.0]
    assert worker_spec().held_back_seconds == 0.0
