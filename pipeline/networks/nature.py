"""The convolutions of the Nature DQN network.

    uint8 (B, K, H, W) -> conv 32 8x8/4 -> conv 64 4x4/2 -> conv 64 3x3/1 -> features (B, F)

Mnih et al. 2015, Methods, "Model architecture". Their first values go with a network that values actions; who builds
another one may ask for others.
Not here: the fully connected layers behind them (`pipeline.networks.heads`, `.policy_head`).
"""

import torch
import torch.nn.functional as F

from pipeline.networks.parameters import LayerShapes, ParameterShape, Tensors, weight_and_bias
from pipeline.networks.torso import Torso, as_features, as_image, convolved_size, num_channels

CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""(output channels, kernel size, stride) in pixels, first to last."""


class NatureTorso(Torso):
    """Three strided convolutions. Raises ValueError when the frame is too small for them."""

    KINDS = ("nature",)

    def __init__(
        self, stack: int, frame_shape: tuple[int, ...], centred: bool, layer_shapes: LayerShapes = weight_and_bias
    ) -> None:
        height, width = frame_shape[:2]
        channels = num_channels(stack, frame_shape)
        shapes: list[ParameterShape] = []
        for i, (out, kernel, stride) in enumerate(CONVOLUTIONS, start=1):
            shapes += layer_shapes(f"conv{i}", (out, kernel, kernel, channels))
            height, width = convolved_size(frame_shape[:2], (height, width), i, kernel, stride)
            channels = out
        self.shapes = tuple(shapes)
        self.num_features = height * width * channels
        self._centred = centred

    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        """See `Torso`."""
        # Pixels are scaled to [0, 1] by scaling the 8,192 first weights instead of a million pixels.
        scale = 1 / 255
        x = as_image(observations, parameters["conv1.weight"].dtype, self._centred)
        for i, (_, _, stride) in enumerate(CONVOLUTIONS, start=1):
            weight = parameters[f"conv{i}.weight"]
            if i == 1:
                weight = weight * scale
            x = F.relu(F.conv2d(x, weight, parameters[f"conv{i}.bias"], stride), inplace=True)
        return as_features(x)
