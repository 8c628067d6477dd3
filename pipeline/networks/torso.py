"""What convolutions are to the network around them: parameters, and features computed from frames.

Not here: the convolutions themselves, a module each (`pipeline.networks.nature`, `.pooled`), what stands behind them
(`pipeline.networks.heads`, `.policy_head`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch

from pipeline.kinds import Kinds
from pipeline.networks.ordinary import OrdinaryTorso
from pipeline.networks.parameters import LayerShapes, ParameterShape, Tensors


class Torso(ABC):
    """Some convolutions for frames of one size, as a pure function of their parameters."""

    KINDS: ClassVar[tuple[str, ...]] = ()
    """What `network.torso` may be for this class, besides where it is."""

    shapes: Sequence[ParameterShape]
    """In vector order."""
    num_features: int
    """F."""

    @abstractmethod
    def __init__(self, stack: int, frame_shape: tuple[int, ...], centred: bool, layer_shapes: LayerShapes) -> None:
        """For stacks of frames (H, W[, 3]); `centred` as in `as_image`.

        `layer_shapes`: the first values that the network wants, for torsos without first values of their own. Raises
        ValueError when the frame is too small.
        """

    @abstractmethod
    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        """uint8 (B, K, H, W[, 3]) -> (B, F) in the dtype of the parameters."""

    def ordinary(self, parameters: Tensors) -> OrdinaryTorso | None:
        """The same as torch's own layers; None: it does not tell."""
        return None


class DifferentiatedTorso(Torso):
    """A torso whose gradient is written out (`pipeline.networks.written_out`)."""

    def __call__(self, parameters: Tensors, observations: torch.Tensor) -> torch.Tensor:
        """See `Torso`."""
        return self.activations(parameters, observations)[-1]

    @abstractmethod
    def activations(self, parameters: Tensors, observations: torch.Tensor) -> Sequence[torch.Tensor]:
        """Of uint8 (B, K, H, W[, 3]): whatever `backward` needs, the features (B, F) last."""

    @abstractmethod
    def backward(
        self, parameters: Tensors, activations: Sequence[torch.Tensor], d_features: torch.Tensor, into: Tensors
    ) -> None:
        """Write d loss / d parameters into float32 tensors, given d loss / d features (B, F), which is overwritten."""


TORSOS: Kinds[Torso] = Kinds(Torso, "pipeline.networks")  # type: ignore[type-abstract]  # it makes none
"""Torsos, by what `network.torso` calls them."""

PIXEL_SCALE = 1 / 255
"""Of the first weights in `convolution_weight`."""


def num_channels(stack: int, frame_shape: tuple[int, ...]) -> int:
    """Channels of the image that a stack of frames is seen as: K, or 3K for RGB."""
    return stack * (frame_shape[2] if len(frame_shape) == 3 else 1)


def as_image(observations: torch.Tensor, dtype: torch.dtype, centred: bool) -> torch.Tensor:
    """uint8 (B, K, H, W), or (B, K, H, W, 3) -> channels-last (B, K or 3K, H, W), 0 to 255 in `dtype`.

    `centred`: less the mean of each of the B observations, -255 to 255.
    """
    # Reordering bytes first and widening to bfloat16 afterwards took half as long as one call.
    if observations.dim() == 5:
        observations = observations.permute(0, 1, 4, 2, 3).flatten(1, 2)
    image = _channels_last(observations).to(dtype)
    return image.sub_(image.mean(dim=(1, 2, 3), keepdim=True)) if centred else image


def _channels_last(stacks: torch.Tensor) -> torch.Tensor:
    # Four bytes side by side are one number, whose sum is taken a frame at a time: a third of the time of torch's own
    # copy, which moves bytes singly. The last of them ends in the sign; integers wrap.
    batch, channels, height, width = stacks.shape
    if channels != 4 or stacks.device.type != "cpu":
        return stacks.contiguous(memory_format=torch.channels_last)
    pixels = stacks[:, 0].to(torch.int32)
    for k in range(1, 4):
        pixels.add_(stacks[:, k].to(torch.int32), alpha=1 << 8 * k)
    return pixels.view(torch.uint8).view(batch, height, width, channels).permute(0, 3, 1, 2)


def convolution_weight(index: int, parameters: Tensors) -> torch.Tensor:
    """The weight of convolution number `index`, the first one of pixels 0 to 255 as they are.

    To scale the first weights to pixels of 0 to 1 costs less than to scale a million pixels.
    """
    weight = parameters[f"conv{index}.weight"]
    return weight * PIXEL_SCALE if index == 1 else weight


def as_features(image: torch.Tensor) -> torch.Tensor:
    """(B, C, H, W) -> (B, H * W * C)."""
    # Channels-last memory flattened as it lies costs no copy; which feature comes first is a convention only.
    return image.permute(0, 2, 3, 1).flatten(1)


def convolved_size(
    frame_size: tuple[int, ...], size: tuple[int, int], index: int, kernel: int, stride: int
) -> tuple[int, int]:
    """Height and width behind convolution number `index`. Raises ValueError for a frame that is too small for it."""
    height, width = ((pixels - kernel) // stride + 1 for pixels in size)
    if min(height, width) < 1:
        raise ValueError(f"a frame of {frame_size} pixels is too small for convolution {index} (kernel {kernel})")
    return height, width
