"""The convolutions of the Nature DQN network as a pure function of their parameters.

    uint8 (B, K, H, W) -> conv 32 8x8/4 -> conv 64 4x4/2 -> conv 64 3x3/1 -> features (B, F)

Mnih et al. 2015, Methods, "Model architecture".
Not here: the fully connected layers behind them (`pipeline.networks.heads`).
"""

import torch
import torch.nn.functional as F

from pipeline.networks.parameters import ParameterShape, Tensors, weight_and_bias

CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""(output channels, kernel size, stride) in pixels, first to last."""


def convolution_shapes(stack: int, frame_shape: tuple[int, ...]) -> tuple[list[ParameterShape], int]:
    """The parameters in vector order, and F. Raises ValueError when the frame is too small for the convolutions."""
    height, width = frame_shape[:2]
    channels = stack * (frame_shape[2] if len(frame_shape) == 3 else 1)
    shapes = []
    for i, (out, kernel, stride) in enumerate(CONVOLUTIONS, start=1):
        shapes += weight_and_bias(f"conv{i}", (out, kernel, kernel, channels))
        height, width, channels = (height - kernel) // stride + 1, (width - kernel) // stride + 1, out
        if min(height, width) < 1:
            raise ValueError(f"a frame of {frame_shape[:2]} pixels is too small for convolution {i} (kernel {kernel})")
    return shapes, height * width * channels


def features(parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
    """What the convolutions see: uint8 (B, K, H, W[, 3]) -> (B, F) in the dtype of the parameters."""
    # Pixels are scaled to [0, 1] by scaling the 8,192 first weights instead of a million pixels.
    scale = 1 / 255
    x = _as_image(observations, parameters["conv1.weight"].dtype)
    for i, (_, _, stride) in enumerate(CONVOLUTIONS, start=1):
        weight = parameters[f"conv{i}.weight"]
        if i == 1:
            weight = weight * scale
        x = F.relu(F.conv2d(x, weight, parameters[f"conv{i}.bias"], stride), inplace=True)
    # Channels-last memory flattened as it lies costs no copy; which feature comes first is a convention only.
    return x.permute(0, 2, 3, 1).flatten(1)


def _as_image(observations: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    # (B, K, H, W, 3) -> (B, 3K, H, W). Reordering bytes first and widening to bfloat16 afterwards took half as long as
    # one call.
    if observations.dim() == 5:
        observations = observations.permute(0, 1, 4, 2, 3).flatten(1, 2)
    return observations.contiguous(memory_format=torch.channels_last).to(dtype)
