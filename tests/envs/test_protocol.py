"""Protocols that cannot be played, each in one line. Those of a whole run: `tests.config.test_run_config`."""

import pytest

from tests.protocols import nature_protocol


@pytest.mark.parametrize("stack", [256, 2**31])
def test_a_stack_is_as_deep_as_a_replay_counts_and_no_deeper(stack: int) -> None:
    assert nature_protocol(stack=255).mistakes() == []
    assert nature_protocol(frame_skip=1, min_frame_skip=1, max_pool=False).mistakes() == []
    (pooled,) = nature_protocol(frame_skip=1, min_frame_skip=1).mistakes()
    assert pooled.startswith("max_pool=true needs two frames a step, and frame_skip=1 has one")
    assert nature_protocol(stack=stack).mistakes() == [f"stack={stack} must be at most 255, as the replay counts"]
