"""Agent steps per second of BA3C's random frame skip, beside a fixed skip of as many frames on average.

    random   2, 3 or 4 frames a step: lanes step frame by frame, and ale-py renders and shrinks every frame
    fixed    3 frames a step: the same protocol otherwise, and only the last frame of a step is rendered

Both play the same number of emulator frames per agent step, in RGB, with random actions; nothing is learned.
Not here: the network that the lanes wait for (`benchmarks.actor_stepping` says what an actor adds to its lanes).
"""

import dataclasses
import statistics
import time
from collections.abc import Callable
from contextlib import closing

import numpy as np

from measuring.provenance import report
from measuring.rounds import alternate, median_ratio
from pipeline import seeding
from pipeline.config.overrides import compose
from pipeline.envs.due_lanes import DueLanes, make_due_lanes


def main(num_rounds: int = 50, steps_per_round: int = 500, num_lanes: int = 16, num_threads: int = 1) -> None:
    """Print one JSON line."""
    config = compose(["experiment=ba3c", "environment=ba3c", "evaluation=ba3c_50", "game=Pong"])
    drawn = config.environment
    fixed_skip = round(drawn.mean_frame_skip)
    fixed = dataclasses.replace(drawn, frame_skip=fixed_skip, min_frame_skip=fixed_skip)
    with (
        closing(make_due_lanes(config.game, drawn, num_lanes, num_threads)) as random_lanes,
        closing(make_due_lanes(config.game, fixed, num_lanes, num_threads)) as fixed_lanes,
    ):
        measured = alternate(
            {
                "random": _steps_per_second(random_lanes, steps_per_round),
                "fixed": _steps_per_second(fixed_lanes, steps_per_round),
            },
            num_rounds,
        )
    report(
        "random_frame_skip",
        game=config.game,
        num_lanes=num_lanes,
        num_threads=num_threads,
        mean_frame_skip=drawn.mean_frame_skip,
        **{f"{name}_steps_per_second": statistics.median(rates) for name, rates in measured.items()},
        random_over_fixed=median_ratio(measured["random"], measured["fixed"]),
    )


def _steps_per_second(lanes: DueLanes, num_steps: int) -> Callable[[], float]:
    rng = seeding.stream(0, "benchmark", "actions")
    due = lanes.reset(seeding.emulator_seeds(0, "benchmark", "emulator", count=lanes.num_lanes))

    def measure() -> float:
        nonlocal due
        made = 0
        start = time.perf_counter()
        while made < num_steps:
            due = lanes.step(rng.integers(lanes.num_actions, size=due.lanes.size))
            made += int(np.count_nonzero(~due.is_reset))
        return made / (time.perf_counter() - start)

    return measure


if __name__ == "__main__":
    main()
