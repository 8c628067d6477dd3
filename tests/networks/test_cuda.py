"""Gradients on a GPU are those of the processor. Skipped where there is no CUDA device."""

import numpy as np
import pytest
import torch

from benchmarks.loss_costs.losses import OF_Q_LEARNING, OF_ROLLOUTS, gradient_of
from pipeline.config.overrides import compose
from pipeline.networks.compute import resolve_device, resolve_precision

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

CPU = torch.device("cpu")
SETTINGS = {**OF_Q_LEARNING, **OF_ROLLOUTS, "rainbow": ("experiment=rainbow",), "apex": ("experiment=apex",)}


def gradient(name: str, device: torch.device, dtype: torch.dtype) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    found = gradient_of(compose([*SETTINGS[name], "game=Pong"]), device, dtype)()
    assert found.device.type == device.type and found.dtype == torch.float32
    return found.cpu().numpy()


def distance(found: np.ndarray[tuple[int], np.dtype[np.float32]], name: str) -> float:
    """Length of the difference from the processor's float32 gradient, by that one's length."""
    exact = gradient(name, CPU, torch.float32)
    assert np.linalg.norm(exact) > 0
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_gradient_in_float32_is_the_processor_s_up_to_rounding(name: str) -> None:
    gpu = resolve_device("cuda")
    assert distance(gradient(name, gpu, resolve_precision("float32", gpu)), name) < 1e-4


@pytest.mark.parametrize("name", ["gorila", "gorila_quantile", "dba3c", "dba3c_clip"])
def test_a_gradient_in_bfloat16_is_near_it(name: str) -> None:
    gpu = resolve_device("cuda")
    assert resolve_precision("auto", gpu) == torch.bfloat16
    assert 0 < distance(gradient(name, gpu, torch.bfloat16), name) < 0.1
