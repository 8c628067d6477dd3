"""The convolutions of the Nature DQN network.

    uint8 (B, K, H, W) -> conv 32 8x8/4 -> conv 64 4x4/2 -> conv 64 3x3/1 -> features (B, F)

Mnih et al. 2015, Methods, "Model architecture". Their first values go with a network that values actions; who builds
another one may ask for others.
Not here: the smaller network before it (`pipeline.networks.dqn_2013`), the fully connected layers behind them
(`pipeline.networks.heads`, `.policy_head`).
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F

from pipeline.networks.ordinary import OrdinaryTorso, Pixels, convolution
from pipeline.networks.parameters import LayerShapes, ParameterShape, Tensors, weight_and_bias
from pipeline.networks.torso import (
    PIXEL_SCALE,
    DifferentiatedTorso,
    as_features,
    as_image,
    convolution_weight,
    convolved_size,
    num_channels,
)
from pipeline.networks.written_out import rectified_backward

_convolution_backward = torch.ops.aten.convolution_backward.default


class NatureTorso(DifferentiatedTorso):
    """Three strided convolutions. Raises ValueError when the frame is too small for them."""

    KINDS = ("nature",)
    CONVOLUTIONS: ClassVar[tuple[tuple[int, int, int], ...]] = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
    """(output channels, kernel size, stride) in pixels, first to last."""

    def __init__(
        self, stack: int, frame_shape: tuple[int, ...], centred: bool, layer_shapes: LayerShapes = weight_and_bias
    ) -> None:
        height, width = frame_shape[:2]
        channels = num_channels(stack, frame_shape)
        shapes: list[ParameterShape] = []
        for i, (out, kernel, stride) in enumerate(self.CONVOLUTIONS, start=1):
            shapes += layer_shapes(f"conv{i}", (out, kernel, kernel, channels))
            height, width = convolved_size(frame_shape[:2], (height, width), i, kernel, stride)
            channels = out
        self.shapes = tuple(shapes)
        self.num_features = height * width * channels
        self._centred = centred

    def activations(self, parameters: Tensors, observations: torch.Tensor) -> Sequence[torch.Tensor]:
        """See `DifferentiatedTorso`: the image, what each convolution answers, rectified, and the features."""
        answers = [as_image(observations, parameters["conv1.weight"].dtype, self._centred)]
        for i, (_, _, stride) in enumerate(self.CONVOLUTIONS, start=1):
            x = F.conv2d(answers[-1], convolution_weight(i, parameters), parameters[f"conv{i}.bias"], stride)
            answers.append(F.relu(x, inplace=True))
        return [*answers, as_features(answers[-1])]

    def ordinary(self, parameters: Tensors) -> OrdinaryTorso:
        """See `Torso`."""
        layers: list[torch.nn.Module] = [Pixels(self._centred)]
        for i, (_, _, stride) in enumerate(self.CONVOLUTIONS, start=1):
            layers += [convolution(parameters, f"conv{i}", stride), torch.nn.ReLU()]
        return OrdinaryTorso(torch.nn.Sequential(*layers, torch.nn.Flatten()), num_channels=self.CONVOLUTIONS[-1][0])

    def backward(
        self, parameters: Tensors, activations: Sequence[torch.Tensor], d_features: torch.Tensor, into: Tensors
    ) -> None:
        """See `DifferentiatedTorso`."""
        *images, _ = activations
        batch, channels, height, width = images[-1].shape
        d = d_features.view(batch, height, width, channels).permute(0, 3, 1, 2)
        for i, (out, _, stride) in reversed(list(enumerate(self.CONVOLUTIONS, start=1))):
            # The image itself wants no gradient.
            wanted = [i > 1, True, True]
            d, d_weight, d_bias = _convolution_backward(
                rectified_backward(d, images[i]), images[i - 1], convolution_weight(i, parameters), [out],
                [stride, stride], [0, 0], [1, 1], False, [0, 0], 1, wanted,
            )  # fmt: skip
            torch._foreach_copy_([into[f"conv{i}.weight"], into[f"conv{i}.bias"]], [d_weight, d_bias])
        into["conv1.weight"].mul_(PIXEL_SCALE)
