"""Settings of learning rules that cannot be, each in one line. Those of a whole run: `tests.config.test_run_config`."""

import torch

from pipeline.algorithms.clipped import normalised
from tests.roles.worker_wiring import actor_critic


def test_normalised_advantages_need_two_steps_for_that_of_one_is_always_0() -> None:
    assert normalised(torch.tensor([3.0])).tolist() == [0.0]
    clipped = {"clip_range": 0.1, "normalised_advantages": True}
    assert actor_critic(batch_size=1, **clipped).mistakes() == [
        "batch_size=1 must be at least 2 with normalised_advantages=true: one alone is always 0"
    ]
    assert actor_critic(batch_size=2, **clipped).mistakes() == []
    assert actor_critic(batch_size=1, clip_range=0.1).mistakes() == []
