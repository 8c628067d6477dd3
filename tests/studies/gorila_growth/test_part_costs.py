"""What measured calls tell."""

import pytest

from studies.gorila_growth.costs import SliceBytes
from studies.gorila_growth.part_costs import Parts, direct_costs, joined, line, wire_costs
from studies.simulation.call_costs import MESSAGE, PULL, PUSH, CallSeconds
from studies.simulation.costs import Linear


def test_a_call_has_a_part_for_itself_and_one_for_each_parameter() -> None:
    assert line(10, 1.5, 100, 6.0) == Linear(1.0, 0.05)
    assert line(10, 3.0, 100, 2.0) == Linear(3.0, 0.0), "noise makes no parameter cheaper than nothing"
    assert line(7, 3.0, 7, 2.0) == Linear(3.0)


def test_costs_of_both_sides_come_from_one_shard_and_from_many() -> None:
    one = {PUSH: CallSeconds(9.0, 2.0, 4.0), PULL: CallSeconds(9.0, 3.0, 1.0), MESSAGE: CallSeconds(1.0, 0.1, 0.1)}
    many = {PUSH: CallSeconds(9.0, 1.1, 1.3), PULL: CallSeconds(9.0, 1.2, 1.0), MESSAGE: CallSeconds(0.5, 0.2, 0.1)}
    wire = wire_costs(100, 10, one, many, SliceBytes(3.0, 2.0), SliceBytes(0.0, 2.0))
    assert wire.push.caller.seconds(100) == pytest.approx(2.0) and wire.push.server.seconds(10) == pytest.approx(1.3)
    assert wire.pull.server == Linear(1.0) and wire.message.caller == Linear(0.2)
    assert wire.latency_seconds == pytest.approx(0.1) and wire.push_bytes.of(10) == 23.0
    direct = direct_costs(100, 10, one, many)
    assert direct.pull == pytest.approx(Linear(1.0, 0.02)) and direct.message == 0.2


def test_turns_of_the_same_work_are_joined() -> None:
    first = Parts((1.0, 2.0), (3.0,), {PUSH: CallSeconds(4.0, 2.0, 1.0)})
    second = Parts((5.0,), (6.0, 7.0), {PUSH: CallSeconds(6.0, 3.0, 2.0)})
    assert joined([first, second]) == Parts((1.0, 2.0, 5.0), (3.0, 6.0, 7.0), {PUSH: CallSeconds(5.0, 2.5, 1.5)})
