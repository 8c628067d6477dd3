"""`python -m pipeline.play`: recorded games become films that hold the whole game."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline import seeding
from pipeline.config.tree import to_yaml
from pipeline.evaluation import recordings
from pipeline.evaluation.play import PlayedGame, evaluate_random_agent
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.plan import network_of
from pipeline.param_server.snapshot import first_snapshot
from pipeline.play import main
from tests.experiments.smoke_runs import smoke_config
from tests.rendering.films import read_film


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with two games of ten seconds, as if its first checkpoint had played them."""
    folder = tmp_path_factory.mktemp("run")
    config = smoke_config(folder, "evaluation.environment.max_frames=600")
    (folder / "config.yaml").write_text(to_yaml(config))
    params = network_of(config).initial_parameters(seeding.stream(0, "parameters"))
    checkpoint.save(folder / "checkpoints", Checkpoint(first_snapshot(params), {}, 0), keep=1)
    games = evaluate_random_agent("Breakout", config.evaluation, 1, num_threads=1)
    recordings.save(
        folder / "recordings", [PlayedGame(replace(row, agent="checkpoint"), episode) for row, episode in games]
    )
    return folder


def test_the_best_game_becomes_a_film_beside_its_recording(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games = recordings.load(run / "recordings" / "smoke_checkpoint_000000000000.npz")
    best = max(games, key=lambda game: game.row.score)
    assert main([f"run={run}"]) == 0
    film = run / "recordings" / f"smoke_checkpoint_000000000000_game{best.row.episode}.mp4"
    assert read_film(film).shape == (best.episode.num_steps + 1, 630, 480, 3)
    printed = capsys.readouterr().out
    assert f"game {best.row.episode} of 2, score {best.row.score:g}, {best.row.num_steps} steps" in printed
    assert f"{film}: {best.episode.num_steps + 1} pictures" in printed


def test_a_short_gif_with_the_network_s_values_beside_the_game(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    film = tmp_path / "new" / "game.gif"
    words = [f"run={run}", "episode=0", f"output={film}", "overlay=true", "scale=1", "max_seconds=0.8", "fps=10"]
    assert main(words) == 0
    shown = read_film(film)
    assert shown.shape == (8, 210, 280, 3)
    assert capsys.readouterr().err == ""
    assert len(np.unique(shown[0, 60:, 160:].reshape(-1, 3), axis=0)) > 10, "bars and numbers of four actions"


def test_a_game_that_was_no_network_s_is_shown_without_values_and_says_so(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (row, episode), *_ = recordings.load(run / "recordings" / "smoke_checkpoint_000000000000.npz")
    short = PlayedGame(replace(row, agent="person"), episode)
    recordings.save(tmp_path / "recordings", [short])
    words = [f"run={tmp_path}", f"output={tmp_path}/game.mp4", "overlay=true", "scale=1", "max_seconds=0.2"]
    assert main(words) == 0
    assert "without a network's values: agent=person has no network" in capsys.readouterr().err
    assert read_film(tmp_path / "game.mp4").shape == (3, 210, 280, 3)


def test_a_recording_of_another_score_makes_no_film(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (row, episode), *_ = recordings.load(run / "recordings" / "smoke_checkpoint_000000000000.npz")
    recordings.save(tmp_path / "recordings", [PlayedGame(replace(row, score=99.0), replace(episode, score=99.0))])
    assert main([f"run={tmp_path}", f"output={tmp_path}/game.mp4", "scale=1", "max_seconds=0.2"]) == 1
    assert "the recorded score is 99, played again" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.mp4"))


def test_a_film_that_cannot_be_written_is_told_before_the_game_is_played_and_in_no_other_program_s_words(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main([f"run={run}", f"output={tmp_path}/file/game.mp4"]) == 2
    assert f"output={tmp_path}/file/game.mp4 cannot be written: " in capsys.readouterr().err
    assert main([f"run={run}", f"output={tmp_path}/{'x' * 300}.mp4"]) == 1
    said = capsys.readouterr().err
    assert "xx.mp4" in said and "File name too long; allow it, or choose another place" in said and "ffmpeg" not in said
    assert main([f"run={tmp_path}", "keyboard=true", "game=Pong", f"output={tmp_path}/file"]) == 2


def test_every_mistake_is_in_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rnu=a", "output=film.avi", "scale=0", "fps=-1", "max_seconds=0"]) == 2
    assert capsys.readouterr().err == (
        "error: 5 mistakes in the configuration, nothing was started:\n"
        "  1. rnu=a: no such setting; did you mean run?\n"
        "  2. fps=-1 must be positive\n"
        "  3. scale=0 must be positive\n"
        "  4. max_seconds=0 must be positive\n"
        "  5. output=film.avi must end in .mp4 or .gif\n"
    )


@pytest.mark.parametrize(
    ("words", "mistake"),
    [
        ([], "run is missing: name a run folder"),
        (["keyboard=true"], "game is missing: name one, e.g. game=Breakout"),
        (["keyboard=true", "game=Pong", "run=a"], "run=a is of no use with keyboard=true"),
        (["game=Pong"], "game=Pong is of no use without keyboard=true"),
        (["run=a", "watch=true", "output=a.mp4"], "output=a.mp4 is of no use with watch=true"),
        (["run=a", "seed=3"], "seed=3 is of no use without keyboard=true"),
        (["run=a", "experiment=dqn"], "experiment=dqn is of no use without keyboard=true"),
        (["keyboard=true", "game=Pong", "overlay=true"], "overlay=true is of no use with keyboard=true"),
        (["keyboard=true", "game=Pong", "agent=best"], "agent=best is of no use with keyboard=true"),
    ],
)
def test_what_is_missing_or_in_vain_is_a_mistake(
    capsys: pytest.CaptureFixture[str], words: list[str], mistake: str
) -> None:
    assert main(words) == 2
    assert mistake in capsys.readouterr().err


def test_watching_shows_the_game_in_a_window(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    assert main([f"run={run}", "watch=true", "scale=1", "fps=1000"]) == 0


def test_a_person_without_a_display_gets_one_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    assert main(["keyboard=true", "game=Breakout"]) == 2
    assert "need a display, here is none" in capsys.readouterr().err
