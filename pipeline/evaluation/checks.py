"""What must hold of recorded games, whatever kind of file they come from, before an emulator is given them.

All raise ValueError with half a sentence.
Not here: the files (`pipeline.evaluation.recordings`, `pipeline.evaluation.start_states`).
"""

from pipeline.checked_files import as_declared
from pipeline.envs.protocol import EnvironmentConfig
from pipeline.envs.rom import num_actions
from pipeline.games import GAMES
from pipeline.seeding import MAX_EMULATOR_SEED
from pipeline.types import UInt8Array


def environment_in(values: object) -> EnvironmentConfig:
    """The settings of an environment that an object of JSON holds, in their ranges."""
    environment = as_declared(EnvironmentConfig, values)
    if found := environment.mistakes():
        raise ValueError(f"environment.{found[0]}")
    return environment


def check_actions(actions: UInt8Array, game: str, environment: EnvironmentConfig) -> None:
    """Raise if one of these is none of the game's, or it is no game of the emulator."""
    if game not in GAMES:
        raise ValueError(f"{game[:40]!r} is no game of the emulator")
    allowed = num_actions(game, environment.full_action_set)
    if actions.size and actions.max() >= allowed:
        raise ValueError(f"action {actions.max()} is none of the {allowed} of {game}")


def check_seed(seed: int) -> None:
    """Raise if no emulator can begin with it."""
    if not 0 <= seed <= MAX_EMULATOR_SEED:
        raise ValueError(f"seed {seed} must be from 0 to {MAX_EMULATOR_SEED}")
