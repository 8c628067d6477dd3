"""Choosing among the recorded games of a run, and the network that played them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline import seeding
from pipeline.config.tree import to_yaml
from pipeline.errors import CheckpointError, ConfigError, RecordingError, RunFolderError
from pipeline.evaluation import recordings
from pipeline.evaluation.play import PlayedGame
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.plan import network_of
from pipeline.experiments.scoring.recorded_games import choose_game, opinions_of_player
from pipeline.param_server.snapshot import first_snapshot
from pipeline.rendering.overlay import Q
from tests.evaluation.recorded import random_games
from tests.experiments.smoke_runs import smoke_config


@pytest.fixture(scope="module")
def game() -> PlayedGame:
    """One game of a few steps."""
    (game,) = random_games(max_frames=40)
    return game


def record(
    run: Path,
    game: PlayedGame,
    agent: str,
    scores: list[float],
    protocol: str = "short",
    sampled: bool = False,
    version: int = 0,
) -> None:
    """The same game, as if it had been played several times with these scores."""
    games = [
        PlayedGame(
            replace(game.row, agent=agent, protocol=protocol, episode=i, score=score, sampled=sampled, version=version),
            replace(game.episode, score=score),
        )
        for i, score in enumerate(scores)
    ]
    recordings.save(run / "recordings", games)


@pytest.mark.parametrize(
    ("which", "scores", "number"),
    [
        ("best", [1, 5, 5, 2], 1),
        ("worst", [3, 0, 5, 0], 1),
        ("median", [4, 1, 9], 0),
        ("median", [4, 1, 9, 3], 3),
        ("2", [4, 1, 9, 3], 2),
    ],
)
def test_a_game_is_called_by_its_rank_or_its_number(
    game: PlayedGame, tmp_path: Path, which: str, scores: list[float], number: int
) -> None:
    record(tmp_path, game, "checkpoint", scores)
    chosen = choose_game(tmp_path, which, None, None)
    assert (chosen.played.row.episode, chosen.played.row.score) == (number, scores[number])
    assert (chosen.num_games, chosen.passed_over) == (len(scores), ())
    assert chosen.recording == tmp_path / "recordings" / "short_checkpoint_000000000000.npz"


def test_the_last_parameters_come_first_unless_an_agent_or_a_protocol_is_named(
    game: PlayedGame, tmp_path: Path
) -> None:
    record(tmp_path, game, "random", [9.0])
    record(tmp_path, game, "best", [2.0])
    record(tmp_path, game, "checkpoint", [1.0], "sticky")
    record(tmp_path, game, "checkpoint", [0.0], "short")
    first = choose_game(tmp_path, "best", None, None)
    assert first.played.row.score == 0.0
    assert first.passed_over == (
        "agent=best protocol=short", "agent=random protocol=short", "agent=checkpoint protocol=sticky",
    )  # fmt: skip
    assert choose_game(tmp_path, "best", "random", None).played.row.score == 9.0
    assert choose_game(tmp_path, "best", None, "sticky").played.row.score == 1.0
    record(tmp_path, game, "checkpoint", [7.0], "short", sampled=True)
    assert choose_game(tmp_path, "best", None, None).played.row.score == 0.0
    assert choose_game(tmp_path, "best", None, None, "sampled").played.row.score == 7.0
    with pytest.raises(ConfigError, match=r"agent=training and protocol=short: .* has no such .* there is agent=best"):
        choose_game(tmp_path, "best", "training", "short")


def test_the_newest_version_comes_first_whichever_was_evaluated_last(game: PlayedGame, tmp_path: Path) -> None:
    record(tmp_path, game, "checkpoint", [4.0], version=20)
    record(tmp_path, game, "checkpoint", [8.0], version=0)
    newest = choose_game(tmp_path, "best", None, None)
    assert newest.played.row.score == 4.0
    assert newest.passed_over == ("agent=checkpoint protocol=short version=0",)
    assert choose_game(tmp_path, "best", None, None, version=0).played.row.score == 8.0
    with pytest.raises(ConfigError, match=r"version=1: .* no such recording; .* version=0, .* version=20"):
        choose_game(tmp_path, "best", None, None, version=1)


def test_of_one_protocol_in_two_environments_either_can_be_chosen(game: PlayedGame, tmp_path: Path) -> None:
    record(tmp_path, game, "checkpoint", [4.0])
    other = replace(game.episode, config=replace(game.episode.config, fire_on_reset=True))
    record(tmp_path, PlayedGame(game.row, other), "checkpoint", [8.0])
    chosen = choose_game(tmp_path, "best", None, "short")
    assert chosen.played.row.score == 4.0
    (passed_over,) = chosen.passed_over
    _, _, protocol = passed_over.partition("protocol=")
    assert protocol.startswith("short+")
    assert choose_game(tmp_path, "best", None, protocol).played.row.score == 8.0


def test_a_number_that_is_none_s_is_refused_with_those_that_are(game: PlayedGame, tmp_path: Path) -> None:
    record(tmp_path, game, "checkpoint", [1.0, 2.0])
    for which in ("2", "-1", "longest"):
        with pytest.raises(ConfigError, match=rf"episode={which} must be best, median, worst or .* 0 to 1"):
            choose_game(tmp_path, which, None, None)


def test_a_run_without_recordings_is_told_how_to_get_some(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no run folder is there"):
        choose_game(tmp_path, "best", None, None)
    (tmp_path / "config.yaml").touch()
    with pytest.raises(RecordingError, match=rf"no recorded games: .* python -m pipeline\.evaluate run={tmp_path}"):
        choose_game(tmp_path, "best", None, None)


def test_the_checkpoint_that_played_says_what_it_thinks(game: PlayedGame, tmp_path: Path) -> None:
    config = smoke_config(tmp_path)
    environment = config.evaluation.environment
    params = network_of(config).initial_parameters(seeding.stream(0, "parameters"))
    (tmp_path / "checkpoints").mkdir()
    checkpoint.save(tmp_path / "checkpoints" / "best", Checkpoint(first_snapshot(params), {}, 0), keep=1)
    played = PlayedGame(replace(game.row, agent="best"), replace(game.episode, config=environment))

    with pytest.raises(RunFolderError, match=r"config\.yaml cannot be read"):
        opinions_of_player(tmp_path, played)
    (tmp_path / "config.yaml").write_text(to_yaml(config))
    seen = np.zeros((environment.stack, *environment.frame_shape), np.uint8)
    opinion = opinions_of_player(tmp_path, played)(seen)
    assert opinion.kind == Q and opinion.of_actions.shape == (4,)
    assert opinion.value == opinion.of_actions.max()

    with pytest.raises(CheckpointError, match="no checkpoint of update 30, which played this game"):
        opinions_of_player(tmp_path, PlayedGame(replace(played.row, version=30), played.episode))
    with pytest.raises(CheckpointError, match="agent=random has no network"):
        opinions_of_player(tmp_path, game)
