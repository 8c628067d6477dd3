"""What is varied in the study of learning: a case is `experiment=dba3c_quick` with some settings changed.

Each worker has the same batch of 20 steps, so that more workers make fewer and larger updates; the largest step size
grows with the root of an update's steps. The warm-up of the step size ends after as many agent steps in each case, but
for those of the large batch, and its fall comes after four fifths of the frames; those have no fall.
Not here: making the runs (`studies.dba3c.learning`), drawing them (`studies.dba3c.figures`).
"""

from itertools import chain
from typing import NamedTuple

import pandas as pd

SETTINGS_CASES = ("steps_10", "base", "steps_40", "rate_2.5e-4", "rate_1e-3")
WORKER_CASES = ("workers_1", "base", "workers_4", "workers_8")
MODEL_CASES = ("dba3c_authors", "ba3c_authors")
LARGE_MODEL_CASES = ("dba3c_authors_large", "ba3c_authors_large")
HIDDEN_LAYER_CASES: dict[str, tuple[str, ...]] = {
    "no activation": ("dba3c_authors", "dba3c_authors_512"),
    "PReLU": ("ba3c_authors_128", "ba3c_authors"),
}
LARGE_HIDDEN_LAYER_CASES: dict[str, tuple[str, ...]] = {
    "no activation": ("dba3c_authors_large",),
    "PReLU": ("ba3c_authors_128_large", "ba3c_authors_large"),
}
"""Of each activation behind the hidden layer the cases with 128 and with 512 units, of small updates and of large ones,
of which none has 512 without one."""
SYNC_CASES = ("base", "steps_10", "async")
ADAM_CASES = ("adam_paper", "adam_usual")
"""Cases that belong in one figure or table each, but for MODEL_CASES and LARGE_MODEL_CASES, which are in one together,
as both of HIDDEN_LAYER_CASES are."""


class LearningCase(NamedTuple):
    """One case."""

    differs: str
    """In words for a table."""
    settings: tuple[str, ...] = ()
    """Beside `experiment=dba3c_quick`."""
    times_frames: int = 1
    """As many times the frames of the others: large batches make few updates."""


def rates(first: int, largest: float = 5e-4, times_frames: int = 1) -> str:
    """The step sizes of `experiment=dba3c_quick`: a warm-up that ends with update 2 * `first`, a fifth at the end.

    `times_frames`: as many times the frames are made, so that the end comes later.
    """
    end = 20 * first * times_frames
    return f"optimizer.learning_rate_changes=[[{first},1e-4],[{2 * first},{largest}],[{end},{largest / 5:.3g}]]"


# What the experiment says of the optimizer comes after its option. Clipping and value weight stay the experiment's, and
# there is a warm-up: without them it would be a comparison of which betas keep a network alive at its start.
_LARGE_BATCH = (
    "optimizer=adam_dba3c",
    "optimizer.learning_rate_changes=[[50,1e-4],[100,1e-3]]",
    "optimizer.epsilon=1e-8",
    "topology.num_lanes=32",
    "algorithm.batch_size=320",
)
GAME, FRAMES = "Breakout", 2_000_000
"""Of the tables; other games and budgets are only drawn."""
CASES: dict[str, LearningCase] = {
    "base": LearningCase("nothing"),
    "rate_2.5e-4": LearningCase("half the largest step size", (rates(500, 2.5e-4),)),
    "rate_1e-3": LearningCase("twice the largest step size", (rates(500, 1e-3),)),
    "steps_10": LearningCase(
        "half the steps per gradient", ("topology.num_lanes=2", "algorithm.batch_size=10", rates(1_000))
    ),
    "steps_40": LearningCase(
        "twice the steps per gradient", ("topology.num_lanes=8", "algorithm.batch_size=40", rates(250))
    ),
    "async": LearningCase("each gradient of 20 steps is an update", ("topology.sync=false", rates(1_000))),
    "workers_1": LearningCase("one worker", ("topology.num_workers=1", rates(1_000, 3.5e-4))),
    "dba3c_authors": LearningCase("the authors' reduced network", ("network=dba3c_authors",)),
    "ba3c_authors": LearningCase("the authors' full network", ("network=ba3c_authors",)),
    "dba3c_authors_512": LearningCase(
        "the reduced network with 512 hidden units", ("network=dba3c_authors", "network.hidden_units=512")
    ),
    "ba3c_authors_128": LearningCase(
        "the full network with 128 hidden units", ("network=ba3c_authors", "network.hidden_units=128")
    ),
    "workers_4": LearningCase("four workers", ("topology.num_workers=4", rates(250, 7e-4, times_frames=2)), 2),
    "workers_8": LearningCase("eight workers", ("topology.num_workers=8", rates(125, 1e-3, times_frames=4)), 4),
    "adam_paper": LearningCase("the authors' Adam, beta1 0.8 and beta2 0.75, and a large batch", _LARGE_BATCH, 4),
    "adam_usual": LearningCase(
        "the same with 0.9 and 0.999", (*_LARGE_BATCH, "optimizer.beta1=0.9", "optimizer.beta2=0.999"), 4
    ),
    "dba3c_authors_large": LearningCase(
        "the reduced network, otherwise as `adam_paper`", (*_LARGE_BATCH, "network=dba3c_authors"), 2
    ),
    "ba3c_authors_large": LearningCase(
        "the full network, otherwise as `adam_paper`", (*_LARGE_BATCH, "network=ba3c_authors"), 2
    ),
    "ba3c_authors_128_large": LearningCase(
        "the full network with 128 hidden units, otherwise as `adam_paper`",
        (*_LARGE_BATCH, "network=ba3c_authors", "network.hidden_units=128"),
        2,
    ),
}
"""The quick ones come first."""


def num_frames(case: str, frames: int) -> int:
    """Emulator frames of a run of `case` where most make `frames`."""
    return frames * CASES[case].times_frames if case in CASES else frames


def hidden_layer_cases() -> tuple[str, ...]:
    """All cases of both hidden layers."""
    return tuple(chain(*HIDDEN_LAYER_CASES.values(), *LARGE_HIDDEN_LAYER_CASES.values()))


def alike(rows: pd.DataFrame, game: str = GAME, frames: int = FRAMES) -> pd.DataFrame:
    """Those of one game and budget: scores of others do not stand beside them. LearningRows or CurveRows."""
    frames_of_case = [num_frames(case, frames) for case in rows["case"]]
    chosen: pd.DataFrame = rows[(rows["game"] == game) & (rows["frames"] == frames_of_case)]
    return chosen
