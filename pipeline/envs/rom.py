"""Facts that need no lanes: which actions a game has, which ROM it is, and which emulator plays it.

Settings ask for them, and most never do: the emulator's package, with gymnasium behind it, is imported when they do.
"""

import hashlib
from functools import cache
from pathlib import Path

from pipeline.errors import ConfigError
from pipeline.games import rom_name


def num_actions(game: str, full_action_set: bool) -> int:
    """A: the actions that the game uses, or all 18 of the console. Raises ConfigError for an unknown game."""
    return len(action_names(game, full_action_set))


@cache  # a console is started to ask it
def action_names(game: str, full_action_set: bool) -> tuple[str, ...]:
    """What these actions do, in the order of their indices: "NOOP", "FIRE", ... "DOWNLEFTFIRE".

    Raises ConfigError for an unknown game.
    """
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # a banner for each console is no news
    ale = ale_py.ALEInterface()
    ale.loadROM(_rom_path(game))
    actions = ale.getLegalActionSet() if full_action_set else ale.getMinimalActionSet()
    return tuple(action.name for action in actions)


def rom_md5(game: str) -> str:
    """Hexadecimal digest of the game's ROM file. Raises ConfigError for an unknown game."""
    return hashlib.md5(_rom_path(game).read_bytes()).hexdigest()


def ale_version() -> str:
    """Version of the emulator."""
    import ale_py

    return str(ale_py.__version__)


def _rom_path(game: str) -> Path:
    from ale_py import roms

    path = roms.get_rom_path(rom_name(game))
    if path is None:
        raise ConfigError([f"game={game}: ale-py has no ROM {rom_name(game)!r}"])
    return Path(path)
