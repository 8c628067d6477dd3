"""Settings of a network, and the network that they make: its convolutions, the heads that value or choose actions.

Not here: settings of a network that is a torch module (`pipeline.networks.module`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch

from pipeline.kinds import Kinds
from pipeline.networks.heads import DuelingHead, Head, PlainHead
from pipeline.networks.layered import LayeredActorCriticNetwork, LayeredQNetwork
from pipeline.networks.network import ActorCriticNetwork, Network, QNetwork
from pipeline.networks.parameters import LayerShapes, rectified_weight_and_bias, weight_and_bias
from pipeline.networks.policy_head import ACTIVATIONS, ActorCriticHead
from pipeline.networks.torso import TORSOS, Torso

Q_NETWORK = "q"
ACTOR_CRITIC_NETWORK = "actor_critic"


@dataclass(frozen=True)
class NetworkConfig:
    """What all networks have. Sources stand beside the values in `conf/network/`."""

    KINDS: ClassVar[tuple[str, ...]] = ()
    """What `kind` may be for this class, besides where it is."""
    NOT_ITS_OWN: ClassVar[frozenset[str]] = frozenset()
    """Settings of other networks that an experiment's file may hold all the same; they mean nothing here."""

    kind: str
    """One of `NETWORKS`, or a class of one's own. "q": one value per action; "actor_critic": one logit per action, and
    the value of the state; "module": an ordinary torch module."""

    @property
    def answers(self) -> str:
        """Q_NETWORK or ACTOR_CRITIC_NETWORK: what algorithms can make of it."""
        raise self._of_no_kind()

    def make(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> Network:
        """The network, for stacks of frames (H, W[, 3]). Raises ValueError when the frame is too small for it."""
        raise self._of_no_kind()

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        return []

    def unfit_for(self, algorithm: str, wanted: str) -> str | None:
        """Why an algorithm of this kind, which wants a network that answers `wanted`, cannot use it; None if it can."""
        return None if self.answers == wanted else f"kind={self.kind} must be {wanted} with algorithm.kind={algorithm}"

    def unfit_for_games(
        self, stack: int, frame_shape: tuple[int, ...], num_actions: Callable[[], int], precision: str
    ) -> list[str]:
        """What of it does not work with such frames and actions, one line each, beginning with the field's name."""
        return []

    def _of_no_kind(self) -> TypeError:
        return TypeError(f"no network for {type(self).__name__}: use QNetworkConfig or ActorCriticNetworkConfig")


NETWORKS: Kinds[NetworkConfig] = Kinds(NetworkConfig, "pipeline.networks")
"""Settings of networks, by kind."""


@dataclass(frozen=True)
class LayeredConfig(NetworkConfig):
    """A torso and a head."""

    torso: str
    """One of `TORSOS`, or a class of one's own: "my_package.torsos.Wide". "nature": three strided convolutions (Mnih et
    al. 2015); "ba3c": four with max-pools, those of BA3C and of DBA3C (Adamski et al. 2018)."""
    hidden_units: int
    """Width of the fully connected layer, of each of the two with `dueling`."""
    centred_pixels: bool
    """Take the mean of an observation's pixels from each of them, so that a bright background is near 0: else every
    weight of a filter that sees it has a gradient of one sign, and a few steps of Adam switch the filter off."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if (why := TORSOS.why_not(self.torso)) is not None:
            found.append(f"torso={self.torso} {why}")
        if self.hidden_units < 1:
            found.append(f"hidden_units={self.hidden_units} must be at least 1")
        return found

    def _torso(self, stack: int, frame_shape: tuple[int, ...], layer_shapes: LayerShapes) -> Torso:
        return TORSOS[self.torso](stack, frame_shape, self.centred_pixels, layer_shapes)


@dataclass(frozen=True)
class QNetworkConfig(LayeredConfig):
    """A network for Q-learning."""

    KINDS = (Q_NETWORK,)

    dueling: bool
    """Value and advantage in streams of their own (Wang et al. 2016)."""
    noisy: bool
    """Fully connected layers with learned, factorised Gaussian noise for exploration (Fortunato et al. 2018)."""
    noise_scale: float
    """sigma_0: initial size of that noise; not used without `noisy`."""
    num_atoms: int
    """Outcomes of a return's distribution (C51, Bellemare et al. 2017); 1: its mean alone, as in DQN."""
    min_return: float
    """Smallest of these outcomes, in units of clipped reward; not used with one atom."""
    max_return: float
    """Largest of them."""

    @property
    def answers(self) -> str:
        """See `NetworkConfig`."""
        return Q_NETWORK

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.noise_scale <= 0:
            found.append(f"noise_scale={self.noise_scale} must be positive")
        if self.num_atoms < 1:
            found.append(f"num_atoms={self.num_atoms} must be at least 1")
        if self.min_return >= self.max_return:
            found.append(f"min_return={self.min_return} must be below max_return={self.max_return}")
        return found

    def make(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> QNetwork:
        """See `NetworkConfig`."""
        torso = self._torso(stack, frame_shape, weight_and_bias)
        atoms = self.num_atoms
        support = torch.linspace(self.min_return, self.max_return, atoms) if atoms > 1 else None
        return LayeredQNetwork(torso, self.make_head(torso.num_features, num_actions), support)

    def make_head(self, num_features: int, num_actions: int) -> Head:
        """The head alone, for features (B, F)."""
        noise_scale = self.noise_scale if self.noisy else None
        head = DuelingHead if self.dueling else PlainHead
        return head(num_features, num_actions, self.hidden_units, self.num_atoms, noise_scale)


@dataclass(frozen=True)
class ActorCriticNetworkConfig(LayeredConfig):
    """A network for actor-critic learning: policy and value share everything but their output layers."""

    KINDS = (ACTOR_CRITIC_NETWORK,)

    activation: str
    """Behind the fully connected layer: "relu", "prelu" (one learned slope for all units) or "linear" (none, and the
    layer has no bias: it would add nothing to those of the output layers)."""
    policy_scale: float
    """Of the policy's first weights, uniform in +-policy_scale sqrt(3 / fan-in): near 0, all actions begin alike."""

    @property
    def answers(self) -> str:
        """See `NetworkConfig`."""
        return ACTOR_CRITIC_NETWORK

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.activation not in ACTIVATIONS:
            found.append(f"activation={self.activation} must be one of {', '.join(ACTIVATIONS)}")
        if self.policy_scale <= 0:
            found.append(f"policy_scale={self.policy_scale} must be positive")
        return found

    def make(self, stack: int, frame_shape: tuple[int, ...], num_actions: int) -> ActorCriticNetwork:
        """See `NetworkConfig`."""
        # Ours: a run on Pong that began with the small first values of Mnih et al. 2015 ended with 31 of its 32 first
        # filters dead. These alone mended little, with `centred_pixels` all filters live (docs/papers.md).
        torso = self._torso(stack, frame_shape, rectified_weight_and_bias)
        return LayeredActorCriticNetwork(torso, self.make_head(torso.num_features, num_actions))

    def make_head(self, num_features: int, num_actions: int) -> ActorCriticHead:
        """The head alone, for features (B, F)."""
        return ActorCriticHead(num_features, num_actions, self.hidden_units, self.activation, self.policy_scale)
