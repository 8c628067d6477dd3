"""A slow replay that keeps whole observations, and scripted lanes to feed it and the real one alike."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pipeline.types import LaneStep, UInt8Array

DISCOUNT = 0.5


@dataclass(frozen=True)
class WholeTransition:
    """One transition with both observations in full; `a_tm1` is its number in its lane, so no two are alike."""

    lane: int
    s_tm1: UInt8Array
    a_tm1: int
    r_t: float
    discount_t: float
    s_t: UInt8Array


@dataclass
class WholeLane:
    """One lane as the emulator shows it: an observation is a stack, shifted by one frame per step."""

    lane: int
    stack: int
    observations: list[UInt8Array] = field(default_factory=list)
    ages: list[int] = field(default_factory=list)
    """Frames of this observation's episode so far, itself counted."""
    steps: list[tuple[bool, int, float, float]] = field(default_factory=list)
    """valid, a_tm1, r_t, continues_t."""

    def add(self, frame: UInt8Array, first: bool, step: tuple[bool, int, float, float]) -> None:
        """What LaneStep says of this lane."""
        if first and self.steps:  # nobody saw where the last action led
            self.steps[-1] = (False, *self.steps[-1][1:])
        empty = np.zeros((self.stack, *frame.shape), np.uint8)
        before = empty if first or not self.observations else self.observations[-1]
        self.observations.append(np.concatenate([before[1:], frame[None]]))
        self.ages.append(1 if first or not self.ages else self.ages[-1] + 1)
        self.steps.append(step)

    def transitions(self, lane_capacity: int, n_step: int) -> Iterator[WholeTransition]:
        """What a replay can still know that holds the newest `lane_capacity` frames of this lane."""
        oldest = max(0, len(self.steps) - lane_capacity)
        for i in range(oldest, len(self.steps) - n_step):
            valid, a_tm1, _, _ = self.steps[i]
            oldest_needed = i + 1 - min(self.ages[i], self.stack)
            if valid and oldest_needed >= oldest:
                r_t, discount_t, end = 0.0, 1.0, i
                while end < i + n_step and self.steps[end][0]:
                    r_t += discount_t * self.steps[end][2]
                    discount_t *= DISCOUNT * self.steps[end][3]
                    end += 1
                s_tm1, s_t = self.observations[i], self.observations[end]
                yield WholeTransition(self.lane, s_tm1, a_tm1, r_t, discount_t, s_t)


def scripted_steps(
    rng: np.random.Generator,
    num_steps: int,
    episode_lengths: list[int],
    frame_shape: tuple[int, ...],
    reset_chance: float = 0.0,
) -> Iterator[LaneStep]:
    """Steps of one lane per entry of `episode_lengths`: the mean length of its episodes, which vary.

    Half of the episodes end by a time limit (the return continues), half by game over; now and then a life is lost, and
    with `reset_chance` per step a lane is reset in mid-episode. Rewards are eighths: their sums are exact in float32.
    """
    num_lanes = len(episode_lengths)
    first = np.ones(num_lanes, np.bool_)
    steps_left = rng.integers(1, 2 * np.array(episode_lengths))
    for time in range(num_steps):
        valid = steps_left > 0  # 0: this is the episode's last observation, its action is ignored
        game_over = (steps_left == 1) & (rng.random(num_lanes) < 0.5)
        life_lost = valid & (rng.random(num_lanes) < 0.1)
        yield LaneStep(
            frame_tm1=rng.integers(1, 256, size=(num_lanes, *frame_shape), dtype=np.uint8),
            first_tm1=first,
            valid=valid,
            a_tm1=np.full(num_lanes, time, np.int64),
            r_t=(np.rint(8 * rng.normal(size=num_lanes)) / 8).astype(np.float32),
            continues_t=np.where(game_over | life_lost, 0.0, 1.0).astype(np.float32),
        )
        first = ~valid
        if reset_chance > 0:
            first |= rng.random(num_lanes) < reset_chance
        new_lengths = rng.integers(1, 2 * np.array(episode_lengths))
        steps_left = np.where(first, new_lengths, steps_left - 1)


def whole_lanes(steps: list[LaneStep], stack: int) -> list[WholeLane]:
    """The slow replay's lanes after these steps."""
    lanes = [WholeLane(lane, stack) for lane in range(len(steps[0].valid))]
    for step in steps:
        for i, lane in enumerate(lanes):
            outcome = (bool(step.valid[i]), int(step.a_tm1[i]), float(step.r_t[i]), float(step.continues_t[i]))
            lane.add(step.frame_tm1[i], bool(step.first_tm1[i]), outcome)
    return lanes
