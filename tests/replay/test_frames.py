"""Frames that are read while their writer goes on, and put back."""

import threading

import numpy as np
import pytest

from pipeline.errors import CheckpointError
from pipeline.replay.memory import ReplayMemory
from tests.replay.memories import make_replay
from tests.replay.slow_replay import scripted_steps

GREY = (2, 3)


def filled(num_steps: int, alpha: float | None) -> ReplayMemory:
    replay = make_replay(40, num_lanes=2, frame_shape=GREY, alpha=alpha)
    for step in scripted_steps(np.random.default_rng(1), num_steps, [6, 9], GREY, reset_chance=0.05):
        replay.add(step)
        if alpha is not None and replay.num_transitions() > 0:
            batch = replay.sample()
            replay.update_priorities(batch.key, np.random.default_rng(num_steps).random(64).astype(np.float32))
    return replay


@pytest.mark.parametrize("alpha", [None, 0.5])
@pytest.mark.parametrize("num_steps", [3, 19, 20, 21, 75])
def test_a_replay_that_was_put_back_draws_and_goes_on_as_the_one_before(alpha: float | None, num_steps: int) -> None:
    replay, again = filled(num_steps, alpha), make_replay(40, num_lanes=2, frame_shape=GREY, alpha=alpha, seed=5)
    again.restore(replay.state())
    reader = replay.frames[0]
    again.frames[0].load(reader.start, reader.read(reader.start, reader.end))
    again.check_valid()
    assert again.num_transitions() == replay.num_transitions() and again.num_added == replay.num_added
    assert again.mass == replay.mass
    for step in scripted_steps(np.random.default_rng(2), 30, [6, 9], GREY, reset_chance=0.05):
        replay.add(step)
        again.add(step)
        if replay.num_transitions() > 0:
            drawn, drawn_again = replay.sample(), again.sample()
            assert [np.asarray(x).tobytes() for x in drawn] == [np.asarray(x).tobytes() for x in drawn_again]
    again.check_valid()


def test_a_replay_of_another_shape_or_kind_is_refused() -> None:
    state = filled(10, None).state()
    with pytest.raises(CheckpointError, match="lanes and steps"):
        make_replay(44, num_lanes=2, frame_shape=GREY).restore(state)
    with pytest.raises(CheckpointError, match="other priorities"):
        make_replay(40, num_lanes=2, frame_shape=GREY, alpha=0.5).restore(state)


def test_a_writer_waits_only_where_it_would_overwrite_a_frame_that_is_not_read() -> None:
    replay = filled(25, None)
    reader = replay.frames[0]
    reader.begin(10)
    wanted = [step.frame_tm1 for step in scripted_steps(np.random.default_rng(1), 25, [6, 9], GREY, reset_chance=0.05)]
    steps = list(scripted_steps(np.random.default_rng(2), 12, [6, 9], GREY, reset_chance=0.05))
    for step in steps[:5]:  # over steps 5 to 9
        replay.add(step)

    def write_on() -> None:
        for step in steps[5:]:
            replay.add(step)

    writer = threading.Thread(target=write_on)
    writer.start()
    assert reader.end == 30
    read = reader.read(10, 25)
    assert np.array_equal(read, np.stack(wanted[10:25], axis=1))
    writer.join(10.0)
    assert not writer.is_alive() and reader.end == 37
    reader.done()
    replay.add(steps[0])
