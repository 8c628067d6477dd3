"""The panel beside a picture: its size, what changes it, and what it leaves alone."""

import numpy as np
import pytest

from pipeline.rendering.film import Moment
from pipeline.rendering.overlay import POLICY, Opinion, Q, enlarge, with_panel
from pipeline.types import Float32Array, UInt8Array

ACTIONS = ["NOOP", "FIRE", "RIGHT", "LEFT"]
AMBER = (255, 176, 59)
PICTURE = np.random.default_rng(0).integers(0, 256, (210, 160, 3), np.uint8)


def moment(action: int | None = 2, score: float = 12.0, step: int = 3) -> Moment:
    return Moment(step, PICTURE, np.zeros((4, 84, 84), np.uint8), score, action)


def panel(shown: Moment, opinion: Opinion | None, actions: list[str] = ACTIONS, scale: int = 2) -> UInt8Array:
    picture = with_panel(shown, 100, actions, opinion, scale)
    np.testing.assert_array_equal(picture[:, : 160 * scale], enlarge(PICTURE, scale))
    return picture[:, 160 * scale :]


def amber_widths(shown: UInt8Array) -> list[int]:
    """Pixels of the chosen action's colour in each line of the bars' columns."""
    return [int(n) for n in (shown[:, 2 * 60 : 2 * 92] == AMBER).all(axis=2).sum(axis=1)]


def opinion(kind: str, *values: float) -> Opinion:
    of_actions: Float32Array = np.array(values, np.float32)
    return Opinion(kind, 0.5, of_actions)


def test_each_pixel_becomes_a_square() -> None:
    small = np.array([[[1, 2, 3], [4, 5, 6]]], np.uint8)
    assert enlarge(small, 2).tolist() == [[[1, 2, 3]] * 2 + [[4, 5, 6]] * 2] * 2


@pytest.mark.parametrize("scale", [1, 3])
def test_the_panel_stands_on_the_right_of_the_picture_and_its_size_is_even(scale: int) -> None:
    shown = with_panel(moment(), 100, ACTIONS, None, scale)
    assert shown.shape == (210 * scale, 280 * scale, 3) and shown.dtype == np.uint8


@pytest.mark.parametrize("other", [moment(action=None), moment(score=13.0), moment(step=4)])
def test_the_panel_tells_score_step_and_action(other: Moment) -> None:
    assert (panel(moment(), None) != panel(other, None)).any()


def test_the_chosen_action_s_bar_is_coloured_and_ends_where_its_q_value_lies_in_this_state() -> None:
    shown = panel(moment(action=2), opinion(Q, 10.0, 10.5, 10.25, 10.1))
    # Half way between the lowest and the highest, of 32 screen pixels in all.
    assert max(amber_widths(shown)) == pytest.approx(32, abs=2)
    assert max(amber_widths(panel(moment(action=1), opinion(Q, 10.0, 10.5, 10.25, 10.1)))) == pytest.approx(64, abs=2)


def test_the_bars_of_a_policy_are_its_probabilities() -> None:
    shown = panel(moment(action=0), opinion(POLICY, 0.75, 0.25, 0.0, 0.0))
    assert max(amber_widths(shown)) == pytest.approx(48, abs=2)


def test_equal_q_values_have_no_bars() -> None:
    assert max(amber_widths(panel(moment(action=0), opinion(Q, 3.0, 3.0, 3.0, 3.0)))) <= 1


def test_all_18_actions_have_a_line_inside_of_the_panel() -> None:
    names = [f"ACTION{i}" for i in range(18)]
    values = np.arange(18.0).tolist()
    shown = panel(moment(action=17), opinion(Q, *values), names)
    lines = np.flatnonzero(amber_widths(shown))
    assert lines[0] > 380 and lines[-1] < 418
    # The last rows of pixels are empty.
    assert len(np.unique(shown[-2:].reshape(-1, 3), axis=0)) == 1
