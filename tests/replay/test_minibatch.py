"""Transitions made of records: hand-made lanes, and the emulator's own stacks."""

import numpy as np
import pytest
from ale_py import AtariVectorEnv

from pipeline.replay.memory import ReplayMemory
from pipeline.types import LaneStep
from tests.replay.memories import make_replay
from tests.replay.slow_replay import DISCOUNT


def one_lane_step(
    frame: int, first: bool = False, valid: bool = True, reward: float = 0.0, continues: float = 1.0
) -> LaneStep:
    """A step of one lane of 1 x 1 frames; the action is the frame's number."""
    return LaneStep(
        frame_tm1=np.full((1, 1, 1), frame, np.uint8),
        first_tm1=np.array([first]),
        valid=np.array([valid]),
        a_tm1=np.array([frame]),
        r_t=np.array([reward], np.float32),
        continues_t=np.array([continues], np.float32),
    )


def sampled(replay: ReplayMemory) -> dict[int, tuple[list[int], float, float, list[int]]]:
    """Everything that 64 draws find, by action: s_tm1, r_t, discount_t, s_t."""
    batch = replay.sample()
    return {
        int(a): (
            batch.s_tm1[i].ravel().tolist(),
            float(batch.r_t[i]),
            float(batch.discount_t[i]),
            batch.s_t[i].ravel().tolist(),
        )
        for i, a in enumerate(batch.a_tm1)
    }


def fed(*steps: LaneStep, n_step: int = 1, capacity: int = 20) -> ReplayMemory:
    replay = make_replay(capacity, n_step=n_step)
    for step in steps:
        replay.add(step)
        replay.check_valid()
    return replay


def test_a_transition_appears_once_its_successor_has_arrived() -> None:
    replay = make_replay(capacity=10)
    replay.add(one_lane_step(7, first=True, reward=2.0))
    assert replay.num_transitions() == 0
    replay.add(one_lane_step(8))
    assert replay.num_transitions() == 1
    assert sampled(replay) == {7: ([0, 0, 7], 2.0, DISCOUNT, [0, 7, 8])}


def test_game_over_has_discount_zero_and_no_stack_reaches_into_the_next_episode() -> None:
    replay = make_replay(capacity=10)
    replay.add(one_lane_step(1, first=True, continues=0.0, reward=1.0))
    replay.add(one_lane_step(2, valid=False))
    replay.add(one_lane_step(3, first=True))
    replay.add(one_lane_step(4))
    assert sampled(replay) == {1: ([0, 0, 1], 1.0, 0.0, [0, 1, 2]), 3: ([0, 0, 3], 0.0, DISCOUNT, [0, 3, 4])}


def test_a_time_limit_bootstraps_from_the_last_frame_of_its_own_episode() -> None:
    replay = make_replay(capacity=10)
    for step in (
        one_lane_step(1, first=True),
        one_lane_step(2),
        one_lane_step(3, valid=False),
        one_lane_step(9, first=True),
    ):
        replay.add(step)
    assert sampled(replay)[2] == ([0, 1, 2], 0.0, DISCOUNT, [1, 2, 3])


def test_a_lost_life_ends_the_return_but_not_the_stack() -> None:
    replay = make_replay(capacity=10)
    for step in (one_lane_step(1, first=True), one_lane_step(2, continues=0.0), one_lane_step(3), one_lane_step(4)):
        replay.add(step)
    found = sampled(replay)
    assert found[2] == ([0, 1, 2], 0.0, 0.0, [1, 2, 3])
    assert found[3] == ([1, 2, 3], 0.0, DISCOUNT, [2, 3, 4])


def test_a_stack_that_has_lost_a_frame_is_not_sampled_but_one_that_starts_its_episode_is() -> None:
    replay = make_replay(capacity=5)
    # The ring ends up with 3 to 7. Frame 4 would need 2 and 3; 5 has 3 to 5; 6 and 7 belong to the next episode.
    for step in (one_lane_step(1, first=True), *map(one_lane_step, (2, 3, 4, 5)), one_lane_step(6), one_lane_step(7)):
        replay.add(step)
    assert sorted(sampled(replay)) == [5, 6]
    replay.add(one_lane_step(8, valid=False))
    replay.add(one_lane_step(9, first=True))
    replay.add(one_lane_step(10))
    replay.add(one_lane_step(11))
    # Now 7 to 11: frame 7 needs 5 and 6, 8 is no transition, 9 starts an episode and needs no other.
    assert sorted(sampled(replay)) == [9, 10]
    assert replay.num_transitions() == 2


def test_a_lane_that_joins_in_mid_episode_is_sampled_once_its_stacks_are_whole() -> None:
    replay = make_replay(capacity=10)
    for frame in (1, 2, 3, 4):
        replay.add(one_lane_step(frame))
    assert sampled(replay) == {3: ([1, 2, 3], 0.0, DISCOUNT, [2, 3, 4])}


def test_a_step_whose_lane_was_reset_before_its_successor_was_seen_is_not_sampled() -> None:
    replay = make_replay(capacity=10)
    for step in (one_lane_step(1, first=True), one_lane_step(2), one_lane_step(3, first=True), one_lane_step(4)):
        replay.add(step)
    assert sorted(sampled(replay)) == [1, 3]
    replay.check_valid()


def test_a_record_that_is_no_transition_is_never_sampled_whatever_follows_it() -> None:
    replay = make_replay(capacity=10)
    for step in (one_lane_step(1, first=True), one_lane_step(2, valid=False), one_lane_step(3), one_lane_step(4)):
        replay.add(step)
    assert sorted(sampled(replay)) == [1, 3]


def test_three_steps_sum_their_rewards_and_bootstrap_from_the_third_state_after() -> None:
    replay = fed(
        one_lane_step(1, first=True, reward=1.0),
        one_lane_step(2, reward=2.0),
        one_lane_step(3, reward=4.0),
        one_lane_step(4, reward=8.0),
        one_lane_step(5),
        n_step=3,
    )
    # 1 + 2 / 2 + 4 / 4 and 2 + 4 / 2 + 8 / 4; record 3 lacks its third successor.
    assert sampled(replay) == {
        1: ([0, 0, 1], 3.0, DISCOUNT**3, [2, 3, 4]),
        2: ([0, 1, 2], 6.0, DISCOUNT**3, [3, 4, 5]),
    }


def test_a_transition_of_three_steps_appears_with_its_third_successor() -> None:
    steps = [one_lane_step(1, first=True), *map(one_lane_step, (2, 3, 4))]
    assert fed(*steps[:3], n_step=3).num_transitions() == 0
    assert fed(*steps, n_step=3).num_transitions() == 1


def test_a_time_limit_shortens_three_steps_and_bootstraps_from_the_last_frame_of_the_episode() -> None:
    replay = fed(
        one_lane_step(1, first=True, reward=1.0),
        one_lane_step(2, reward=2.0),
        one_lane_step(3, valid=False, reward=64.0),
        one_lane_step(7, first=True, reward=64.0),
        one_lane_step(8, reward=64.0),
        n_step=3,
    )
    assert sampled(replay) == {
        1: ([0, 0, 1], 2.0, DISCOUNT**2, [1, 2, 3]),
        2: ([0, 1, 2], 2.0, DISCOUNT, [1, 2, 3]),
    }


def test_game_over_within_three_steps_keeps_the_rewards_before_it_and_no_value() -> None:
    replay = fed(
        one_lane_step(1, first=True, reward=1.0),
        one_lane_step(2, reward=2.0, continues=0.0),
        one_lane_step(3, valid=False, reward=64.0),
        one_lane_step(7, first=True, reward=64.0),
        one_lane_step(8, reward=64.0),
        n_step=3,
    )
    found = sampled(replay)
    assert (found[1][1:3], found[2][1:3]) == ((2.0, 0.0), (2.0, 0.0))


def test_a_life_lost_within_three_steps_cuts_the_return_and_the_episode_goes_on() -> None:
    replay = fed(
        one_lane_step(1, first=True, reward=1.0),
        one_lane_step(2, reward=2.0, continues=0.0),
        one_lane_step(3, reward=4.0),
        one_lane_step(4, reward=8.0),
        one_lane_step(5, reward=16.0),
        one_lane_step(6),
        n_step=3,
    )
    found = sampled(replay)
    assert (found[1][1:3], found[2][1:3]) == ((2.0, 0.0), (2.0, 0.0))
    assert found[3] == ([1, 2, 3], 12.0, DISCOUNT**3, [4, 5, 6])


def test_a_reset_in_mid_episode_ends_three_steps_at_the_last_state_that_was_seen() -> None:
    replay = fed(
        one_lane_step(1, first=True, reward=1.0),
        one_lane_step(2, reward=2.0),
        one_lane_step(3, reward=64.0),
        one_lane_step(7, first=True, reward=64.0),
        one_lane_step(8),
        n_step=3,
    )
    assert sampled(replay) == {
        1: ([0, 0, 1], 2.0, DISCOUNT**2, [1, 2, 3]),
        2: ([0, 1, 2], 2.0, DISCOUNT, [1, 2, 3]),
    }


def test_three_steps_are_sampled_across_the_end_of_the_ring() -> None:
    replay = fed(one_lane_step(1, first=True), *map(one_lane_step, range(2, 12)), n_step=3, capacity=8)
    # The ring holds 4 to 11; 4 and 5 have lost frames of their stacks, 9 to 11 lack successors.
    assert sampled(replay) == {a: ([a - 2, a - 1, a], 0.0, DISCOUNT**3, [a + 1, a + 2, a + 3]) for a in (6, 7, 8)}


@pytest.mark.parametrize(("n_step", "num_frames"), [(1, 4), (2, 6)])
def test_frames_that_both_states_have_in_common_are_copied_once_only_one_step_apart(
    n_step: int, num_frames: int
) -> None:
    replay = fed(one_lane_step(1, first=True), *map(one_lane_step, (2, 3, 4)), n_step=n_step)
    batch = replay.sample()
    assert replay.stacks.shape == (64, num_frames, 1, 1)
    np.testing.assert_array_equal(batch.s_tm1, replay.stacks[:, :3])
    np.testing.assert_array_equal(batch.s_t, replay.stacks[:, -3:])


def test_its_stacks_are_the_emulators_own() -> None:
    """Breakout, random play, three lanes with time limits: what is sampled is what the emulator showed."""
    num_lanes, num_steps = 3, 400
    envs = AtariVectorEnv(
        "breakout",
        num_envs=num_lanes,
        num_threads=1,
        frameskip=4,
        grayscale=True,
        stack_num=4,
        img_height=84,
        img_width=84,
        noop_max=0,
        use_fire_reset=False,
        reward_clipping=False,
        episodic_life=False,
        repeat_action_probability=0.0,
        max_num_frames_per_episode=200,
    )
    replay = make_replay(num_lanes * 120, num_lanes=num_lanes, frame_shape=(84, 84), stack=4, batch_size=400)
    rng = np.random.default_rng(0)
    seen: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    observation, _ = envs.reset(seed=1)
    first = np.ones(num_lanes, np.bool_)
    valid = np.ones(num_lanes, np.bool_)
    num_truncated = 0
    for time in range(num_steps):
        number = np.arange(num_lanes) + num_lanes * time
        next_observation, reward, terminated, truncated, _ = envs.step(rng.integers(4, size=num_lanes))
        replay.add(
            LaneStep(
                frame_tm1=observation[:, -1],
                first_tm1=first,
                valid=valid,
                a_tm1=number,
                r_t=reward.astype(np.float32),
                continues_t=np.where(terminated, 0.0, 1.0).astype(np.float32),
            )
        )
        for lane in np.flatnonzero(valid):
            seen[int(number[lane])] = (observation[lane].copy(), next_observation[lane].copy())
        num_truncated += int(truncated.sum())
        first = ~valid
        valid = ~(terminated | truncated)
        observation = next_observation.copy()
    envs.close()
    assert num_truncated > 0
    batch = replay.sample()
    for s_tm1, number, s_t in zip(batch.s_tm1, batch.a_tm1, batch.s_t, strict=True):
        np.testing.assert_array_equal(s_tm1, seen[int(number)][0])
        np.testing.assert_array_equal(s_t, seen[int(number)][1])
