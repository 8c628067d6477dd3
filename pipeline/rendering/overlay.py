"""What stands beside a picture of a game: score, step, action, and what the network thought of each action.

    +-----------+--------------------+
    |           | score          120 |
    |           | step   345 / 1,204 |
    |  picture  | action       RIGHT |
    |  enlarged | max Q         3.41 |
    |           | NOOP   ----   3.10 |     one line per action: a bar from the state's lowest to its highest value
    |           | RIGHT  ------ 3.41 |     (of a policy: from 0 to 1), the chosen action's in another colour
    +-----------+--------------------+

Not here: whose opinion it is (`pipeline.roles.opinions`), files of pictures (`pipeline.rendering.film_file`).
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pipeline.rendering.film import SCREEN_HEIGHT, Moment
from pipeline.types import Float32Array, UInt8Array

Q, POLICY = "q", "policy"

# In screen pixels, which `scale` enlarges.
PANEL_WIDTH = 120
_MARGIN, _LINE, _TEXT_SIZE = 5, 11, 8
_BARS_TOP, _BARS_LEFT, _BARS_RIGHT = 52, 60, 92

_BACKGROUND, _WHITE, _GREY = (22, 24, 29), (235, 237, 240), (146, 152, 163)
_BAR, _CHOSEN = (84, 112, 160), (255, 176, 59)


class Opinion(NamedTuple):
    """What a network says of one observation."""

    kind: str
    """"q" or "policy"."""
    value: float
    """max_a Q(s, a), or V(s)."""
    of_actions: Float32Array
    """(A,) Q(s, a), or the policy's probabilities."""


def enlarge(picture: UInt8Array, scale: int) -> UInt8Array:
    """(H, W, 3) to (H * scale, W * scale, 3), each pixel a square."""
    return picture.repeat(scale, axis=0).repeat(scale, axis=1)


def with_panel(
    moment: Moment, num_steps: int, actions: Sequence[str], opinion: Opinion | None, scale: int
) -> UInt8Array:
    """The enlarged picture of a moment with the panel on its right: (210 * scale, 280 * scale, 3).

    `num_steps` are those of the whole episode, `actions` the names of its actions.
    """
    panel = Image.new("RGB", (PANEL_WIDTH * scale, SCREEN_HEIGHT * scale), _BACKGROUND)
    draw = ImageDraw.Draw(panel)
    chosen = "-" if moment.action is None else actions[moment.action]
    lines = [("score", f"{moment.score:,.0f}"), ("step", f"{moment.step:,} / {num_steps:,}"), ("action", chosen)]
    if opinion is not None:
        lines.append(("max Q" if opinion.kind == Q else "V(s)", f"{opinion.value:.2f}"))
    for i, (name, value) in enumerate(lines):
        _write(draw, _MARGIN + i * _LINE, name, _GREY, value, _WHITE, _TEXT_SIZE, scale)
    if opinion is not None:
        _draw_bars(draw, opinion, actions, moment.action, scale)
    return np.concatenate([enlarge(moment.picture, scale), np.asarray(panel)], axis=1)


def _draw_bars(
    draw: ImageDraw.ImageDraw, opinion: Opinion, actions: Sequence[str], chosen: int | None, scale: int
) -> None:
    lengths = _bar_lengths(opinion)
    row = min(_LINE, (SCREEN_HEIGHT - _MARGIN / 2 - _BARS_TOP) / len(actions))
    for i, (name, value) in enumerate(zip(actions, opinion.of_actions.tolist(), strict=True)):
        top = _BARS_TOP + i * row
        colour = _CHOSEN if i == chosen else _WHITE
        _write(draw, top, name, colour, f"{value:.2f}", colour, 0.72 * row, scale)
        right = _BARS_LEFT + lengths[i] * (_BARS_RIGHT - _BARS_LEFT)
        box = [_BARS_LEFT * scale, (top + 0.15 * row) * scale, right * scale, (top + 0.75 * row) * scale]
        draw.rectangle(box, fill=_CHOSEN if i == chosen else _BAR)


def _bar_lengths(opinion: Opinion) -> Float32Array:
    """(A,) in [0, 1]."""
    values = opinion.of_actions
    if opinion.kind == POLICY:
        return values
    # Q-values of one state lie close together, far from zero: from the lowest on, or no difference would be seen.
    lowest, highest = values.min(), values.max()
    return (values - lowest) / (highest - lowest) if highest > lowest else np.zeros_like(values)


def _write(
    draw: ImageDraw.ImageDraw,
    top: float,
    name: str,
    name_colour: tuple[int, int, int],
    value: str,
    value_colour: tuple[int, int, int],
    size: float,
    scale: int,
) -> None:
    """A line of the panel: a name on the left, a value on the right."""
    font = _font(size * scale)
    draw.text((_MARGIN * scale, top * scale), name, name_colour, font)
    draw.text(((PANEL_WIDTH - _MARGIN) * scale, top * scale), value, value_colour, font, anchor="ra")


@functools.cache
def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
