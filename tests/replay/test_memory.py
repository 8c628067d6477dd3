"""ReplayMemory as a whole: against a slow replay of whole observations, several writers, keys, and its size."""

import numpy as np
import pytest

from pipeline.errors import ConfigError
from pipeline.replay.memory import ReplayMemory, fit_mistakes, lane_capacity, memory_bytes
from pipeline.types import LaneStep, TransitionBatch
from tests.replay.memories import make_replay, replay_config
from tests.replay.slow_replay import scripted_steps, whole_lanes

GREY = (2, 3)
RGB = (2, 3, 3)

Contents = set[tuple[int, bytes, float, float, bytes]]


def expected_contents(steps: list[LaneStep], stack: int, lane_capacity: int, n_step: int) -> Contents:
    """What the slow replay knows of one writer."""
    return {
        (t.a_tm1, t.s_tm1.tobytes(), t.r_t, t.discount_t, t.s_t.tobytes())
        for lane in whole_lanes(steps, stack)
        for t in lane.transitions(lane_capacity, n_step)
    }


def contents(batch: TransitionBatch) -> Contents:
    """What one large sample found."""
    rows = zip(batch.s_tm1, batch.a_tm1, batch.r_t, batch.discount_t, batch.s_t, strict=True)
    return {(int(a), s_tm1.tobytes(), float(r), float(d), s_t.tobytes()) for s_tm1, a, r, d, s_t in rows}


@pytest.mark.parametrize(("frame_shape", "stack"), [(GREY, 1), (RGB, 2), (GREY, 4)])
@pytest.mark.parametrize("n_step", [1, 3, 5])
@pytest.mark.parametrize("num_steps", [9, 40, 41, 203], ids=["filling", "full", "wrapped-once", "wrapped-often"])
def test_it_holds_exactly_what_a_slow_replay_of_whole_observations_holds(
    frame_shape: tuple[int, ...], stack: int, n_step: int, num_steps: int
) -> None:
    rng = np.random.default_rng(num_steps + stack)
    steps = list(scripted_steps(rng, num_steps, [2, 6, 30], frame_shape, reset_chance=0.05))
    replay = make_replay(3 * 40, num_lanes=3, frame_shape=frame_shape, stack=stack, n_step=n_step, batch_size=1500)
    for step in steps:
        replay.add(step)
        replay.check_valid()
    expected = expected_contents(steps, stack, 40, n_step)
    batch = replay.sample()
    assert batch.s_tm1.shape == batch.s_t.shape == (1500, stack, *frame_shape)
    assert replay.num_transitions() == len(expected)
    assert contents(batch) == expected


@pytest.mark.parametrize("alpha", [None, 0.6], ids=["uniform", "prioritised"])
@pytest.mark.parametrize("n_step", [1, 3])
def test_writers_of_unequal_fill_do_not_disturb_each_other(alpha: float | None, n_step: int) -> None:
    rng = np.random.default_rng(5)
    per_writer = [list(scripted_steps(rng, num, [3, 20], GREY, reset_chance=0.05)) for num in (150, 31, 0, 6)]
    replay = make_replay(
        4 * 2 * 40, num_writers=4, num_lanes=2, frame_shape=GREY, n_step=n_step, batch_size=3000, alpha=alpha
    )
    order = np.repeat(np.arange(4), [len(steps) for steps in per_writer])
    rng.shuffle(order)
    waiting = [iter(steps) for steps in per_writer]
    for writer in order:
        replay.add(next(waiting[writer]), int(writer))
        replay.check_valid()
    expected: Contents = set()
    for steps in per_writer[:2] + per_writer[3:]:
        expected |= expected_contents(steps, 3, 40, n_step)
    assert replay.num_transitions() == len(expected)
    assert contents(replay.sample()) == expected


def test_minibatches_of_one_writer_drawn_uniformly_are_what_they_always_were() -> None:
    """Pinned: runs of earlier versions drew these from the same seed."""
    replay = make_replay(60, num_lanes=2, batch_size=6, seed=7)
    for step in scripted_steps(np.random.default_rng(11), 47, [3, 9], (1, 2)):
        replay.add(step._replace(frame_tm1=step.frame_tm1[:, :, :1]))
    batch = replay.sample()
    assert batch.a_tm1.tolist() == [26, 37, 41, 20, 34, 43]
    assert batch.r_t.tolist() == [0.5, 1.125, 0.5, 0.75, 0.625, 2.625]
    assert batch.discount_t.tolist() == [0.5, 0.0, 0.5, 0.5, 0.5, 0.5]
    first_pixels = [[245, 208, 127], [143, 173, 23], [72, 200, 118], [67, 106, 240], [0, 0, 218], [0, 0, 130]]
    assert batch.s_tm1.reshape(6, 3).tolist() == first_pixels
    assert batch.s_t[:, -1].ravel().tolist() == [169, 81, 184, 81, 143, 152]
    assert replay.sample().a_tm1.tolist() == [33, 29, 19, 22, 24, 30]


def test_all_that_was_ever_added_is_counted() -> None:
    steps = list(scripted_steps(np.random.default_rng(0), 100, [4, 9], GREY))
    replay = make_replay(2 * 20, num_lanes=2, frame_shape=GREY, n_step=3)
    for step in steps:
        replay.add(step)
    assert replay.num_added == len(expected_contents(steps, 3, 100, 3))
    assert type(replay.num_added) is int
    assert replay.num_transitions() < 40


def test_a_key_names_one_transition_for_ever() -> None:
    replay = make_replay(2 * 2 * 10, num_writers=2, num_lanes=2, frame_shape=GREY, batch_size=200)
    rng = np.random.default_rng(1)
    writers = [scripted_steps(rng, 60, [3, 20], GREY) for _ in range(2)]
    seen: dict[int, bytes] = {}
    for _ in range(60):
        for writer, steps in enumerate(writers):
            replay.add(next(steps), writer)
        if replay.num_transitions() > 0:
            batch = replay.sample()
            for key, s_tm1 in zip(batch.key, batch.s_tm1, strict=True):
                assert seen.setdefault(int(key), s_tm1.tobytes()) == s_tm1.tobytes()
    assert len(seen) == len(set(seen.values())) > 100


def test_uniform_minibatches_say_that_all_are_equally_likely() -> None:
    replay = make_replay(40, num_lanes=2, frame_shape=GREY)
    for step in scripted_steps(np.random.default_rng(0), 20, [4, 9], GREY):
        replay.add(step)
    batch = replay.sample()
    assert set(batch.relative_chance.tolist()) == {1.0}
    replay.update_priorities(batch.key, np.full(64, 9.0, np.float32))
    assert set(replay.sample().relative_chance.tolist()) == {1.0}


def test_sampling_before_any_transition_is_refused() -> None:
    replay = make_replay(40, num_lanes=2, frame_shape=GREY)
    replay.add(next(scripted_steps(np.random.default_rng(0), 1, [5, 5], GREY)))
    with pytest.raises(ValueError, match=r"without a transition yet: its writers gave \[1\] steps per lane"):
        replay.sample()


def test_what_was_added_is_copied() -> None:
    replay = make_replay(40, num_lanes=2, frame_shape=GREY, batch_size=500)
    steps = list(scripted_steps(np.random.default_rng(0), 10, [50, 50], GREY))
    expected = expected_contents(steps, 3, 20, 1)
    for step in steps:
        replay.add(step)
        for field in step:
            field[:] = 1
    assert contents(replay.sample()) == expected


def test_frames_of_another_shape_or_type_are_refused_with_both() -> None:
    replay = make_replay(capacity=20, num_lanes=2, frame_shape=GREY)
    step = next(scripted_steps(np.random.default_rng(0), 1, [5, 5], GREY))
    with pytest.raises(ValueError, match=r"float32 \(2, 2, 3\).*uint8 \(2, 2, 3\)"):
        replay.add(step._replace(frame_tm1=step.frame_tm1.astype(np.float32)))
    with pytest.raises(ValueError, match=r"uint8 \(2, 3\).*uint8 \(2, 2, 3\)"):
        replay.add(step._replace(frame_tm1=step.frame_tm1[0]))


def test_a_writer_that_is_not_there_is_refused() -> None:
    replay = make_replay(80, num_writers=2, num_lanes=2, frame_shape=GREY)
    step = next(scripted_steps(np.random.default_rng(0), 1, [5, 5], GREY))
    with pytest.raises(ValueError, match=r"writer=2: this replay has 2 writers"):
        replay.add(step, writer=2)


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
    replay = make_replay(40, num_lanes=2, frame_shape=GREY)
    for step in scripted_steps(np.random.default_rng(0), 20, [4, 9], GREY):
        replay.add(step)
    first, second = replay.sample(), replay.sample()
    assert all(np.shares_memory(mine, other) for mine, other in zip(first, second, strict=True))


@pytest.mark.parametrize("alpha", [None, 0.6], ids=["uniform", "prioritised"])
@pytest.mark.parametrize("frame_shape", [GREY, RGB, (84, 84)])
def test_memory_is_foretold_to_the_byte(alpha: float | None, frame_shape: tuple[int, ...]) -> None:
    config = replay_config(capacity=1003, min_transitions=10, priority_exponent=alpha)
    replay = ReplayMemory(config, 2, 4, frame_shape, 4, 0.99, 3, np.random.default_rng(0))
    assert memory_bytes(config, 2, 4, frame_shape) == replay.nbytes


def test_memory_is_a_frame_and_nineteen_bytes_per_step_and_one_padding_frame() -> None:
    config = replay_config(capacity=11)
    assert memory_bytes(config, num_writers=1, num_lanes=2, frame_shape=(2, 3, 3)) == 10 * (18 + 19) + 18


def test_priorities_take_eight_bytes_per_leaf_and_inner_node() -> None:
    uniform, prioritised = replay_config(capacity=5000), replay_config(capacity=5000, priority_exponent=0.6)
    more = memory_bytes(prioritised, 1, 2, GREY) - memory_bytes(uniform, 1, 2, GREY)
    assert more == 8 * (5008 + 313)  # 5000 leaves in 313 families of 16


@pytest.mark.parametrize("alpha", [None, 0.6], ids=["uniform", "prioritised"])
@pytest.mark.parametrize("budget", [100_000, 123_457, 1_000_003])
@pytest.mark.parametrize(("num_writers", "num_lanes"), [(1, 1), (3, 4)])
def test_a_budget_of_bytes_is_kept_and_used_up_to_a_step_per_lane(
    alpha: float | None, budget: int, num_writers: int, num_lanes: int
) -> None:
    config = replay_config(capacity=None, capacity_bytes=budget, priority_exponent=alpha)
    held = lane_capacity(config, num_writers, num_lanes, (8, 8))
    one_more = replay_config(capacity=(held + 1) * num_writers * num_lanes, priority_exponent=alpha)
    replay = ReplayMemory(config, num_writers, num_lanes, (8, 8), 4, 0.99, 1, np.random.default_rng(0))
    assert memory_bytes(config, num_writers, num_lanes, (8, 8)) == replay.nbytes <= budget
    assert memory_bytes(one_more, num_writers, num_lanes, (8, 8)) > budget


def test_a_replay_that_cannot_hold_one_transition_per_lane_is_refused_with_both_numbers() -> None:
    config = replay_config(capacity=27)
    message = r"replay\.capacity=27 gives 6 steps to each of 4 lanes.*stack=4 and n_step=3 needs 7.*at least 28"
    with pytest.raises(ConfigError, match=message):
        ReplayMemory(config, 2, 2, GREY, 4, 0.99, 3, np.random.default_rng(0))
    assert fit_mistakes(replay_config(capacity=28), 2, 2, GREY, 4, 3) == []


def test_a_replay_that_can_never_reach_its_minimum_is_refused_and_the_advised_size_is_enough() -> None:
    (mistake,) = fit_mistakes(replay_config(capacity=100, min_transitions=70), 2, 4, GREY, 4, 1)
    assert "leaves 64 transitions when full" in mistake
    assert "raise capacity to at least 110" in mistake
    assert fit_mistakes(replay_config(capacity=110, min_transitions=70), 2, 4, GREY, 4, 1) == []


def test_a_budget_too_small_is_refused_in_bytes_and_the_advised_one_is_enough() -> None:
    def mistakes(capacity_bytes: int) -> list[str]:
        config = replay_config(capacity=None, capacity_bytes=capacity_bytes, min_transitions=70, priority_exponent=0.6)
        return fit_mistakes(config, 1, 4, GREY, 4, 3)

    (mistake,) = mistakes(100)
    assert mistake.startswith(
        "capacity_bytes=100 gives 0 steps to each of 4 lanes, a transition of stack=4 and n_step=3"
    )
    (mistake,) = mistakes(int(mistake.split()[-1]))
    assert "leaves 4 transitions when full, min_transitions=70 would never be reached" in mistake
    assert mistakes(int(mistake.split()[-1])) == []


def test_a_full_replay_really_has_as_many_transitions_as_the_check_counts_on() -> None:
    replay = make_replay(2 * 20, num_lanes=2, frame_shape=GREY, stack=4, n_step=3)
    for step in scripted_steps(np.random.default_rng(0), 60, [10_000, 10_000], GREY):
        replay.add(step)
    assert replay.num_transitions() == 2 * (20 - 4 - 3 + 1)
    assert fit_mistakes(replay_config(capacity=40, min_transitions=28), 1, 2, GREY, 4, 3) == []
    assert fit_mistakes(replay_config(capacity=40, min_transitions=29), 1, 2, GREY, 4, 3) != []
