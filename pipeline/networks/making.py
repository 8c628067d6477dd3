"""Networks of a torso and a head, as their settings ask for them.

Not here: the settings (`pipeline.networks.config`), what the parts compute (`pipeline.networks.torso`, `.heads`,
`.policy_head`).
"""

import torch

from pipeline.networks.config import ActorCriticNetworkConfig, LayeredConfig, QNetworkConfig
from pipeline.networks.heads import DuelingHead, Head, PlainHead
from pipeline.networks.implicit import ImplicitQNetwork
from pipeline.networks.layered import LayeredActorCriticNetwork, LayeredQNetwork
from pipeline.networks.linear import LayerKinds
from pipeline.networks.network import QNetwork
from pipeline.networks.parameters import LayerShapes, he_values, rectified_weight_and_bias, weight_and_bias
from pipeline.networks.policy_head import ActorCriticHead
from pipeline.networks.torso import TORSOS, Torso


def q_network(config: QNetworkConfig, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> QNetwork:
    """For stacks of frames (H, W[, 3]). Raises ValueError when the frame is too small for the torso."""
    torso = _torso(config, stack, frame_shape, weight_and_bias)
    made = _on_torso(config, torso, num_actions)
    if config.initial_weights == "he":
        made.shapes = he_values(made.shapes)
    return made


def q_head(config: QNetworkConfig, num_features: int, num_actions: int) -> Head:
    """The head alone, for features (B, F)."""
    head = DuelingHead if config.dueling else PlainHead
    sizes = num_features, num_actions, config.hidden_units, max(config.num_atoms, config.num_quantiles)
    return head(*sizes, _layer_kinds(config))


def actor_critic_network(
    config: ActorCriticNetworkConfig, stack: int, frame_shape: tuple[int, ...], num_actions: int
) -> LayeredActorCriticNetwork:
    """The same with a policy and a value."""
    # Ours: with the small first values of Mnih et al. 2015, and pixels not centred, filters died (docs/papers.md).
    torso = _torso(config, stack, frame_shape, rectified_weight_and_bias)
    return LayeredActorCriticNetwork(torso, actor_critic_head(config, torso.num_features, num_actions))


def actor_critic_head(config: ActorCriticNetworkConfig, num_features: int, num_actions: int) -> ActorCriticHead:
    """The head alone, for features (B, F)."""
    return ActorCriticHead(num_features, num_actions, config.hidden_units, config.activation, config.policy_scale)


def _torso(config: LayeredConfig, stack: int, frame_shape: tuple[int, ...], layer_shapes: LayerShapes) -> Torso:
    return TORSOS[config.torso](stack, frame_shape, config.centred_pixels, layer_shapes)


def _on_torso(config: QNetworkConfig, torso: Torso, num_actions: int) -> QNetwork:
    if config.drawn_fractions:
        return ImplicitQNetwork(torso, num_actions, config.hidden_units, config.num_quantiles, _layer_kinds(config))
    has_atoms = config.num_atoms > 1
    support = torch.linspace(config.min_return, config.max_return, config.num_atoms) if has_atoms else None
    head = q_head(config, torso.num_features, num_actions)
    return LayeredQNetwork(torso, head, support, config.num_quantiles)


def _layer_kinds(config: QNetworkConfig) -> LayerKinds:
    return LayerKinds(config.noise_scale if config.noisy else None, config.layer_norm)
