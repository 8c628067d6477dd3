"""What a call costs its two sides."""

import time

import pytest

from pipeline.interfaces import Immediate
from studies.simulation.call_costs import COMMIT, MESSAGE, PULL, PUSH, CallMeter, CallSeconds, calls_of
from studies.simulation.costs import Linear


def test_calls_cost_what_a_message_costs_and_as_much_for_each_parameter() -> None:
    measured = {
        MESSAGE: CallSeconds(wall=0.7, caller=0.2, server=0.1),
        PUSH: CallSeconds(wall=9.0, caller=30.2, server=20.1),
        PULL: CallSeconds(wall=9.0, caller=0.15, server=0.1),
        COMMIT: CallSeconds(wall=9.0, caller=0.2, server=50.1),
    }
    calls = calls_of(10, measured, seconds_per_gradient=1.5)
    assert calls.push.caller == Linear(0.2, 3.0) and calls.push.server == Linear(0.1, 2.0)
    assert calls.pull.caller == Linear(0.2, 0.0), "noise makes no parameter cheaper than none"
    assert calls.message.caller.seconds(1000) == 0.2
    assert calls.apply.seconds(10, num_gradients=1) == pytest.approx(50.0)
    assert calls.apply.seconds(10, num_gradients=3) == pytest.approx(80.0)
    assert calls.latency_seconds == pytest.approx(0.2)


def test_what_the_caller_does_not_compute_is_the_servers_or_the_way() -> None:
    computed = 0.0

    def call(wall: float) -> Immediate[str]:
        nonlocal computed
        time.sleep(wall)
        computed += wall / 2
        return Immediate("answer")

    meter = CallMeter(lambda: Immediate(computed))
    meter.carry_out(MESSAGE, lambda: call(0.01))
    meter.begin()
    for _ in range(3):
        assert meter.carry_out(PUSH, lambda: call(0.02)).result(0.0) == "answer"
    calls = meter.end()
    assert set(calls) == {PUSH}, "what was before it began does not count"
    push = calls[PUSH]
    assert push.wall >= 0.02 and push.caller < 0.02
    assert 0.0 < push.server < push.wall - push.caller
