"""The games of the emulator by their gymnasium names, and the 49 of Mnih et al. 2015 and Nair et al. 2015 among them.

`rom_name` gives what ale-py calls them ("BeamRider" -> "beam_rider"). Published scores are in `results/published/`: of
the 49 alone, so that other games are trained, evaluated and drawn like these and have no normalised score.
Not here: the emulator itself (`pipeline.envs.rom`).
"""

import difflib
import re
from collections.abc import Mapping

from pipeline.errors import ConfigError

ATARI49 = (
    "Alien", "Amidar", "Assault", "Asterix", "Asteroids", "Atlantis", "BankHeist", "BattleZone", "BeamRider",
    "Bowling", "Boxing", "Breakout", "Centipede", "ChopperCommand", "CrazyClimber", "DemonAttack", "DoubleDunk",
    "Enduro", "FishingDerby", "Freeway", "Frostbite", "Gopher", "Gravitar", "Hero", "IceHockey", "Jamesbond",
    "Kangaroo", "Krull", "KungFuMaster", "MontezumaRevenge", "MsPacman", "NameThisGame", "Pong", "PrivateEye",
    "Qbert", "Riverraid", "RoadRunner", "Robotank", "Seaquest", "SpaceInvaders", "StarGunner", "Tennis",
    "TimePilot", "Tutankham", "UpNDown", "Venture", "VideoPinball", "WizardOfWor", "Zaxxon",
)  # fmt: skip
"""Alphabetical, as in both papers' tables."""

OTHER_GAMES = (
    "Adventure", "AirRaid", "Atlantis2", "Backgammon", "BasicMath", "Berzerk", "Blackjack", "Carnival", "Casino",
    "Crossbow", "Darkchambers", "Defender", "DonkeyKong", "Earthworld", "ElevatorAction", "Entombed", "Et",
    "FlagCapture", "Frogger", "Galaxian", "Hangman", "HauntedHouse", "HumanCannonball", "JourneyEscape", "Kaboom",
    "KeystoneKapers", "KingKong", "Klax", "Koolaid", "LaserGates", "LostLuggage", "MarioBros", "MiniatureGolf",
    "MrDo", "Othello", "Pacman", "Phoenix", "Pitfall", "Pitfall2", "Pooyan", "SirLancelot", "Skiing", "Solaris",
    "SpaceWar", "Superman", "Surround", "Tetris", "TicTacToe3D", "Trondead", "Turmoil", "VideoCheckers",
    "VideoChess", "VideoCube", "WordZapper", "YarsRevenge",
)  # fmt: skip
"""What ale-py 0.12 has besides, of those that one player can play."""

GAMES = (*ATARI49, *OTHER_GAMES)
"""Every game that can be trained: the 49 first."""

_BY_BARE_NAME: Mapping[str, str] = {game.lower(): game for game in GAMES}


def rom_name(game: str) -> str:
    """ale-py's name of a game: `rom_name("UpNDown")` is "up_n_down"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z]|\d[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", game).lower()


def game_named(name: str) -> str | None:
    """The game that is meant by "beam_rider", "beamrider" or "BeamRider"; None if it is none of GAMES."""
    return _BY_BARE_NAME.get(name.replace("_", "").lower())


def check_game(game: str) -> None:
    """Raise ConfigError, with the nearest name, if it is none of GAMES."""
    if game in GAMES:
        return
    near = difflib.get_close_matches(game, GAMES, n=1, cutoff=0.4)
    meant = game_named(game) or next(iter(near), None)
    raise ConfigError([f"game={game}: no such game" + ("" if meant is None else f"; did you mean {meant}?")])
