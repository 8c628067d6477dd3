"""Layer normalisation beside a slow one."""

import numpy as np
import torch

from pipeline.networks.layer_norm import norm_shapes, normalised


def test_each_row_is_normalised_by_itself_then_scaled_and_shifted() -> None:
    rng = np.random.default_rng(0)
    x, scale, shift = rng.normal(3.0, 2.0, (4, 5)), rng.normal(size=5), rng.normal(size=5)
    parameters = {"hidden.scale": torch.tensor(scale), "hidden.shift": torch.tensor(shift)}
    found = normalised("hidden", parameters, torch.tensor(x)).numpy()
    for row, answered in zip(x, found, strict=True):
        mean = sum(row) / 5
        variance = sum((value - mean) ** 2 for value in row) / 5
        np.testing.assert_allclose(answered, scale * (row - mean) / (variance + 1e-6) ** 0.5 + shift, rtol=1e-12)


def test_at_first_nothing_is_scaled_or_shifted() -> None:
    rng = np.random.default_rng(0)
    first = {shape.name: shape.initial.draw(shape.size, rng).tolist() for shape in norm_shapes("conv1", 2)}
    assert first == {"conv1.scale": [1.0, 1.0], "conv1.shift": [0.0, 0.0]}
