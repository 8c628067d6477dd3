"""Settings of a network."""

from dataclasses import dataclass

TORSOS = ("nature",)


@dataclass(frozen=True)
class NetworkConfig:
    """Which network maps a stack of frames to one value per action. Sources stand in `conf/network/`."""

    torso: str
    """"nature": three convolutions and a hidden layer (Mnih et al. 2015)."""
    hidden_units: int
    """Width of the fully connected layer."""

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        if self.torso not in TORSOS:
            found.append(f"torso={self.torso} must be one of {', '.join(TORSOS)}")
        if self.hidden_units < 1:
            found.append(f"hidden_units={self.hidden_units} must be at least 1")
        return found
