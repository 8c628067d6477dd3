"""UniformReplay against hand-made lanes, a slow replay of whole observations, and the emulator's own stacks."""

from collections import Counter

import numpy as np
import pytest
from ale_py import AtariVectorEnv
from scipy.stats import chisquare

from pipeline.errors import ConfigError
from pipeline.replay.config import ReplayConfig
from pipeline.replay.uniform import UniformReplay, fit_mistakes, memory_bytes
from pipeline.types import LaneStep
from tests.replay.slow_replay import DISCOUNT, scripted_steps, whole_lanes

GREY = (2, 3)
RGB = (2, 3, 3)


def make_replay(
    capacity: int,
    num_lanes: int = 1,
    frame_shape: tuple[int, ...] = (1, 1),
    stack: int = 3,
    batch_size: int = 64,
    seed: int = 0,
) -> UniformReplay:
    # The batch size is larger than some replays here: sampling is with replacement, so that is allowed.
    config = ReplayConfig(capacity=capacity, min_transitions=1, batch_size=batch_size)
    return UniformReplay(config, num_lanes, frame_shape, stack, DISCOUNT, np.random.default_rng(seed))


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


def sampled(replay: UniformReplay) -> dict[int, tuple[list[int], float, float, list[int]]]:
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


def test_a_transition_appears_once_its_successor_has_arrived() -> None:
    replay = make_replay(capacity=10)
    replay.add(one_lane_step(7, first=True, reward=2.0))
    assert replay.num_transitions() == 0
    replay.add(one_lane_step(8))
    assert replay.num_transitions() == 1
    assert sampled(replay) == {7: ([0, 0, 7], 2.0, DISCOUNT, [0, 7, 8])}


def test_sampling_before_any_transition_is_refused() -> None:
    replay = make_replay(capacity=10)
    replay.add(one_lane_step(7, first=True))
    with pytest.raises(ValueError, match="1 steps per lane and no transition"):
        replay.sample()


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


def test_what_was_added_is_copied() -> None:
    replay = make_replay(capacity=10)
    step = one_lane_step(7, first=True)
    replay.add(step)
    step.frame_tm1[:] = 99
    replay.add(one_lane_step(8))
    assert sampled(replay)[7][0] == [0, 0, 7]


def test_frames_of_another_shape_or_type_are_refused_with_both() -> None:
    replay = make_replay(capacity=20, num_lanes=2, frame_shape=GREY)
    step = next(scripted_steps(np.random.default_rng(0), 1, [5, 5], GREY))
    with pytest.raises(ValueError, match=r"float32 \(2, 2, 3\).*uint8 \(2, 2, 3\)"):
        replay.add(step._replace(frame_tm1=step.frame_tm1.astype(np.float32)))
    with pytest.raises(ValueError, match=r"uint8 \(2, 3\).*uint8 \(2, 2, 3\)"):
        replay.add(step._replace(frame_tm1=step.frame_tm1[0]))


@pytest.mark.parametrize("frame_shape", [GREY, RGB], ids=["grey", "rgb"])
@pytest.mark.parametrize("stack", [1, 2, 4])
@pytest.mark.parametrize("num_steps", [9, 40, 41, 203], ids=["filling", "full", "wrapped-once", "wrapped-often"])
def test_it_holds_exactly_what_a_slow_replay_of_whole_observations_holds(
    frame_shape: tuple[int, ...], stack: int, num_steps: int
) -> None:
    lane_capacity = 40
    steps = list(scripted_steps(np.random.default_rng(num_steps + stack), num_steps, [2, 6, 30], frame_shape))
    replay = make_replay(3 * lane_capacity, num_lanes=3, frame_shape=frame_shape, stack=stack, batch_size=1500)
    for step in steps:
        replay.add(step)
        replay.check_valid()
    expected = [t for lane in whole_lanes(steps, stack) for t in lane.transitions(lane_capacity)]
    by_contents = {(t.a_tm1, t.s_tm1.tobytes(), t.r_t, t.discount_t, t.s_t.tobytes()) for t in expected}
    batch = replay.sample()
    assert batch.s_tm1.shape == batch.s_t.shape == (1500, stack, *frame_shape)
    found = {
        (int(a), s_tm1.tobytes(), float(r), float(discount), s_t.tobytes())
        for s_tm1, a, r, discount, s_t in zip(*batch, strict=True)
    }
    assert replay.num_transitions() == len(expected) == len(by_contents)
    assert found == by_contents


@pytest.mark.parametrize("num_steps", [35, 95], ids=["filling", "wrapped"])
def test_every_transition_is_equally_likely_however_many_its_lane_has(num_steps: int) -> None:
    lane_capacity, num_draws = 50, 60_000
    steps = list(scripted_steps(np.random.default_rng(3), num_steps, [1, 5, 200], GREY))
    replay = make_replay(3 * lane_capacity, num_lanes=3, frame_shape=GREY, stack=4, batch_size=num_draws, seed=4)
    for step in steps:
        replay.add(step)
    lanes = whole_lanes(steps, stack=4)
    expected = [(t.s_tm1.tobytes()) for lane in lanes for t in lane.transitions(lane_capacity)]
    per_lane = [sum(1 for _ in lane.transitions(lane_capacity)) for lane in lanes]
    assert per_lane[0] < 0.8 * per_lane[2]  # else this would not test lanes of unequal fill
    counts = Counter(stack.tobytes() for stack in replay.sample().s_tm1)
    assert set(counts) == set(expected)
    assert chisquare([counts[key] for key in expected]).pvalue > 0.01


def test_the_same_generator_draws_the_same_minibatches() -> None:
    steps = list(scripted_steps(np.random.default_rng(0), 30, [4, 9], GREY))
    first, second = (make_replay(100, num_lanes=2, frame_shape=GREY, seed=5) for _ in range(2))
    for step in steps:
        first.add(step)
        second.add(step)
    for _ in range(3):
        for mine, other in zip(first.sample(), second.sample(), strict=True):
            np.testing.assert_array_equal(mine, other)


def test_minibatches_reuse_the_same_memory() -> None:
    replay = make_replay(capacity=10)
    for step in (one_lane_step(1, first=True), one_lane_step(2), one_lane_step(3)):
        replay.add(step)
    first, second = replay.sample(), replay.sample()
    assert all(np.shares_memory(mine, other) for mine, other in zip(first, second, strict=True))


@pytest.mark.parametrize("frame_shape", [GREY, RGB, (84, 84)])
def test_memory_is_foretold_to_the_byte(frame_shape: tuple[int, ...]) -> None:
    config = ReplayConfig(capacity=1003, min_transitions=10, batch_size=8)
    replay = UniformReplay(config, 4, frame_shape, stack=4, discount=0.99, rng=np.random.default_rng(0))
    assert memory_bytes(config, 4, frame_shape) == replay.nbytes


def test_memory_is_a_frame_and_nineteen_bytes_per_step_and_one_padding_frame() -> None:
    config = ReplayConfig(capacity=11, min_transitions=1, batch_size=1)
    assert memory_bytes(config, num_lanes=2, frame_shape=(2, 3, 3)) == 10 * (18 + 19) + 18


def test_a_replay_that_cannot_hold_one_transition_per_lane_is_refused_with_both_numbers() -> None:
    config = ReplayConfig(capacity=19, min_transitions=1, batch_size=1)
    with pytest.raises(ConfigError, match=r"replay\.capacity=19 gives 4 steps to each of 4 lanes.*stack=4 needs 5.*20"):
        UniformReplay(config, 4, GREY, stack=4, discount=0.99, rng=np.random.default_rng(0))


def test_a_replay_that_can_never_reach_its_minimum_is_refused_and_the_advised_size_is_enough() -> None:
    config = ReplayConfig(capacity=100, min_transitions=70, batch_size=10)
    (mistake,) = fit_mistakes(config, num_lanes=8, stack=4)
    assert "leaves 64 transitions when full" in mistake
    assert "raise capacity to at least 110" in mistake
    advised = ReplayConfig(capacity=110, min_transitions=70, batch_size=10)
    assert fit_mistakes(advised, num_lanes=8, stack=4) == []


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
    replay = make_replay(num_lanes * 120, num_lanes, (84, 84), stack=4, batch_size=400)
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
