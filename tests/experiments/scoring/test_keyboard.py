"""A person at the keyboard: SDL's dummy stands in for the display, events for the fingers."""

from pathlib import Path

import pytest

from pipeline.errors import ConfigError
from pipeline.evaluation import recordings
from pipeline.experiments.scoring import keyboard
from pipeline.experiments.scoring.keyboard import let_person_play
from pipeline.rendering.window import Window


def test_a_game_is_recorded_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(keyboard, "PERSONS", tmp_path)
    steps = 0

    def hold(window: Window) -> set[str]:
        nonlocal steps
        steps += 1
        window.is_open = steps % 6 != 0
        return {"RIGHT"}

    # Keys that a dummy cannot hold down.
    monkeypatch.setattr(Window, "held", hold)
    paths = [let_person_play("Breakout", "smoke_gorila", seed, None, scale=1, fps=1_000) for seed in (0, 1)]
    assert paths == [
        tmp_path / "Breakout" / number / "recordings" / "smoke_person_000000000000.npz" for number in ("0", "1")
    ]
    for path in paths:
        assert path is not None
        ((row, episode),) = recordings.load(path)
        assert (row.agent, row.protocol, set(episode.actions)) == ("person", "smoke", {2})
        assert episode.config.frame_shape == (210, 160, 3) and episode.config.noop_max == 30


def test_a_folder_with_a_person_s_game_is_refused_before_a_window_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyboard, "Window", lambda *_: pytest.fail("a window was opened"))
    earlier = tmp_path / "recordings" / "smoke_person_000000000000.npz"
    earlier.parent.mkdir()
    earlier.touch()
    with pytest.raises(ConfigError, match=f"output={tmp_path}: a person's game is there, {earlier}; choose another"):
        let_person_play("Pong", "smoke_gorila", 1, tmp_path, scale=1, fps=None)
    assert list(earlier.parent.iterdir()) == [earlier]


def test_an_unknown_game_is_refused_before_a_window_is_opened() -> None:
    with pytest.raises(ConfigError, match=r"game=Brakout: no such game; did you mean Breakout\?"):
        let_person_play("Brakout", "gorila", 0, None, scale=1, fps=None)
