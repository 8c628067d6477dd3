"""Simulated updates whose times can be told by hand, and the real leader beside the simulated order of events."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.roles.straggler import Stragglers
from studies.dba3c.simulation_grid import STRAGGLERS, WORKERS, Case
from studies.simulation.costs import ApplyCost, CallCost, Costs, Linear, Wire
from studies.simulation.experiment import Cluster, Machine, Outcome, simulate
from tests.param_server.synchronous_server import SynchronousServer

NOTHING = CallCost(Linear(0.0), Linear(0.0))
STEPS_ONLY = Costs(
    step_seconds=(1.0,),
    batch_size=5,
    num_params=100,
    bytes_per_param=4,
    push=NOTHING,
    pull=NOTHING,
    message=NOTHING,
    apply=ApplyCost(0.0, 0.0, 0.0),
    wire=Wire(0.0, float("inf")),
)
"""A step takes a second and everything else no time."""


def outcome(cluster: Cluster, costs: Costs = STEPS_ONLY, num_updates: int = 8, seed: int = 0) -> Outcome:
    """After two updates of warm-up."""
    return simulate(cluster, costs, num_updates=num_updates, num_warmup_updates=2, seed=seed)


def update_seconds(cluster: Cluster, costs: Costs = STEPS_ONLY) -> float:
    """Simulated time of an update, rounding errors of many sums aside."""
    return round(outcome(cluster, costs).seconds_per_update, 9)


def straggler(index: int, delay: float) -> Stragglers:
    """Worker `index` sleeps so long before each gradient."""
    return ((index, "constant", delay),)


def test_two_workers_make_an_update_in_the_time_of_a_step() -> None:
    result = outcome(Cluster(2, 0, 1))
    assert result.seconds_per_update == 1.0
    assert result.data_points_per_second == 2 * 5
    assert (result.late_share, result.waited_share, result.server_share) == (0.0, 0.0, 0.0)


def test_an_update_waits_for_the_slowest_of_its_steps() -> None:
    # Both workers draw 1 or 3, each from a stream of its own.
    result = outcome(Cluster(2, 0, 1), replace(STEPS_ONLY, step_seconds=(1.0, 3.0)), num_updates=200)
    assert result.seconds_per_update == pytest.approx(0.25 * 1.0 + 0.75 * 3.0, rel=0.1)


def test_who_waits_for_long_asks_the_servers_and_the_leader_again() -> None:
    message = CallCost(Linear(0.0), Linear(0.01))
    costs = replace(STEPS_ONLY, message=message)
    short = outcome(Cluster(2, 0, 1, straggler(1, 0.25)), costs)
    long = outcome(Cluster(2, 0, 1, straggler(1, 2.25)), costs)
    # Two seconds longer the first worker asks four more times, the one server and the leader beside it.
    assert long.server_share * long.seconds_per_update == pytest.approx(
        short.server_share * short.seconds_per_update + 4 * 2 * 0.01
    )


def test_many_workers_that_wait_ask_less_often() -> None:
    # One of 256 keeps the others waiting for 1.5 s: each asks once more, after a second.
    message = CallCost(Linear(0.0), Linear(1e-6))
    costs = replace(STEPS_ONLY, message=message)
    short = outcome(Cluster(256, 0, 1, straggler(255, 0.25)), costs, num_updates=2)
    long = outcome(Cluster(256, 0, 1, straggler(255, 1.75)), costs, num_updates=2)
    busy = [result.server_share * result.seconds_per_update for result in (short, long)]
    assert busy[1] - busy[0] == pytest.approx(255 * 2 * 1e-6)


def test_a_server_takes_one_slice_after_the_other() -> None:
    costs = replace(STEPS_ONLY, push=CallCost(Linear(0.0), Linear(0.1)))
    result = outcome(Cluster(2, 0, 1), costs)
    assert result.seconds_per_update == pytest.approx(1.2)
    assert result.server_share == pytest.approx(0.2 / 1.2)


def test_two_servers_halve_what_depends_on_the_size_of_a_slice() -> None:
    costs = replace(STEPS_ONLY, push=CallCost(Linear(0.0), Linear(0.0, per_param=0.002)))
    assert update_seconds(Cluster(2, 0, 1), costs) == 1.4  # two slices of 100 parameters at one server
    assert update_seconds(Cluster(2, 0, 2), costs) == 1.2  # two slices of 50 parameters at each


def test_a_server_that_is_never_idle_limits_what_many_workers_make() -> None:
    costs = replace(STEPS_ONLY, step_seconds=(0.01,), push=CallCost(Linear(0.0), Linear(0.1)))
    result = outcome(Cluster(10, 0, 1), costs)
    # Ten gradients of 0.1 s each, and the step that all make meanwhile idle.
    assert result.seconds_per_update == pytest.approx(1.01)
    assert result.data_points_per_second == pytest.approx(10 * 5 / 1.01)
    assert result.busiest_server_share == pytest.approx(1.0 / 1.01)


def test_every_message_takes_its_way_there_and_back() -> None:
    costs = replace(STEPS_ONLY, wire=Wire(latency_seconds=0.1, bytes_per_second=4000.0))
    # wait 0.1 + 0.1, pull 0.1 + 0.1 and 400 bytes, step 1, push 0.1 and 400 bytes + 0.1, commit 0.1 + 0.1
    assert update_seconds(Cluster(1, 0, 1), costs) == 0.2 + 0.3 + 1.0 + 0.3 + 0.2


def test_what_two_workers_send_at_once_passes_the_link_of_a_server_one_after_the_other() -> None:
    costs = replace(STEPS_ONLY, wire=Wire(latency_seconds=0.0, bytes_per_second=4000.0))
    # The second has its 400 bytes after 0.2, and sends as many when the first has sent its own.
    assert update_seconds(Cluster(2, 0, 1), costs) == 1.3
    # Over the links of two servers two halves take 0.1, as long as both halves take over a worker's own link.
    assert update_seconds(Cluster(2, 0, 2), costs) == 1.2


def test_the_leader_tells_the_other_servers_before_it_applies_an_update_itself() -> None:
    costs = replace(STEPS_ONLY, apply=ApplyCost(0.2, 0.0, 0.0), message=CallCost(Linear(0.1), Linear(0.0)))
    # Of 0.1 each: a worker's question to each of two servers, its commit, the leader's word to the other server. Both
    # servers apply at once.
    assert update_seconds(Cluster(1, 0, 2), costs) == 0.2 + 1.0 + 0.1 + 0.1 + 0.2


def test_an_update_of_many_gradients_takes_longer_to_apply() -> None:
    costs = replace(STEPS_ONLY, apply=ApplyCost(0.1, per_param=0.001, per_param_and_gradient=0.002))
    assert update_seconds(Cluster(3, 0, 1), costs) == round(1.0 + 0.1 + 100 * (0.001 + 3 * 0.002), 9)


def test_a_straggler_holds_up_an_update_that_needs_it() -> None:
    result = outcome(Cluster(2, 0, 1, straggler(1, 3.0)))
    assert result.seconds_per_update == 4.0
    assert result.late_share == 0.0
    assert result.waited_share == 0.375  # one of two workers, three of four seconds


def test_with_one_backup_worker_nobody_waits_for_one_straggler() -> None:
    result = outcome(Cluster(2, 1, 1, straggler(2, 3.0)))
    assert result.seconds_per_update == 1.0
    assert result.data_points_per_second == 2 * 5
    # In eight seconds the two make 16 gradients and the straggler 2, which come too late.
    assert result.late_share == 2 / 18
    assert all("worker-2" not in update.senders for update in result.updates)


def test_two_stragglers_hold_up_an_update_with_one_backup_worker() -> None:
    two = (*straggler(1, 3.0), *straggler(2, 5.0))
    assert update_seconds(Cluster(2, 1, 1, two)) == 4.0, "it waits for the quicker of the two"
    assert update_seconds(Cluster(2, 2, 1, two)) == 1.0


def test_four_workers_on_two_cores_take_two_steps_for_an_update() -> None:
    assert update_seconds(Cluster(4, 0, 2, machine=Machine(2, full_speed=1.0))) == 2.0
    assert update_seconds(Cluster(4, 0, 2, machine=Machine(2, full_speed=0.8))) == 2.5


def test_servers_take_their_share_of_the_cores_that_workers_compute_on() -> None:
    costs = replace(STEPS_ONLY, push=CallCost(Linear(0.0), Linear(0.1)))
    # One core: a step of one second, and 0.1 s at each of two servers at once.
    assert update_seconds(Cluster(1, 0, 2, machine=Machine(1, 1.0)), costs) == 1.2
    assert update_seconds(Cluster(1, 0, 2), costs) == 1.1


def test_the_same_seed_gives_the_same_result_and_another_seed_another() -> None:
    costs = replace(STEPS_ONLY, step_seconds=tuple(np.linspace(0.5, 1.5, 11)))
    cluster = Cluster(3, 1, 2, ((3, "exponential", 2.0),))
    assert outcome(cluster, costs) == outcome(cluster, costs)
    assert outcome(cluster, costs).seconds_per_update != outcome(cluster, costs, seed=1).seconds_per_update


def test_the_real_leader_judges_the_simulated_order_of_commits_alike() -> None:
    costs = replace(
        STEPS_ONLY,
        step_seconds=tuple(np.linspace(0.5, 1.5, 11)),
        push=CallCost(Linear(0.01), Linear(0.05)),
        wire=Wire(0.05, 1e6),
    )
    result = outcome(Cluster(4, 3, 3, ((5, "exponential", 0.3), (6, "exponential", 0.3))), costs, num_updates=40)
    real = SynchronousServer(np.zeros(6), quorum=4)
    for commit, answer in result.commits:
        if answer.reason == "":
            assert real.push(commit.sender, np.ones(6), commit.version) == ""
        else:
            # All simulated servers had kept its gradient, as they do until they apply the update that is closed.
            assert real.leader.commit(commit).reason == answer.reason
    assert {answer.reason for _, answer in result.commits} == {"", "late"}
    assert real.handles[0].told == list(result.updates)
    assert real.versions == [len(result.updates)] * 2


def test_the_last_workers_of_a_case_straggle_alike_for_so_many_of_their_steps() -> None:
    case = Case(STRAGGLERS, 3, 2, 1, num_stragglers=2, distribution="exponential", delay_steps=4.0)
    assert case.stragglers(0.25) == ((3, "exponential", 1.0), (4, "exponential", 1.0))
    assert Case(WORKERS, 3, 2, 1).stragglers(0.25) == ()


def test_a_quorum_that_is_chosen_leaves_out_who_is_slow_and_takes_all_who_are_not() -> None:
    alike = outcome(Cluster(1, 3, 1, dynamic_quorum=True), num_updates=40)
    assert [len(update.senders) for update in alike.updates[-20:]] == [4] * 20
    slow = outcome(Cluster(1, 3, 1, straggler(3, 9.0), dynamic_quorum=True), num_updates=60)
    assert [len(update.senders) for update in slow.updates[-20:]] == [3] * 20
    assert slow.data_points_per_second == pytest.approx(3 * 5, rel=0.2)
