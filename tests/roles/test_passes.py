"""A batch is handed out so many times, across a state too."""

import numpy as np

from pipeline.roles.passes import Passes
from pipeline.states import pack, unpack
from pipeline.types import RolloutBatch


class Batches:
    """Counts what is collected; each batch is known by its first action."""

    def __init__(self) -> None:
        self.num_collected = 0

    def __call__(self) -> RolloutBatch:
        self.num_collected += 1
        numbers, actions = np.ones(2, np.float32), np.full(2, self.num_collected, np.int64)
        return RolloutBatch(np.zeros((2, 1, 3, 3), np.uint8), actions, numbers, numbers, numbers, np.zeros((2, 2), int))


def test_each_batch_is_passed_so_many_times() -> None:
    passes, batches = Passes(3), Batches()
    assert [int(passes.next(batches).a_tm1[0]) for _ in range(7)] == [1, 1, 1, 2, 2, 2, 3]


def test_with_one_pass_nothing_is_kept() -> None:
    passes, batches = Passes(1), Batches()
    assert [int(passes.next(batches).a_tm1[0]) for _ in range(3)] == [1, 2, 3]
    assert passes.state().batch is None


def test_one_that_was_cut_between_two_passes_goes_on_with_the_same_batch() -> None:
    passes, batches = Passes(2), Batches()
    for _ in range(2):
        restored = Passes(2)
        restored.restore(unpack(type(passes.state()), pack(passes.state())))
        assert [int(one.next(Batches()).a_tm1[0]) for one in (restored, Passes(2))] == [1, 1]
        passes.next(batches)
    assert passes.state() == (0, None)
