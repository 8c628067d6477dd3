"""The window, without a display: SDL's own dummy stands in for one."""

import importlib.util
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from pipeline.errors import ConfigError
from pipeline.rendering.window import Window, action_of, watch
from pipeline.types import UInt8Array

BREAKOUT = ["NOOP", "FIRE", "RIGHT", "LEFT"]
FREEWAY = ["NOOP", "UP", "DOWN"]
SPACE_INVADERS = ["NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE"]
SEAQUEST = ["NOOP", "UP", "RIGHT", "UPRIGHT", "DOWNLEFT", "UPRIGHTFIRE"]


@pytest.fixture
def dummy_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def picture(red: int) -> UInt8Array:
    shown = np.zeros((42, 32, 3), np.uint8)
    shown[10, 20, 0] = red
    return shown


@pytest.mark.parametrize(
    ("held", "actions", "meant"),
    [
        (set(), BREAKOUT, "NOOP"),
        ({"LEFT"}, BREAKOUT, "LEFT"),
        ({"LEFT", "FIRE"}, BREAKOUT, "FIRE"),
        ({"LEFT", "FIRE"}, SPACE_INVADERS, "LEFTFIRE"),
        ({"UP", "RIGHT"}, SEAQUEST, "UPRIGHT"),
        ({"UP", "RIGHT", "FIRE"}, SEAQUEST, "UPRIGHTFIRE"),
        ({"UP", "RIGHT"}, SPACE_INVADERS, "RIGHT"),
        ({"LEFT", "RIGHT", "UP"}, SEAQUEST, "UP"),
        ({"FIRE", "DOWN"}, FREEWAY, "DOWN"),
        ({"UP", "DOWN"}, FREEWAY, "NOOP"),
    ],
)
def test_held_keys_mean_the_action_that_fits_best(held: set[str], actions: list[str], meant: str) -> None:
    assert action_of(held, actions) == actions.index(meant)


def test_the_window_shows_the_picture_and_knows_what_is_held(dummy_display: None) -> None:
    with closing(Window("test", (42, 32, 3), 1_000)) as window:
        import pygame

        window.show(picture(200))
        screen = pygame.display.get_surface()
        assert screen is not None and screen.get_size() == (32, 42)
        assert screen.get_at((20, 10))[:3] == (200, 0, 0) and screen.get_at((10, 20))[:3] == (0, 0, 0)
        assert window.held() == set() and window.is_open
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_ESCAPE))
        window.show(picture(0))
        assert not window.is_open


def test_watching_ends_when_the_window_is_closed(dummy_display: None) -> None:
    shown: list[int] = []

    def film() -> Iterator[UInt8Array]:
        import pygame

        for i in range(10):
            shown.append(i)
            if i == 3:
                pygame.event.post(pygame.event.Event(pygame.QUIT))
            yield picture(i)

    watch("test", film(), 1_000)
    assert shown == [0, 1, 2, 3]


@pytest.mark.parametrize("display", [None, ":4711"])
def test_without_a_display_there_is_one_error(monkeypatch: pytest.MonkeyPatch, display: str | None) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    if display is not None:
        monkeypatch.setenv("DISPLAY", display)
    with pytest.raises(ConfigError, match=r"need a display, here is none \(.*make a film without"):
        Window("test", (42, 32, 3), 15)


def test_without_pygame_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match=r"pygame-ce: pip install 'gorila-dba3c-pipeline\[window\]'"):
        Window("test", (42, 32, 3), 15)
