"""Simulated bundles whose times and ages can be told by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pipeline.cluster.placement import Offer, Placement
from pipeline.config.overrides import compose
from studies.gorila_growth.bundles import Pace
from studies.gorila_growth.costs import DirectCosts, GorilaCosts, SliceBytes, WireCosts
from studies.gorila_growth.experiment import Cluster, Outcome, simulate
from studies.simulation.costs import CallCost, Linear

FREE = Linear(0.0)
NOTHING = CallCost(FREE, FREE)
PARTS = GorilaCosts(
    play_seconds=(2.0,),
    gradient_seconds=(1.0,),
    num_params=100,
    direct=DirectCosts(FREE, FREE, 0.0),
    wire=WireCosts(NOTHING, NOTHING, NOTHING, 0.0, SliceBytes(0.0, 4.0), SliceBytes(0.0, 4.0)),
)
"""A play takes two seconds, a gradient one, and calls no time."""
SERVER = replace(compose(["experiment=gorila", "game=Pong"]).param_server, num_shards=1, max_staleness=None)
PACE = Pace(num_lanes=8, steps_per_update=4)
"""Two gradients behind each play."""


def cluster(num_bundles: int, num_shards: int = 1, **changes: Any) -> Cluster:
    """Each role on a machine of its own."""
    roles = [*(f"bundle-{i}" for i in range(num_bundles)), *(f"shard-{i}" for i in range(num_shards))]
    return Cluster(on_machines({role: role for role in roles}), **changes)


def on_machines(machines: dict[str, str], num_cores: int = 1) -> Placement:
    """Role -> a host of its own on that machine."""
    return {role: Offer(role, machine, 1, 1, num_cores) for role, machine in machines.items()}


def outcome(where: Cluster, costs: GorilaCosts = PARTS, num_bundles: int = 1, **changes: Any) -> Outcome:
    """Eight gradients of each bundle behind a warm-up of four, all begun at once."""
    arguments: dict[str, Any] = {"server": SERVER, "pace": PACE, "num_gradients": 8, "num_warmup_gradients": 4}
    arguments |= {"is_staggered": False} | changes
    return simulate(where, costs, num_bundles=num_bundles, **arguments)


def test_one_bundle_beside_one_shard_takes_the_sum_of_its_parts() -> None:
    costs = PARTS._replace(direct=DirectCosts(push=Linear(0.1, 0.002), pull=Linear(0.0, 0.004), message=0.05))
    # pull 0.4, play 2, (unchanged 0.05, gradient 1, push 0.3), (pull 0.4, gradient 1, push 0.3)
    result = outcome(cluster(1, in_one_process=True), costs)
    assert result.steps_per_second == pytest.approx(8 / 5.45)
    assert result.gradients_per_second == result.updates_per_second == pytest.approx(2 / 5.45)
    assert result.waited_share == pytest.approx(1.45 / 5.45)
    assert (result.mean_staleness, result.stale_share) == (0.0, 0.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_play_at_the_edge_of_the_window_makes_nobody_faster(seed: int) -> None:
    costs = PARTS._replace(gradient_seconds=(0.5, 1.0, 1.5))
    result = outcome(cluster(2), costs, num_bundles=2, is_staggered=True, seed=seed)
    assert result.steps_per_second == pytest.approx(4 * result.gradients_per_second)


def test_a_call_to_another_host_is_computed_on_both_sides_and_travels() -> None:
    wire = WireCosts(
        push=CallCost(Linear(0.1, 0.001), Linear(0.2, 0.001)),
        pull=CallCost(Linear(0.0, 0.001), Linear(0.1, 0.002)),
        message=CallCost(Linear(0.02), Linear(0.03)),
        latency_seconds=0.01,
        push_bytes=SliceBytes(0.0, 4.0),
        pull_bytes=SliceBytes(0.0, 2.0),
    )
    # A thousand bytes a second: 0.4 s for a gradient, 0.2 s for the parameters.
    push, pull, unchanged = 0.2 + 0.41 + 0.3 + 0.01, 0.01 + 0.3 + 0.21 + 0.1, 0.01 + 0.03 + 0.01 + 0.02
    turn = pull + 2.0 + (unchanged + 1.0 + push) + (pull + 1.0 + push)
    result = outcome(cluster(1, bytes_per_second=1000.0), PARTS._replace(wire=wire))
    assert result.steps_per_second == pytest.approx(8 / turn)
    assert result.shard_share == pytest.approx((2 * 0.3 + 2 * 0.3 + 0.03) / turn)


def test_a_saturated_shard_makes_an_update_in_the_time_that_one_takes() -> None:
    costs = PARTS._replace(wire=PARTS.wire._replace(push=CallCost(FREE, Linear(3.0))))
    eight = outcome(cluster(8), costs, num_bundles=8, num_gradients=8)
    # Who has pushed pulls behind the pushes of all others, so that all compute at once: for 1 s, or 3 s with a play.
    assert eight.updates_per_second == pytest.approx(16 / (48 + 4))
    assert eight.mean_staleness == 3.5
    many = outcome(cluster(64), costs, num_bundles=64)
    assert many.updates_per_second == pytest.approx(1 / 3, rel=0.02)
    assert many.busiest_shard_share == pytest.approx(1.0, abs=0.02)
    by_size = costs._replace(wire=costs.wire._replace(push=CallCost(FREE, Linear(0.0, 3.0 / 100))))
    halves = outcome(cluster(64, 2), by_size, num_bundles=64, server=replace(SERVER, num_shards=2))
    assert halves.updates_per_second == pytest.approx(2 / 3, rel=0.03), "two shards have half the work each"


def test_bundles_in_lock_step_find_as_many_updates_as_came_before_them() -> None:
    # All pull behind the play, and push at once: the first is 0 updates late, the fourth 3.
    pace = Pace(num_lanes=4, steps_per_update=4)
    result = outcome(cluster(4), num_bundles=4, pace=pace)
    assert (result.mean_staleness, result.max_staleness, result.stale_share) == (1.5, 3, 0.0)
    assert result.updates_per_second == pytest.approx(4 / 3)
    limited = outcome(cluster(4), num_bundles=4, pace=pace, server=replace(SERVER, max_staleness=1))
    # The third and the fourth are two updates late: the limit drops both, and no version follows from them.
    assert (limited.stale_share, limited.max_staleness) == (0.5, 2)
    assert limited.updates_per_second == pytest.approx(2 / 3)


def test_gradients_that_are_sent_as_one_are_fewer_pushes() -> None:
    one = PARTS._replace(wire=PARTS.wire._replace(push=CallCost(FREE, Linear(1.0))))
    result = outcome(cluster(1), one, server=replace(SERVER, push_every_updates=2))
    assert result.steps_per_second == pytest.approx(8 / 5.0), "2 to play, 2 to compute, 1 to send"
    assert result.updates_per_second == pytest.approx(1 / 5.0)


def test_bundles_that_share_a_core_take_turns_on_it() -> None:
    machines = {"bundle-0": "a", "bundle-1": "a", "shard-0": "b"}
    alone = outcome(cluster(1)).steps_per_second
    shared = Cluster(on_machines(machines))
    assert outcome(shared, num_bundles=2).steps_per_second == pytest.approx(alone)
    two_cores = Cluster(on_machines(machines, num_cores=2), full_speed=0.8)
    assert outcome(two_cores, num_bundles=2).steps_per_second == pytest.approx(1.6 * alone)


def test_two_bundles_of_one_process_wait_for_the_same_lock() -> None:
    costs = PARTS._replace(play_seconds=(0.0,), direct=DirectCosts(Linear(1.0), FREE, 0.0))
    pace = Pace(4, 4)
    result = outcome(cluster(2, in_one_process=True), costs, num_bundles=2, pace=pace, num_gradients=20)
    # Both compute for 1 s and push for 1 s in turn; the first one's pull waits for the second one's push.
    assert result.updates_per_second == pytest.approx(2 / 3)


def test_the_same_seed_gives_the_same_result_and_another_seed_another() -> None:
    costs = PARTS._replace(gradient_seconds=tuple(np.linspace(0.5, 1.5, 11)))
    first, again, other = (
        outcome(cluster(3), costs, num_bundles=3, seed=seed, is_staggered=True) for seed in (0, 0, 1)
    )
    assert first == again != other
