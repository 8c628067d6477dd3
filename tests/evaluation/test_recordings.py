"""Recordings: what is read back is what was played, and a damaged file is one clear error."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.envs.episodes import Episode
from pipeline.errors import RecordingError
from pipeline.evaluation import recordings
from pipeline.evaluation.play import PlayedGame
from tests.evaluation.recorded import random_games
from tests.killed import killed_while_writing


@pytest.fixture(scope="module")
def games() -> list[PlayedGame]:
    """Three games, of different lengths."""
    return random_games(num_episodes=3, sticky_probability=0.25)


def renamed(games: list[PlayedGame], **changes: object) -> list[PlayedGame]:
    return [PlayedGame(replace(game.row, **changes), game.episode) for game in games]  # type: ignore[arg-type]


def test_games_come_back_as_they_were_played(games: list[PlayedGame], tmp_path: Path) -> None:
    path = recordings.save(tmp_path / "recordings", games)
    assert path.name == "short_random_000000000000.npz"
    assert recordings.load(path) == games
    assert len({game.episode.num_steps for game in games}) > 1


def test_an_episode_with_an_opening_comes_back_with_it(games: list[PlayedGame], tmp_path: Path) -> None:
    row, episode = games[0]
    going_on = PlayedGame(
        replace(row, start_step=10, num_steps=row.num_steps - 10, score=1.0), replace(episode, start_step=10, score=1.0)
    )
    assert recordings.load(recordings.save(tmp_path, [going_on])) == [going_on]


def test_a_file_is_much_smaller_than_a_byte_per_step_and_game(games: list[PlayedGame], tmp_path: Path) -> None:
    # 30 games of 4,500 steps, in which the chosen action mostly stays the same for a while.
    row, episode = games[0]
    rng = np.random.default_rng(0)
    actions = [np.repeat(rng.integers(0, 4, 900), 5).astype(np.uint8).tobytes() for _ in range(30)]
    many = [
        PlayedGame(replace(row, episode=i, num_steps=4_500), replace(episode, actions=taken))
        for i, taken in enumerate(actions)
    ]
    assert recordings.save(tmp_path, many).stat().st_size < 45_000


def test_a_newer_evaluation_of_the_same_protocol_and_agent_takes_the_older_one_s_place(
    games: list[PlayedGame], tmp_path: Path
) -> None:
    for agent, protocol, version in [
        ("checkpoint", "short", 1),
        ("checkpoint", "short_30min", 1),
        ("best", "short", 1),
        ("checkpoint", "short", 20),
    ]:
        recordings.save(tmp_path, renamed(games, agent=agent, protocol=protocol, version=version))
        if version == 1 and protocol == "short" and agent == "checkpoint":
            kept = tmp_path / "short_checkpoint_000000000001_good.npz"
            shutil.copy(tmp_path / "short_checkpoint_000000000001.npz", kept)
    kept.unlink()  # is there: nobody else deletes it
    assert [path.name for path in recordings.all_in(tmp_path)] == [
        "short_30min_checkpoint_000000000001.npz",
        "short_best_000000000001.npz",
        "short_checkpoint_000000000020.npz",
    ]
    assert {path.suffix for path in tmp_path.iterdir()} == {".npz"}


def test_other_games_of_the_same_parameters_stay_and_the_same_ones_are_there_once(
    games: list[PlayedGame], tmp_path: Path
) -> None:
    path = recordings.save(tmp_path, games)
    others = [
        PlayedGame(replace(row, episode_seed=row.episode_seed + 100), replace(episode, seed=row.episode_seed + 100))
        for row, episode in games[:2]
    ]
    with_epsilon = renamed(games[:1], epsilon=0.5)
    for more in (others, with_epsilon, games[1:2]):
        assert recordings.save(tmp_path, more) == path
    assert recordings.load(path) == [games[0], games[2], *others, *with_epsilon, games[1]]


def test_games_of_another_environment_have_a_file_of_their_own(games: list[PlayedGame], tmp_path: Path) -> None:
    path = recordings.save(tmp_path, games)
    elsewhere = [PlayedGame(row, replace(one, config=replace(one.config, fire_on_reset=True))) for row, one in games]
    own = recordings.save(tmp_path, elsewhere)
    assert own == recordings.save(tmp_path, elsewhere) != path
    assert recordings.load(path) == games and recordings.load(own) == elsewhere
    dated = recordings.save(tmp_path, renamed(games, protocol="short_20261130"))
    newer = recordings.save(tmp_path, renamed(games, version=7))
    assert recordings.all_in(tmp_path) == [dated, newer], "older parameters' are gone, in whatever environment"


def test_a_file_that_nobody_can_read_keeps_no_games_from_being_recorded(
    games: list[PlayedGame], tmp_path: Path
) -> None:
    path = recordings.save(tmp_path, games)
    path.write_bytes(b"damaged")
    assert recordings.load(recordings.save(tmp_path, games)) == games


def test_an_evaluation_of_an_older_checkpoint_leaves_the_games_of_a_newer_one(
    games: list[PlayedGame], tmp_path: Path
) -> None:
    for version, wanted in [(20, [20]), (1, [1, 20]), (20, [20])]:
        recordings.save(tmp_path, renamed(games, agent="checkpoint", version=version))
        names = [f"short_checkpoint_{number:012d}.npz" for number in wanted]
        assert [path.name for path in recordings.all_in(tmp_path)] == names


def test_games_drawn_from_a_policy_stand_beside_those_of_the_best_actions(
    games: list[PlayedGame], tmp_path: Path
) -> None:
    for sampled in (False, True):
        recordings.save(tmp_path, renamed(games, agent="checkpoint", sampled=sampled))
    assert [path.name for path in recordings.all_in(tmp_path)] == [
        "short_checkpoint_000000000000.npz",
        "short_checkpoint_sampled_000000000000.npz",
    ]


def test_any_name_of_a_protocol_makes_a_file(games: list[PlayedGame], tmp_path: Path) -> None:
    path = recordings.save(tmp_path, renamed(games, protocol="mine/it's [new]"))
    assert path == tmp_path / "mine-it-s-new-_random_000000000000.npz"
    assert recordings.all_in(tmp_path) == [path]


def test_there_are_no_recordings_where_there_is_no_folder(tmp_path: Path) -> None:
    assert recordings.all_in(tmp_path / "nowhere") == []


def test_a_recording_that_a_kill_cut_short_is_none(games: list[PlayedGame], tmp_path: Path) -> None:
    path = recordings.save(tmp_path, games)
    killed_while_writing(tmp_path / "short_random_000000000007.npz")
    assert recordings.all_in(tmp_path) == [path]


def test_a_recording_that_was_cut_short_is_refused_by_name(games: list[PlayedGame], tmp_path: Path) -> None:
    path = recordings.save(tmp_path, games)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(RecordingError, match=rf"{path} cannot be read"):
        recordings.load(path)


def test_a_recording_that_the_disk_refuses_is_told_by_name(games: list[PlayedGame], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordingError, match=r"file/.*\.npz could not be written"):
        recordings.save(tmp_path / "file", games)


def test_a_recording_of_another_format_names_both(
    games: list[PlayedGame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "FORMAT", 7)
    path = recordings.save(tmp_path, games)
    monkeypatch.undo()
    with pytest.raises(RecordingError, match="has format 7, this version of pipeline reads 1"):
        recordings.load(path)


def test_a_recorded_episode_needs_nothing_but_the_file(games: list[PlayedGame], tmp_path: Path) -> None:
    (_, episode), *_ = recordings.load(recordings.save(tmp_path, games))
    assert episode == Episode(
        "Breakout", games[0].episode.config, episode.seed, episode.actions, episode.score, episode.truncated
    )
    assert episode.config.sticky_probability == 0.25 and episode.actions


def rewritten(path: Path, **arrays: np.ndarray) -> None:
    """The file with other arrays, every checksum right."""
    with np.load(path) as archive:
        changed = dict(archive) | arrays
    np.savez(path, **changed)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("actions", 200, "action 200 is none of the 4 of Breakout"),
        ("num_steps", -1, r"actions and 3 rows stand beside num_steps of 3 games"),
        ("num_steps", 0, r"actions and 3 rows stand beside num_steps of 3 games"),
    ],
)
def test_what_no_game_could_have_had_is_refused_before_it_is_played_again(
    games: list[PlayedGame], tmp_path: Path, name: str, value: int, message: str
) -> None:
    path = recordings.save(tmp_path, games)
    with np.load(path) as archive:
        array = archive[name]
    array[0] = value
    rewritten(path, **{name: array})
    with pytest.raises(RecordingError, match=rf"{path} cannot be read: .*{message}; move it away"):
        recordings.load(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"game": "Breakout"', b'"game": "Breakoux"', "'Breakoux' is no game of the emulator"),
        (b'"frame_skip": 4', b'"frame_skip": 0', "environment.frame_skip=0 must be at least 1"),
        (b'"grey": true', b'"grey": "no"', "grey='no' is no bool"),
        (b'"format"', b'"formax"', "has format None"),
    ],
)
def test_settings_that_no_game_could_have_had_are_refused(
    games: list[PlayedGame], tmp_path: Path, old: bytes, new: bytes, message: str
) -> None:
    path = recordings.save(tmp_path, games)
    with np.load(path) as archive:
        meta = archive["meta"].tobytes()
    assert old in meta
    rewritten(path, meta=np.frombuffer(meta.replace(old, new, 1), np.uint8))
    with pytest.raises(RecordingError, match=message):
        recordings.load(path)
