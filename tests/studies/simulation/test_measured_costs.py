"""What measured steps tell."""

from studies.simulation.measured_costs import Steps


def test_a_core_is_as_fast_as_its_steps_tell() -> None:
    assert Steps(alone=(1.0, 3.0), crowded=(2.0, 2.0, 3.0, 3.0)).full_speed == 0.8
    assert Steps(alone=(1.0,), crowded=(0.9,)).full_speed == 1.0
