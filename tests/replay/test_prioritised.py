"""Prioritised draws against exact chances that a slow book of priorities knows."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import chisquare

from pipeline.replay.memory import ReplayMemory
from pipeline.replay.prioritised import PrioritisedSampler
from pipeline.replay.ring import LaneRing
from pipeline.types import Int64Array, LaneStep
from tests.replay.memories import make_replay, replay_config
from tests.replay.slow_replay import scripted_steps, whole_lanes

GREY = (2, 3)
ALPHA = 0.6
FLOOR = 0.01
LANE_CAPACITY = 25

Name = tuple[int, int, int]
"""Writer, lane, step."""


@dataclass
class SlowBook:
    """Two writers' transitions and their priorities, looked up anew after each step."""

    n_step: int
    steps: tuple[list[LaneStep], list[LaneStep]] = field(default_factory=lambda: ([], []))
    priorities: dict[Name, float] = field(default_factory=dict)
    largest: float = 1.0

    def add(self, step: LaneStep, writer: int) -> None:
        """A new transition has the largest priority so far; one that is gone has none."""
        self.steps[writer].append(step)
        held = {
            (writer, lane.lane, t.a_tm1)
            for writer, steps in enumerate(self.steps)
            for lane in (whole_lanes(steps, stack=3) if steps else [])
            for t in lane.transitions(LANE_CAPACITY, self.n_step)
        }
        self.priorities = {name: self.priorities.get(name, self.largest) for name in held}

    def update(self, name: Name, abs_error: float) -> None:
        """One at a time, in the order of the call."""
        if name in self.priorities:
            self.priorities[name] = (abs_error + FLOOR) ** ALPHA
            self.largest = max(self.largest, self.priorities[name])

    def chances(self) -> dict[Name, float]:
        """Exact."""
        total = sum(self.priorities.values())
        return {name: priority / total for name, priority in self.priorities.items()}


def names_of(key: Int64Array) -> list[Name]:
    """Two writers of two lanes: the key counts lane after lane, step after step."""
    return [(int(k) % 4 // 2, int(k) % 2, int(k) // 4) for k in key]


def trained(n_step: int, batch_size: int, num_rounds: int, seed: int = 0) -> tuple[ReplayMemory, SlowBook]:
    """A replay that was written by two writers, one faster than the other, and whose priorities were changed often."""
    rng = np.random.default_rng(seed)
    writers = [scripted_steps(rng, num_rounds, [4, 40], GREY, reset_chance=0.03) for _ in range(2)]
    replay = make_replay(
        4 * LANE_CAPACITY,
        num_writers=2,
        num_lanes=2,
        frame_shape=GREY,
        n_step=n_step,
        batch_size=batch_size,
        alpha=ALPHA,
        seed=seed,
    )
    book = SlowBook(n_step)
    for time in range(num_rounds):
        for writer in (0, 1) if time % 3 == 0 else (0,):
            step = next(writers[writer])
            replay.add(step, writer)
            book.add(step, writer)
        if replay.num_transitions() > 0:
            key = replay.sample().key[:8]
            abs_error = rng.exponential(2.0, size=len(key)).astype(np.float32)
            replay.update_priorities(key, abs_error)
            for name, error in zip(names_of(key), abs_error, strict=True):
                book.update(name, float(error))
    replay.check_valid()
    return replay, book


@pytest.mark.parametrize(
    ("n_step", "batch_size", "num_samples"),
    [(1, 1, 4000), (1, 64, 500), (3, 64, 500)],
    ids=["independent draws", "stratified", "stratified, three steps"],
)
def test_draws_follow_the_exact_chances_after_updates_and_overwriting(
    n_step: int, batch_size: int, num_samples: int
) -> None:
    replay, book = trained(n_step, batch_size, num_rounds=70)
    chances = book.chances()
    assert replay.num_transitions() == len(chances)
    assert max(chances.values()) > 10 * min(chances.values())  # else uniform draws would pass
    counts: Counter[Name] = Counter()
    for _ in range(num_samples):
        counts.update(names_of(replay.sample().key))
    assert counts.keys() <= chances.keys()
    num_draws = batch_size * num_samples
    expected = [num_draws * chance for chance in chances.values()]
    assert chisquare([counts[name] for name in chances], expected).pvalue > 0.01


@pytest.mark.parametrize("n_step", [1, 3])
def test_each_transition_comes_with_its_exact_relative_chance(n_step: int) -> None:
    replay, book = trained(n_step, batch_size=500, num_rounds=70)
    chances = book.chances()
    batch = replay.sample()
    exact = [len(chances) * chances[name] for name in names_of(batch.key)]
    np.testing.assert_allclose(batch.relative_chance, exact, rtol=1e-6)
    assert replay.mass == pytest.approx(sum(book.priorities.values()))


def test_a_draw_takes_one_from_each_stretch_of_equal_mass() -> None:
    ring = LaneRing(1, 1, 10, (1, 1), stack=1, n_step=1)
    sampler = PrioritisedSampler(ring, 1.0, 0.5, np.random.default_rng(0))
    for step in scripted_steps(np.random.default_rng(0), 5, [100], (1, 1)):
        sampler.note(ring.add(step, 0))
    sampler.update(np.array([0, 1, 2, 3]), np.array([0.5, 1.5, 0.5, 3.5], np.float32))  # priorities 1, 2, 1, 4
    assert sampler.mass == 8.0
    for _ in range(50):
        assert sampler.draw(8).records.tolist() == [0, 1, 1, 2, 3, 3, 3, 3]
    assert sampler.draw(8).relative_chance.tolist() == [0.5, 1.0, 1.0, 0.5, 2.0, 2.0, 2.0, 2.0]


def test_a_new_transition_is_as_likely_as_the_likeliest_ever_was() -> None:
    replay = make_replay(50, num_lanes=1, frame_shape=GREY, batch_size=200, alpha=1.0)
    steps = scripted_steps(np.random.default_rng(0), 9, [100], GREY)
    for _ in range(4):
        replay.add(next(steps))
    replay.update_priorities(np.array([0, 1, 2]), np.array([1.99, 5.99, 0.99], np.float32))
    replay.update_priorities(np.array([1]), np.array([0.99], np.float32))
    replay.add(next(steps))  # makes record 3 a transition
    batch = replay.sample()
    # Priorities 2, 1, 1 and 6.
    found = dict(zip(batch.key.tolist(), batch.relative_chance.tolist(), strict=True))
    assert found == pytest.approx({0: 0.8, 1: 0.4, 2: 0.4, 3: 2.4})


def test_errors_of_transitions_that_are_gone_are_passed_over() -> None:
    replay = make_replay(4 * 10, num_lanes=4, frame_shape=GREY, batch_size=200, alpha=ALPHA)
    steps = scripted_steps(np.random.default_rng(0), 40, [100] * 4, GREY)
    for _ in range(10):
        replay.add(next(steps))
    gone = replay.sample().key
    gone = gone[gone % 4 == 0]  # of one lane, so that a mistake would make lanes unequal
    for _ in range(20):
        replay.add(next(steps))
    replay.update_priorities(gone, np.full(len(gone), 1e6, np.float32))
    replay.add(next(steps))  # would get the largest priority
    assert set(replay.sample().relative_chance.tolist()) == {1.0}
    replay.check_valid()


def test_of_updates_by_two_learners_in_any_order_the_last_word_on_each_transition_counts() -> None:
    replay = make_replay(4 * 20, num_lanes=4, frame_shape=GREY, batch_size=400, alpha=ALPHA)
    for step in scripted_steps(np.random.default_rng(0), 20, [100] * 4, GREY):
        replay.add(step)
    rng = np.random.default_rng(1)
    last: dict[int, float] = {}
    for _ in range(20):
        first, second = (replay.sample().key.copy() for _ in range(2))  # they have many transitions in common
        parts = [part for keys in (first, second) for part in np.array_split(keys, 10)]
        for i in rng.permutation(20):
            abs_error = rng.exponential(size=len(parts[i])).astype(np.float32)
            replay.update_priorities(parts[i], abs_error)
            last |= dict(zip(parts[i].tolist(), abs_error.tolist(), strict=True))
        assert len(last) == replay.num_transitions()  # the first round names them all: 400 stretches, 76 alike
        priorities = {key: (error + FLOOR) ** ALPHA for key, error in last.items()}
        mean = sum(priorities.values()) / len(priorities)
        batch = replay.sample()
        exact = [priorities[key] / mean for key in batch.key.tolist()]
        np.testing.assert_allclose(batch.relative_chance, exact, rtol=1e-6)


def test_an_error_of_zero_is_still_drawn_and_a_negative_or_infinite_one_refused() -> None:
    replay = make_replay(40, frame_shape=GREY, batch_size=8, alpha=ALPHA)
    for step in scripted_steps(np.random.default_rng(0), 20, [100], GREY):
        replay.add(step)
    key = replay.sample().key
    replay.update_priorities(key, np.zeros(8, np.float32))
    replay.check_valid()
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="must be finite and at least 0"):
            replay.update_priorities(key, np.full(8, bad, np.float32))
    with pytest.raises(ValueError, match=r"key has shape \(8,\), abs_error \(7,\)"):
        replay.update_priorities(key, np.zeros(7, np.float32))


def test_check_valid_finds_a_priority_of_what_cannot_be_sampled() -> None:
    replay, _ = trained(n_step=1, batch_size=8, num_rounds=40)
    sampler = replay._sampler
    unsamplable = np.flatnonzero(~replay._ring.samplable)[:1]
    sampler.update(unsamplable, np.ones(1, np.float32))
    with pytest.raises(AssertionError, match=rf"records \[{unsamplable[0]}\] have a priority"):
        replay.check_valid()


def test_the_floor_and_the_exponent_come_from_the_settings() -> None:
    config = replay_config(capacity=20, batch_size=100, priority_exponent=2.0, priority_floor=1.0)
    replay = ReplayMemory(config, 1, 1, GREY, 3, 0.99, 1, np.random.default_rng(0))
    for step in scripted_steps(np.random.default_rng(0), 3, [100], GREY):
        replay.add(step)
    replay.update_priorities(np.array([0, 1]), np.array([0.0, 2.0], np.float32))  # priorities 1 and 9
    batch = replay.sample()
    assert dict(zip(batch.key.tolist(), batch.relative_chance.tolist(), strict=True)) == pytest.approx({0: 0.2, 1: 1.8})
