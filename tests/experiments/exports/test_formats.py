"""Files of exported agents: each answers as the module that it was written from, for every kind of network."""

from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.config.overrides import compose
from pipeline.errors import ExportError
from pipeline.experiments.exports.formats import FORMATS, write
from pipeline.experiments.plan import network_of
from pipeline.roles.evaluator import load_replica

NETWORKS = ["smoke_dqn", "smoke_rainbow", "smoke_dba3c"]


@pytest.mark.slow
@pytest.mark.parametrize("experiment", NETWORKS)
def test_every_format_answers_as_the_module(experiment: str, tmp_path: Path) -> None:
    config = compose([f"experiment={experiment}", "game=Breakout"])
    params = network_of(config).initial_parameters(np.random.default_rng(0))
    environment = config.environment
    module = load_replica(config.network, "Breakout", environment, params, "cpu", "float32").ordinary()
    channels = environment.stack * (1 if environment.grey else 3)
    shape = (4, channels, environment.frame_height, environment.frame_width)
    frames = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    assert write(module, frames, tmp_path, FORMATS).keys() == FORMATS.keys()
    assert {path.name for path in tmp_path.iterdir()} == {form.file for form in FORMATS.values()}


class Moody(torch.nn.Module):
    """Answers otherwise when it is traced than when it is asked."""

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        answer = frames.float().mean(dim=(2, 3))
        return answer + 1 if torch._C._get_tracing_state() else answer


def test_a_file_that_answers_otherwise_is_an_error(tmp_path: Path) -> None:
    frames = np.random.default_rng(1).integers(0, 256, (3, 4, 8, 8), np.uint8)
    with pytest.raises(ExportError, match=r"format=torchscript: what was written answers \[.*the agent"):
        write(Moody(), frames, tmp_path, ["torchscript"])
