"""The 49 games of Mnih et al. 2015 and Nair et al. 2015, by their gymnasium names.

`rom_name` gives what ale-py calls them ("BeamRider" -> "beam_rider"). Published scores are in `results/published/`.
"""

import re

ATARI49 = (
    "Alien", "Amidar", "Assault", "Asterix", "Asteroids", "Atlantis", "BankHeist", "BattleZone", "BeamRider",
    "Bowling", "Boxing", "Breakout", "Centipede", "ChopperCommand", "CrazyClimber", "DemonAttack", "DoubleDunk",
    "Enduro", "FishingDerby", "Freeway", "Frostbite", "Gopher", "Gravitar", "Hero", "IceHockey", "Jamesbond",
    "Kangaroo", "Krull", "KungFuMaster", "MontezumaRevenge", "MsPacman", "NameThisGame", "Pong", "PrivateEye",
    "Qbert", "Riverraid", "RoadRunner", "Robotank", "Seaquest", "SpaceInvaders", "StarGunner", "Tennis",
    "TimePilot", "Tutankham", "UpNDown", "Venture", "VideoPinball", "WizardOfWor", "Zaxxon",
)  # fmt: skip
"""Alphabetical, as in both papers' tables."""


def rom_name(game: str) -> str:
    """ale-py's name of a game: `rom_name("UpNDown")` is "up_n_down"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", game).lower()
