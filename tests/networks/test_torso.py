"""Observations as images: layout, range, and pixels less their mean."""

import numpy as np
import pytest
import torch

from pipeline.networks.replica import PolicyReplica
from pipeline.networks.torso import as_image
from pipeline.types import UInt8Array
from tests.networks.configs import actor_critic_config

GREY, RGB = (3, 4, 84, 84), (3, 4, 84, 84, 3)


def observations(shape: tuple[int, ...], highest: int = 255) -> UInt8Array:
    return np.random.default_rng(0).integers(0, highest + 1, shape, dtype=np.uint8)


@pytest.mark.parametrize("shape", [GREY, RGB], ids=["grey", "rgb"])
@pytest.mark.parametrize("centred", [False, True])
def test_an_image_has_the_pixels_of_its_observation_less_their_mean_if_asked(
    shape: tuple[int, ...], centred: bool
) -> None:
    frames = observations(shape)
    frames[1] //= 4  # each observation has a mean of its own
    image = as_image(torch.from_numpy(frames), torch.float32, centred)
    channels = frames if shape == GREY else np.moveaxis(frames, -1, 2).reshape(3, 12, 84, 84)
    expected = channels - (channels.mean(axis=(1, 2, 3), keepdims=True) if centred else 0.0)
    assert image.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(image, torch.from_numpy(expected.astype(np.float32)), rtol=0, atol=1e-3)
    assert frames[0].max() == 255, "the observation itself was changed"


@pytest.mark.parametrize("stack", [1, 3, 4, 5])
def test_frames_of_any_number_and_memory_become_the_same_image(stack: int) -> None:
    # As the replay hands them out: a part of a longer stack, every value of a byte in every channel.
    longer = observations((3, stack + 1, 84, 84))
    for part in (longer[:, :stack], longer[:, 1:]):
        image = as_image(torch.from_numpy(part), torch.float32, centred=False)
        assert image.is_contiguous(memory_format=torch.channels_last)
        assert np.array_equal(image.numpy(), part)


@pytest.mark.parametrize("torso", ["nature", "ba3c"])
def test_brightness_of_all_pixels_means_nothing_once_they_are_centred(torso: str) -> None:
    dark = observations(GREY, highest=155)
    values: dict[bool, list[torch.Tensor]] = {}
    for centred in (False, True):
        network = actor_critic_config(torso=torso, centred_pixels=centred).make(4, (84, 84), 6)
        replica = PolicyReplica(network, torch.float32, torch.device("cpu"))
        replica.load(network.initial_parameters(np.random.default_rng(1)))
        values[centred] = [replica.policy_and_value(frames).value for frames in (dark, dark + np.uint8(100))]
    of_dark, of_bright = values[True]
    torch.testing.assert_close(of_dark, of_bright, rtol=1e-4, atol=1e-5)
    of_dark, of_bright = values[False]
    assert not torch.allclose(of_dark, of_bright, rtol=1e-2), "brightness means nothing to this network anyway"
