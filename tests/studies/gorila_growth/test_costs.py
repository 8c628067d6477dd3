"""Costs as a file, and the rounds of several measurements as one."""

from pathlib import Path

import pytest

from measuring.processor import named_here
from studies.gorila_growth.costs import (
    DirectCosts,
    GorilaCosts,
    Measured,
    SliceBytes,
    WireCosts,
    append,
    at_one_speed,
    load,
    measured_on,
    merged,
    processors,
)
from studies.simulation.costs import CallCost, Linear


def measured(seconds: float) -> Measured:
    """A round in which everything takes so long."""
    linear = Linear(seconds, seconds)
    call = CallCost(linear, linear)
    wire = WireCosts(call, call, call, seconds, SliceBytes(seconds, 4.0), SliceBytes(0.0, 2.0))
    return Measured(GorilaCosts((seconds,), (seconds, 1.0), 100, DirectCosts(linear, linear, seconds), wire), 0.5, 2)


def test_rounds_come_back_as_they_were_with_what_they_were_measured_on(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    assert load(path, "float32") == []
    append(path, "float32", "other", "avx2, float32", measured(0.25))
    append(path, "bfloat16", "nothing", "avx2, float32", measured(1.0))
    append(path, "float32", "other", "avx2, float32", measured(0.5))
    assert load(path, "float32") == [measured(0.25), measured(0.5)]
    assert [fact["beside"] for fact in measured_on(path, "float32")] == ["other", "other"]
    assert processors(path) == [named_here("avx2, float32")]


def test_samples_of_rounds_are_put_together_and_other_numbers_averaged() -> None:
    both = merged([measured(0.25), measured(0.5)])
    assert both.costs.play_seconds == (0.25, 0.5) and both.costs.gradient_seconds == (0.25, 1.0, 0.5, 1.0)
    assert both.costs.wire.push.server == Linear(0.375, 0.375)
    assert both.costs.direct.message == pytest.approx(0.375)
    assert (both.costs.num_params, both.num_cores, both.full_speed) == (100, 2, 0.5)


def test_a_core_is_no_faster_for_being_in_company_but_chance_cancels_before_that() -> None:
    by_chance = measured(0.5)._replace(full_speed=1.1)
    assert merged([by_chance, measured(0.5)]).full_speed == pytest.approx(0.8)
    assert merged([by_chance]).full_speed == 1.0


def test_wires_are_compared_on_a_machine_that_is_equally_fast() -> None:
    slow, quick = measured(0.5), measured(0.25)
    alike = at_one_speed({"float32": slow, "factors": quick})
    for wire, factor in (("float32", 0.75), ("factors", 1.5)):
        costs = alike[wire].costs
        assert costs.play_seconds == (0.375,) and costs.gradient_seconds == (0.375, factor)
        assert costs.direct == DirectCosts(Linear(0.375, 0.375), Linear(0.375, 0.375), 0.375)
        assert costs.wire.push.server == costs.wire.message.caller == Linear(0.375, 0.375)
        assert costs.wire.latency_seconds == 0.375
        assert costs.wire.push_bytes == {"float32": slow, "factors": quick}[wire].costs.wire.push_bytes
        assert (costs.num_params, alike[wire].full_speed) == (100, 0.5)
