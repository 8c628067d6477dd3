"""The convolutions of the Nature network, normalised.

    uint8 (B, K, H, W) -> conv 32 8x8/4, norm -> conv 64 4x4/2, norm -> conv 64 3x3/1, norm -> features (B, F)

Gallici et al. 2025, appendix. As in their published code the channels of each place are normalised, not the whole
picture, and before the rectifier.
Departure: there first weights are normal with a variance of 2 / fan-in; here they are what the network asks for.
Not here: the plain convolutions (`pipeline.networks.nature`), normalised hidden layers (`pipeline.networks.linear`).
"""

import torch
import torch.nn.functional as F

from pipeline.networks.layer_norm import norm_shapes, normalised
from pipeline.networks.nature import NatureTorso
from pipeline.networks.ordinary import ChannelNorm, OrdinaryTorso, Pixels, convolution
from pipeline.networks.parameters import LayerShapes, ParameterShape, Tensors, weight_and_bias
from pipeline.networks.torso import Torso, as_features, as_image, convolution_weight


class LayerNormTorso(Torso):
    """Three strided convolutions, each normalised. Raises ValueError when the frame is too small for them."""

    KINDS = ("nature_layer_norm",)

    def __init__(
        self, stack: int, frame_shape: tuple[int, ...], centred: bool, layer_shapes: LayerShapes = weight_and_bias
    ) -> None:
        plain = NatureTorso(stack, frame_shape, centred, layer_shapes)
        shapes: list[ParameterShape] = []
        for i, (channels, _, _) in enumerate(plain.CONVOLUTIONS):
            shapes += [*plain.shapes[2 * i : 2 * i + 2], *norm_shapes(f"conv{i + 1}", channels)]
        self.shapes = tuple(shapes)
        self.num_features = plain.num_features
        self._convolutions = plain.CONVOLUTIONS
        self._centred = centred

    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        """See `Torso`."""
        x = as_image(observations, parameters["conv1.weight"].dtype, self._centred)
        for i, (_, _, stride) in enumerate(self._convolutions, start=1):
            x = F.conv2d(x, convolution_weight(i, parameters), parameters[f"conv{i}.bias"], stride)
            # Channels-last memory has the channels of a place side by side.
            x = normalised(f"conv{i}", parameters, x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            x = F.relu(x)
        return as_features(x)

    def ordinary(self, parameters: Tensors) -> OrdinaryTorso:
        """See `Torso`."""
        layers: list[torch.nn.Module] = [Pixels(self._centred)]
        for i, (_, _, stride) in enumerate(self._convolutions, start=1):
            layers += [
                convolution(parameters, f"conv{i}", stride),
                ChannelNorm(parameters, f"conv{i}"),
                torch.nn.ReLU(),
            ]
        return OrdinaryTorso(torch.nn.Sequential(*layers, torch.nn.Flatten()), num_channels=self._convolutions[-1][0])
