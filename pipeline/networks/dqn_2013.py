"""The convolutions of the first DQN network, a third of the Nature network's arithmetic.

    uint8 (B, K, H, W) -> conv 16 8x8/4 -> conv 32 4x4/2 -> features (B, F), 2592 of frames of 84x84

Mnih et al. 2013, "Playing Atari with Deep Reinforcement Learning", section 4.1.
Not here: how they are computed (`pipeline.networks.nature`).
"""

from pipeline.networks.nature import NatureTorso


class Dqn2013Torso(NatureTorso):
    """Two strided convolutions. Raises ValueError when the frame is too small for them."""

    KINDS = ("dqn_2013",)
    CONVOLUTIONS = ((16, 8, 4), (32, 4, 2))
