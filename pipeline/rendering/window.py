"""A window that shows pictures at a steady pace and knows which keys are held: to watch a game, or to play it.

Needs pygame (the extra "window") and a display. Not here: what the pictures are of (`pipeline.rendering.film`).
"""

import importlib.util
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from itertools import chain
from types import ModuleType

from pipeline.errors import ConfigError
from pipeline.extras import how_to_install
from pipeline.types import UInt8Array

UP, DOWN, LEFT, RIGHT, FIRE = "UP", "DOWN", "LEFT", "RIGHT", "FIRE"

_KEYS = {
    UP: ("K_UP", "K_w"),
    DOWN: ("K_DOWN", "K_s"),
    LEFT: ("K_LEFT", "K_a"),
    RIGHT: ("K_RIGHT", "K_d"),
    FIRE: ("K_SPACE",),
}
KEYS_IN_WORDS = "arrow keys or WASD, space to fire, Escape to leave"

_NO_PICTURES = ("dummy", "offscreen")
"""What SDL falls back to where there is no display. Who asks for one of them gets it."""

_DRIVER = "SDL_VIDEODRIVER"
_SAYS_WHERE = ("DISPLAY", "WAYLAND_DISPLAY", _DRIVER)
"""Environment variables that lead to a display on Linux."""


class Window:
    """Opened for pictures of one size, closed by `close`.

    Raises ConfigError where there is no display, or no pygame.
    """

    def __init__(self, title: str, picture_shape: Sequence[int], pictures_per_second: float) -> None:
        self._pygame = _pygame()
        height, width = picture_shape[:2]
        self._screen = self._pygame.display.set_mode((width, height))
        self._pygame.display.set_caption(title)
        self._clock = self._pygame.time.Clock()
        self._pictures_per_second = pictures_per_second
        self.is_open = True
        """False once its user has closed it, or pressed Escape."""

    def show(self, picture: UInt8Array) -> None:
        """Show a picture (H, W, 3) until its time is over."""
        self._pygame.surfarray.blit_array(self._screen, picture.swapaxes(0, 1))
        self._pygame.display.flip()
        self._clock.tick(self._pictures_per_second)
        for event in self._pygame.event.get():
            escape = event.type == self._pygame.KEYDOWN and event.key == self._pygame.K_ESCAPE
            if escape or event.type == self._pygame.QUIT:
                self.is_open = False

    def held(self) -> set[str]:
        """Which of UP, DOWN, LEFT, RIGHT and FIRE are held down now."""
        keys = self._pygame.key.get_pressed()
        return {word for word, names in _KEYS.items() if any(keys[getattr(self._pygame, name)] for name in names)}

    def close(self) -> None:
        """Close it."""
        self._pygame.quit()


def watch(title: str, pictures: Iterable[UInt8Array], pictures_per_second: float) -> None:
    """Show pictures (H, W, 3), all of one size, until their end, or until the window is closed."""
    remaining = iter(pictures)
    first = next(remaining)
    with closing(Window(title, first.shape, pictures_per_second)) as window:
        for picture in chain([first], remaining):
            window.show(picture)
            if not window.is_open:
                return


def action_of(held: Collection[str], actions: Sequence[str]) -> int:
    """Index of the action that fits the held keys best; `actions` are the names of those that the game has.

    FIRE counts more than a direction, and left and right more than up and down, where the game lacks the combination.
    Two opposite keys cancel each other.
    """
    vertical = _one_of(held, UP, DOWN)
    horizontal = _one_of(held, LEFT, RIGHT)
    fire = FIRE if FIRE in held else ""
    wanted = (
        f"{vertical}{horizontal}{fire}", f"{horizontal}{fire}", f"{vertical}{fire}", fire,
        f"{vertical}{horizontal}", horizontal, vertical,
    )  # fmt: skip
    return next((actions.index(name) for name in wanted if name in actions), 0)


def _one_of(held: Collection[str], one: str, other: str) -> str:
    if (one in held) == (other in held):
        return ""
    return one if one in held else other


def _pygame() -> ModuleType:
    if importlib.util.find_spec("pygame") is None:
        raise ConfigError([f"a window needs the package pygame-ce: {how_to_install('window')}"])
    if sys.platform == "linux" and not any(os.environ.get(name) for name in _SAYS_WHERE):
        raise _no_display(f"none of {', '.join(_SAYS_WHERE)} is set")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import pygame

    try:
        pygame.display.init()
    except pygame.error as error:
        raise _no_display(str(error)) from error
    if pygame.display.get_driver() in _NO_PICTURES and not os.environ.get(_DRIVER):
        pygame.quit()
        raise _no_display("it does not answer")
    return pygame


def _no_display(why: str) -> ConfigError:
    return ConfigError([f"watch=true and keyboard=true need a display, here is none ({why}): make a film without them"])
