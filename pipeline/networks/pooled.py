"""The convolutions of BA3C and DBA3C: no strides, no biases, and a max-pool behind each but the last.

    uint8 (B, K, H, W[, 3]) -> conv 32 5x5, pool 2 -> conv 32 5x5, pool 2 -> conv 64 5x5, pool 2 -> conv 64 3x3
                            -> features (B, 1600) of frames of 84x84

As in the authors' published code (Adamski et al. 2018, Distributed-BA3C), whose DBA3C has these convolutions in common
with their BA3C for one machine (BA3C-CPU). The code that both come from, tensorpack's, has biases, a third kernel of
4x4 and padding to the same size, which makes its network several times larger.
Departures: the authors add channels of zeros, 16 in all, for the sake of their convolution library. Weights of such a
channel never have a gradient and change no output; with RGB these are 3,200 parameters that we do not have. The first
values are those of DBA3C; BA3C-CPU's could not be seen.
Not here: the fully connected layers behind them (`pipeline.networks.heads`, `.policy_head`).
"""

import torch
import torch.nn.functional as F

from pipeline.networks.ordinary import OrdinaryTorso, Pixels, convolution
from pipeline.networks.parameters import LayerShapes, ParameterShape, Tensors, TruncatedNormal, weight_and_bias
from pipeline.networks.torso import Torso, as_features, as_image, convolution_weight, convolved_size, num_channels

CONVOLUTIONS = ((32, 5, 2), (32, 5, 2), (64, 5, 2), (64, 3, 1))
"""(output channels, kernel size, size and stride of the pool) in pixels, first to last; 1: no pool."""

INITIAL_WEIGHT = TruncatedNormal(0.03)
"""Whatever the fan-in (the authors' published code, `conv_init` "normal")."""


class PooledTorso(Torso):
    """Four convolutions. Raises ValueError when the frame is too small for them."""

    KINDS = ("ba3c",)

    def __init__(
        self, stack: int, frame_shape: tuple[int, ...], centred: bool, layer_shapes: LayerShapes = weight_and_bias
    ) -> None:
        """`layer_shapes` is not asked: the first values are those of DBA3C, whatever stands behind."""
        height, width = frame_shape[:2]
        channels = num_channels(stack, frame_shape)
        shapes: list[ParameterShape] = []
        for i, (out, kernel, pool) in enumerate(CONVOLUTIONS, start=1):
            shapes.append(ParameterShape(f"conv{i}.weight", (out, kernel, kernel, channels), INITIAL_WEIGHT))
            height, width = convolved_size(frame_shape[:2], (height, width), i, kernel, stride=1)
            height, width, channels = height // pool, width // pool, out
        self.shapes = tuple(shapes)
        self.num_features = height * width * channels
        self._centred = centred

    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        """See `Torso`."""
        x = as_image(observations, parameters["conv1.weight"].dtype, self._centred)
        for i, (_, _, pool) in enumerate(CONVOLUTIONS, start=1):
            x = F.conv2d(x, convolution_weight(i, parameters))
            # The pool comes first: the largest of four is the same, and a quarter is left to rectify.
            x = F.relu(F.max_pool2d(x, pool) if pool > 1 else x, inplace=True)
        return as_features(x)

    def ordinary(self, parameters: Tensors) -> OrdinaryTorso:
        """See `Torso`."""
        layers: list[torch.nn.Module] = [Pixels(self._centred)]
        for i, (_, _, pool) in enumerate(CONVOLUTIONS, start=1):
            layers.append(convolution(parameters, f"conv{i}", stride=1))
            layers += [torch.nn.MaxPool2d(pool), torch.nn.ReLU()] if pool > 1 else [torch.nn.ReLU()]
        return OrdinaryTorso(torch.nn.Sequential(*layers, torch.nn.Flatten()), num_channels=CONVOLUTIONS[-1][0])
