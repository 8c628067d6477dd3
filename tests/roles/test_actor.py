"""The actor on real games: what reaches the replay, and what reaches the rows."""

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pipeline import seeding
from pipeline.algorithms.exploration_config import ExplorationConfig
from pipeline.envs.atari import AtariLanes
from pipeline.interfaces import TransitionSink
from pipeline.networks.replica import QReplica
from pipeline.roles.actor import Actor
from pipeline.roles.follower import Follower
from pipeline.roles.place import RolePlace
from pipeline.schedules import Extent
from pipeline.types import LaneStep
from tests.networks.configs import network_config
from tests.protocols import nature_protocol
from tests.roles.wiring import Rows, Wired, bundle_spec


class Kept(TransitionSink):
    """A sink that keeps copies of all steps."""

    def __init__(self) -> None:
        self.steps: list[LaneStep] = []

    def add(self, step: LaneStep) -> None:
        self.steps.append(LaneStep._make(array.copy() for array in step))


@functools.cache
def any_follower() -> Follower[QReplica]:
    """A network of which nobody asks anything."""
    return Wired(bundle_spec(num_lanes=1)).bundle._online


def random_actor(game: str, rows: Rows, kept: Kept, num_lanes: int = 2, **protocol: object) -> Actor:
    """Plays at random: epsilon stays 1, so that the network is never asked."""
    follower = any_follower()
    lanes = AtariLanes(game, nature_protocol(**protocol), num_lanes, num_threads=1)
    exploration = ExplorationConfig(1.0, 1.0, 1, None, 0.0)
    seeds = seeding.emulator_seeds(0, "test", count=num_lanes)
    place = RolePlace("bundle-0", 0, 3, 0, 100.0)
    rng = np.random.default_rng(0)
    return Actor(place, lanes, follower, 1, exploration, Extent(None, None), kept, rows, rng, torch.Generator(), seeds)


def test_a_lost_life_ends_the_return_but_not_the_episode() -> None:
    rows, kept = Rows(), Kept()
    actor = random_actor("Breakout", rows, kept)
    while not rows.episodes:
        actor.step()
    first = rows.episodes[0]
    lane = [step for step in kept.steps if step.valid[first.lane]][: first.num_steps]
    ends = sum(step.continues_t[first.lane] == 0 for step in lane)
    assert ends == 5, "Breakout has five lives; the last one ends the game"
    assert sum(step.first_tm1[first.lane] for step in lane) == 1


def test_without_the_life_rule_only_the_end_of_the_game_ends_the_return() -> None:
    rows, kept = Rows(), Kept()
    actor = random_actor("Breakout", rows, kept, num_lanes=1, life_loss_ends_return=False)
    while not rows.episodes:
        actor.step()
    assert [step.continues_t[0] for step in kept.steps].count(0.0) == 1


def test_a_time_limit_does_not_end_the_return_and_is_marked_in_the_row() -> None:
    rows, kept = Rows(), Kept()
    actor = random_actor("Pong", rows, kept, num_lanes=1, max_frames=200, noop_max=0)
    while not rows.episodes:
        actor.step()
    assert rows.episodes[0].truncated
    assert rows.episodes[0].num_steps == 50
    assert all(step.continues_t[0] == 1.0 for step in kept.steps)


def test_rewards_are_clipped_for_the_replay_and_whole_in_the_score() -> None:
    rows, kept = Rows(), Kept()
    actor = random_actor("MsPacman", rows, kept, num_lanes=1)
    while not rows.episodes:
        actor.step()
    clipped = [float(step.r_t[0]) for step in kept.steps if step.valid[0]]
    assert set(clipped) <= {-1.0, 0.0, 1.0}
    assert rows.episodes[0].score == 10 * round(rows.episodes[0].score / 10) > sum(clipped)


def test_a_row_counts_steps_and_frames_of_the_whole_run() -> None:
    rows = Rows()
    actor = random_actor("Breakout", rows, Kept())
    while not rows.episodes:
        actor.step()
    row = rows.episodes[0]
    assert row.end_step == actor.num_steps
    assert row.total_frames == actor.num_steps * 4 * 3, "frame skip 4, three actors"
    assert row.wall_seconds >= 100.0, "time before a resume counts"


def test_the_step_that_only_resets_is_no_transition_and_does_not_count() -> None:
    rows, kept = Rows(), Kept()
    actor = random_actor("Breakout", rows, kept, num_lanes=1)
    while len(rows.episodes) < 2:
        actor.step()
    resets = [i for i, step in enumerate(kept.steps) if not step.valid[0]]
    assert len(resets) == 1
    assert kept.steps[resets[0] + 1].first_tm1[0]
    assert sum(bool(step.valid[0]) for step in kept.steps) == actor.num_steps


def apex_exploration() -> ExplorationConfig:
    """Epsilon 0.4 and exponents 1 to 8 (Horgan et al. 2018, section 4.1)."""
    return ExplorationConfig(initial_epsilon=0.4, final_epsilon=0.4, decay_updates=1, decay_share=None, lane_spread=7.0)


def test_lanes_of_one_run_explore_differently_when_asked_to() -> None:
    means = []
    for index in range(2):
        spec = bundle_spec(
            place=RolePlace(f"bundle-{index}", index, 2, 0, 0.0),
            num_lanes=2,
            algorithm=replace(bundle_spec().algorithm, exploration=apex_exploration()),
        )
        wired = Wired(spec)
        wired.bundle.step()
        means.append(wired.bundle.progress().epsilon)
    exponents = [1, 1 + 7 / 3, 1 + 14 / 3, 8]
    assert means[0] == pytest.approx((0.4 ** exponents[0] + 0.4 ** exponents[1]) / 2)
    assert means[1] == pytest.approx((0.4 ** exponents[2] + 0.4 ** exponents[3]) / 2)


def over_half_the_budget(place: RolePlace, **changes: Any) -> Wired:
    """A bundle of four lanes whose epsilon falls from 1 to 0 over half of 400 agent steps of two actors."""
    exploration = ExplorationConfig(1.0, 0.0, None, 0.5, 0.0)
    algorithm = replace(bundle_spec().algorithm, exploration=exploration)
    return Wired(
        bundle_spec(place=place, num_lanes=4, algorithm=algorithm, **{"extent": Extent(400.0, None)} | changes)
    )


def test_epsilon_falls_over_a_share_of_the_steps_of_all_actors() -> None:
    bundle = over_half_the_budget(RolePlace("bundle-0", 0, 2, 0, 0.0)).bundle
    found = []
    for _ in range(3):
        bundle.step()
        found.append((bundle.progress().epsilon, bundle.progress().budget_share))
    # Four lanes, as many of the other actor: 8 of 400 steps a time. Epsilon is that of the step before.
    assert found == [pytest.approx(pair) for pair in [(1.0, 0.02), (0.96, 0.04), (0.92, 0.06)]]


def test_a_resume_goes_on_with_the_share_that_was_spent() -> None:
    whole = over_half_the_budget(RolePlace("bundle-0", 0, 1, 0, 0.0)).bundle
    for _ in range(10):
        whole.step()
    spent = whole.progress()
    place = RolePlace("bundle-0", 0, 1, spent.num_steps, 0.0, spent.budget_share)
    resumed = over_half_the_budget(place).bundle
    for bundle in (whole, resumed):
        bundle.step()
    assert resumed.progress().epsilon == whole.progress().epsilon == pytest.approx(0.8)
    assert resumed.progress().budget_share == whole.progress().budget_share


def test_a_resume_with_a_larger_budget_does_not_explore_more_than_before() -> None:
    place = RolePlace("bundle-0", 0, 1, 160, 0.0, budget_share_before=0.4)
    bundle = over_half_the_budget(place, extent=Extent(2_000.0, None)).bundle
    bundle.step()
    assert bundle.progress().epsilon == pytest.approx(0.2)
    assert bundle.progress().budget_share == 0.4


def test_a_minute_limit_that_is_nearer_ends_exploration_earlier() -> None:
    place = RolePlace("bundle-0", 0, 1, 0, wall_seconds_before=240.0)
    bundle = over_half_the_budget(place, extent=Extent(400.0, 480.0)).bundle
    bundle.step()
    assert bundle.progress().epsilon == 0.0


def test_a_row_holds_the_epsilon_of_its_own_lane() -> None:
    wired = Wired(bundle_spec(algorithm=replace(bundle_spec().algorithm, exploration=apex_exploration())))
    while {row.lane for row in wired.rows.episodes} != {0, 1}:
        wired.bundle._actor.step()
    for row in wired.rows.episodes:
        assert row.epsilon == pytest.approx(0.4 ** (1 + 7 * row.lane))


def test_a_noisy_network_chooses_differently_from_step_to_step_and_a_plain_one_does_not() -> None:
    greedy = replace(bundle_spec().algorithm, exploration=ExplorationConfig(0.0, 0.0, 1, None, 0.0))
    num_choices = []
    for noisy in (False, True):
        wired = Wired(bundle_spec(algorithm=greedy, network=network_config(noisy=noisy, noise_scale=5.0)))
        actor = wired.bundle._actor
        actor._follower.refresh()
        actor._epsilons = np.zeros(2)
        num_choices.append(len({tuple(actor._choose().tolist()) for _ in range(20)}))
    assert num_choices[0] == 1
    assert num_choices[1] > 1
