from pathlib import Path

import ale_py.roms
import pytest
from ale_py.registration import rom_id_to_name

from pipeline.config.overrides import compose
from pipeline.errors import ConfigError
from pipeline.games import ATARI49, GAMES, OTHER_GAMES, check_game, game_named, rom_name
from pipeline.results.load import load_runs
from pipeline.results.table import game_table

FOR_TWO = {"combat", "joust", "maze_craze", "warlords"}
"""ROMs that ale-py registers no environment of: nobody can play them alone."""


def test_games_are_those_that_one_player_can_play_in_the_emulator() -> None:
    roms = set(ale_py.roms.get_all_rom_ids()) - FOR_TWO
    assert {rom_name(game) for game in GAMES} == roms
    assert {rom_id_to_name(rom) for rom in roms} == set(GAMES)
    assert len(set(GAMES)) == len(GAMES) == len(ATARI49) + len(OTHER_GAMES)
    assert list(OTHER_GAMES) == sorted(OTHER_GAMES)


@pytest.mark.parametrize("name", ["beam_rider", "beamrider", "BeamRider"])
def test_a_game_is_known_by_the_names_that_others_have_for_it(name: str) -> None:
    assert game_named(name) == "BeamRider"
    assert game_named(f"{name}s") is None


def test_any_of_them_can_be_trained_and_a_wrong_name_is_answered_with_the_nearest() -> None:
    assert compose(["experiment=smoke_gorila", "game=Pooyan"]).game == "Pooyan"
    for game, nearest in (("Pitfal", "Pitfall or Pitfall2"), ("ALE/Berzerkk-v5", "Berzerk"), ("breakout", "Breakout")):
        with pytest.raises(ConfigError, match=f"game={game}: no such game; did you mean {nearest}\\?"):
            compose(["experiment=smoke_gorila", f"game={game}"])


def test_rows_of_a_game_that_there_is_not_are_no_empty_table() -> None:
    check_game("Pong")
    with pytest.raises(ConfigError, match=r"game=pong: no such game; did you mean Pong\?"):
        game_table(load_runs(Path("nowhere")), "pong")
    assert load_runs(Path("nowhere")).problems == ("nowhere: no such folder",)
