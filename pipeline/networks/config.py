"""Settings of a network."""

from dataclasses import dataclass

TORSOS = ("nature",)


@dataclass(frozen=True)
class NetworkConfig:
    """Which network maps a stack of frames to one value per action. Sources stand in `conf/network/`."""

    torso: str
    """"nature": three convolutions and a hidden layer (Mnih et al. 2015)."""
    hidden_units: int
    """Width of the fully connected layer, of each of the two with `dueling`."""
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
        found = []
        if self.torso not in TORSOS:
            found.append(f"torso={self.torso} must be one of {', '.join(TORSOS)}")
        if self.hidden_units < 1:
            found.append(f"hidden_units={self.hidden_units} must be at least 1")
        if self.noise_scale <= 0:
            found.append(f"noise_scale={self.noise_scale} must be positive")
        if self.num_atoms < 1:
            found.append(f"num_atoms={self.num_atoms} must be at least 1")
        if self.min_return >= self.max_return:
            found.append(f"min_return={self.min_return} must be below max_return={self.max_return}")
        return found
