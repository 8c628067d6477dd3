"""The rate limit by hand-sized counts: who waits, when, and that it is never everybody."""

import numpy as np
import pytest

from pipeline.replay.rate_limit import RateLimit


def test_learners_wait_until_there_is_enough_to_begin_with_and_actors_do_not() -> None:
    limit = RateLimit(steps_per_batch=4, slack_batches=2, min_transitions=100)
    assert limit.why_no_add(99, 120, 0) == ""
    assert limit.why_no_sample(99, 120, 0) == "the replay holds 99 of the 100 transitions to begin with"
    assert limit.why_no_sample(100, 121, 0) == ""


def test_steps_count_from_the_moment_when_learning_could_begin() -> None:
    limit = RateLimit(steps_per_batch=4, slack_batches=2, min_transitions=100)
    assert limit.why_no_sample(100, 1_000, 0) == ""
    # 8 steps later two minibatches are due, and with the slack four may be drawn.
    assert limit.why_no_sample(108, 1_008, 3) == ""
    assert limit.why_no_sample(108, 1_008, 4) == (
        "the learners are ahead of the actors: 4 minibatches drawn, 2 due at one per 4 agent steps, slack 2"
    )


def test_actors_wait_when_more_than_the_slack_is_due() -> None:
    limit = RateLimit(steps_per_batch=4, slack_batches=2, min_transitions=1)
    assert limit.why_no_add(1, 0, 0) == ""
    assert limit.why_no_add(9, 8, 0) == ""
    assert limit.why_no_add(13, 12, 0) == (
        "the actors are ahead of the learners: 0 minibatches drawn, 3 due at one per 4 agent steps, slack 2"
    )
    assert limit.why_no_add(13, 12, 1) == ""


def test_a_replay_that_shrinks_below_its_start_does_not_stop_learning() -> None:
    limit = RateLimit(steps_per_batch=4, slack_batches=2, min_transitions=100)
    assert limit.why_no_sample(100, 100, 0) == ""
    assert limit.why_no_sample(60, 140, 5) == ""


def test_without_slack_nobody_waits_after_the_start() -> None:
    limit = RateLimit(steps_per_batch=4, slack_batches=None, min_transitions=10)
    assert limit.why_no_sample(9, 9, 0) != ""
    assert limit.why_no_sample(10, 10, 0) == ""
    assert limit.why_no_sample(10, 10, 10_000) == ""
    assert limit.why_no_add(10, 10_000, 0) == ""


@pytest.mark.parametrize("slack", [1, 2, 16])
@pytest.mark.parametrize("steps_per_batch", [1, 4, 7])
def test_somebody_can_always_go_on_and_the_ratio_is_kept(slack: int, steps_per_batch: int) -> None:
    limit = RateLimit(steps_per_batch, slack, min_transitions=1)
    rng = np.random.default_rng(0)
    num_steps, num_batches, chunk = 0, 0, 5
    limit.why_no_sample(1, 0, 0)
    for _ in range(2_000):
        may_add = limit.why_no_add(1, num_steps, num_batches) == ""
        may_draw = limit.why_no_sample(1, num_steps, num_batches) == ""
        assert may_add or may_draw
        # The eager one takes every chance it gets: first all actors, then all learners.
        if may_add and (not may_draw or rng.random() < 0.7):
            num_steps += chunk
        else:
            num_batches += 1
        assert abs(num_steps / steps_per_batch - num_batches) <= slack + chunk / steps_per_batch + 1e-9
