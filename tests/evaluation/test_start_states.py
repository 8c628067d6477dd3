"""Start states: drawn from recorded games, written, read, and led to again."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.envs.episodes import Episode, replay_episode
from pipeline.errors import ConfigError, RecordingError
from pipeline.evaluation.play import PlayedGame, evaluate
from pipeline.evaluation.protocol import EvaluationConfig
from pipeline.evaluation.start_states import StartStates, draw, load, load_for, save
from pipeline.types import Float32Array, UInt8Array
from tests.protocols import nature_protocol

SMALL = nature_protocol(frame_height=20, frame_width=20, max_frames=1_200)


def likes_pixels(observations: UInt8Array) -> Float32Array:
    best = observations.sum(axis=(1, 2, 3), dtype=np.int64) % 4
    values: Float32Array = np.eye(4, dtype=np.float32)[best]
    return values


def play(config: EvaluationConfig, seed: int = 0, starts: StartStates | None = None) -> list[PlayedGame]:
    return evaluate(
        "Breakout", config, likes_pixels, seed, num_threads=1, agent="checkpoint", version=3, total_frames=0,
        wall_seconds=0.0, starts=starts, num_lanes=2,
    )  # fmt: skip


def protocol(num_episodes: int, max_frames: int = 200, start_states: str | None = None) -> EvaluationConfig:
    environment = dataclasses.replace(SMALL, max_frames=max_frames)
    return EvaluationConfig("own", num_episodes, 0.05, "greedy", None, start_states, environment)


@pytest.fixture(scope="module")
def recorded() -> list[Episode]:
    """Two games of random play, 300 steps at most: unlike greedy play it soon scores."""
    random_play = dataclasses.replace(protocol(2, max_frames=1_200), epsilon=1.0)
    return [game.episode for game in play(random_play)]


@pytest.fixture(scope="module")
def starts(recorded: list[Episode]) -> StartStates:
    return draw(recorded, 3, "a test", np.random.default_rng(1))


def test_points_are_moments_of_the_recorded_games(recorded: list[Episode], starts: StartStates) -> None:
    by_seed = {episode.seed: episode for episode in recorded}
    assert len(starts.states) == len(set(starts.states)) == 3
    for state in starts.states:
        assert 0 < len(state.actions) < by_seed[state.seed].num_steps
        assert by_seed[state.seed].actions.startswith(state.actions)
    assert any(state.score > 0 for state in starts.states)


def test_every_step_but_the_first_and_the_last_may_be_drawn_and_knows_its_score(recorded: list[Episode]) -> None:
    episode = recorded[0]
    last = episode.num_steps - 1
    drawn = draw([episode], last, "a test", np.random.default_rng(0))
    assert [len(state.actions) for state in drawn.states] == list(range(1, last + 1))
    so_far = np.cumsum([step.reward for step in replay_episode(episode)])
    assert [state.score for state in drawn.states] == so_far[1:-1].tolist()
    assert episode.score >= 2
    with pytest.raises(ConfigError, match=f"num_points={last + 1} is more than the {last} steps"):
        draw([episode], last + 1, "a test", np.random.default_rng(0))


def test_a_file_says_what_it_is_not_and_is_read_back(starts: StartStates, tmp_path: Path) -> None:
    save(tmp_path / "Breakout.json", starts)
    assert json.loads((tmp_path / "Breakout.json").read_text())["label"] == "not the paper's human starts"
    assert load(tmp_path / "Breakout.json") == starts
    assert load_for(protocol(3, start_states=str(tmp_path)), "Breakout") == starts
    assert load_for(protocol(3), "Breakout") is None


@pytest.mark.slow
def test_a_game_goes_on_from_its_point_exactly(recorded: list[Episode], starts: StartStates) -> None:
    """The recorded game and one that was taken over show the same pictures up to the point."""
    games = play(protocol(3), starts=starts)
    by_seed = {episode.seed: episode for episode in recorded}
    assert [game.row.episode_seed for game in games] == [state.seed for state in starts.states]
    for game, state in zip(games, starts.states, strict=True):
        assert game.episode.start_step == len(state.actions)
        assert game.episode.actions.startswith(state.actions)
        steps = zip(replay_episode(by_seed[state.seed]), replay_episode(game.episode), strict=False)
        for _ in range(len(state.actions) + 1):
            before, again = next(steps)
            np.testing.assert_array_equal(before.observation, again.observation)
            assert again.reward == 0.0


def test_score_steps_and_frame_cap_count_from_the_point(starts: StartStates) -> None:
    games = play(protocol(3, max_frames=24), starts=starts)
    assert any(game.row.truncated for game in games)
    for game in games:
        assert game.row.num_steps == game.episode.num_steps - game.episode.start_step
        assert game.row.num_steps <= 6
        assert game.row.truncated == (game.row.num_steps == 6)
        assert game.row.max_frames == 24
        assert game.row.start_states == starts.name and starts.name.startswith("3 points ")
        assert game.row.score == sum(step.reward for step in replay_episode(game.episode))
    assert [game.row.start_states for game in play(protocol(1))] == ["none"]


def test_fewer_games_than_points_are_a_choice_of_the_seed(starts: StartStates) -> None:
    chosen = {
        tuple(g.episode.actions[: g.episode.start_step] for g in play(protocol(1, 8), s, starts)) for s in range(3)
    }
    assert len(chosen) > 1
    assert play(protocol(1, 8), 0, starts) == play(protocol(1, 8), 0, starts)


def test_what_does_not_fit_is_refused_in_one_message(starts: StartStates, tmp_path: Path) -> None:
    file = tmp_path / "states.json"
    with pytest.raises(ConfigError, match=rf"there is no file {file}; make it .*pipeline.start_states"):
        load_for(protocol(1, start_states=str(file)), "Breakout")
    save(file, starts)
    wanted = protocol(1, start_states=str(file))
    other = dataclasses.replace(wanted, environment=dataclasses.replace(wanted.environment, noop_max=0))
    with pytest.raises(ConfigError) as raised:
        load_for(other, "Pong")
    of_game, of_noops, of_rom = raised.value.mistakes
    assert "states of Breakout, not of Pong" in of_game
    assert of_noops.startswith("evaluation.environment.noop_max=0 must be 30")
    assert "another ROM" in of_rom
    with pytest.raises(ConfigError, match="num_episodes=4 is more than the 3 start states"):
        load_for(protocol(4, start_states=str(file)), "Breakout")
    file.write_text('{"format": 1}')
    with pytest.raises(ConfigError, match=r"states.json cannot be read"):
        load_for(wanted, "Breakout")
    assert EvaluationConfig("own", 1, 0.0, "greedy", None, "", SMALL).mistakes()[0].startswith("start_states is empty")


def test_games_that_were_played_otherwise_make_no_points_together(recorded: list[Episode]) -> None:
    sticky = dataclasses.replace(recorded[1].config, sticky_probability=0.25)
    with pytest.raises(ConfigError, match=r"Breakout: recorded games differ in environment\.sticky_probability"):
        draw([recorded[0], dataclasses.replace(recorded[1], config=sticky)], 1, "a test", np.random.default_rng(0))


def test_an_opening_that_goes_otherwise_than_recorded_is_an_error(starts: StartStates) -> None:
    (first, *rest) = starts.states
    wrong = dataclasses.replace(starts, states=(dataclasses.replace(first, score=first.score + 1.0), *rest))
    with pytest.raises(RecordingError, match=rf"seed {first.seed} goes otherwise than it was recorded"):
        play(protocol(3), starts=wrong)
