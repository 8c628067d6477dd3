"""Settings of a network: its convolutions, and the heads that value actions or choose them."""

from dataclasses import dataclass

NATURE, BA3C = TORSOS = ("nature", "ba3c")
Q_NETWORK = "q"
ACTOR_CRITIC_NETWORK = "actor_critic"
RELU, PRELU, LINEAR = ACTIVATIONS = ("relu", "prelu", "linear")


@dataclass(frozen=True)
class NetworkConfig:
    """What all networks have. Sources stand beside the values in `conf/network/`."""

    kind: str
    """"q": one value per action; "actor_critic": one logit per action, and the value of the state."""
    torso: str
    """"nature": three strided convolutions (Mnih et al. 2015); "ba3c": four with max-pools, those of BA3C and of DBA3C
    (Adamski et al. 2018)."""
    hidden_units: int
    """Width of the fully connected layer, of each of the two with `dueling`."""
    centred_pixels: bool
    """Take the mean of an observation's pixels from each of them, so that a bright background is near 0: else every
    weight of a filter that sees it has a gradient of one sign, and a few steps of Adam switch the filter off."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.torso not in TORSOS:
            found.append(f"torso={self.torso} must be one of {', '.join(TORSOS)}")
        if self.hidden_units < 1:
            found.append(f"hidden_units={self.hidden_units} must be at least 1")
        return found


@dataclass(frozen=True)
class QNetworkConfig(NetworkConfig):
    """A network for Q-learning."""

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


@dataclass(frozen=True)
class ActorCriticNetworkConfig(NetworkConfig):
    """A network for actor-critic learning: policy and value share everything but their output layers."""

    activation: str
    """Behind the fully connected layer: "relu", "prelu" (one learned slope for all units) or "linear" (none, and the
    layer has no bias: it would add nothing to those of the output layers)."""
    policy_scale: float
    """Of the policy's first weights, uniform in +-policy_scale sqrt(3 / fan-in): near 0, all actions begin alike."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = super().mistakes()
        if self.activation not in ACTIVATIONS:
            found.append(f"activation={self.activation} must be one of {', '.join(ACTIVATIONS)}")
        if self.policy_scale <= 0:
            found.append(f"policy_scale={self.policy_scale} must be positive")
        return found
