"""One strided convolution, for runs of seconds."""

import torch
import torch.nn.functional as F

from pipeline.networks.parameters import LayerShapes, Tensors
from pipeline.networks.torso import Torso, as_features, as_image, convolved_size, num_channels

KERNEL, STRIDE, FILTERS = 8, 8, 4


class OneConvolution(Torso):
    """Sees eight pixels at once, and each of them once."""

    KINDS = ("one",)

    def __init__(self, stack: int, frame_shape: tuple[int, ...], centred: bool, layer_shapes: LayerShapes) -> None:
        size = (frame_shape[0], frame_shape[1])
        self.shapes = layer_shapes("conv1", (FILTERS, KERNEL, KERNEL, num_channels(stack, frame_shape)))
        height, width = convolved_size(size, size, 1, KERNEL, STRIDE)
        self.num_features = height * width * FILTERS
        self._centred = centred

    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        """See `Torso`."""
        weight, bias = parameters["conv1.weight"], parameters["conv1.bias"]
        image = as_image(observations, weight.dtype, self._centred)
        return as_features(F.relu(F.conv2d(image, weight / 255, bias, STRIDE), inplace=True))
