"""What a loss costs on one core, per agent step, beside that of the system that it is an option of.

    gorila       minibatches of DQN's values: an agent step has a quarter of a gradient
    dba3c        batches of 40 steps, each in one gradient; dba3c_clip has each in three, pqn in two

They take turns, so that the ratios are those of one time. Measured is what a learner or a worker does between its
parameters and its gradient.
Not here: its table (`benchmarks.loss_costs.table`); emulator, replay, the passes that choose actions, the server
(`benchmarks.gorila_scaling`).
"""

import statistics
from collections.abc import Callable
from functools import partial

from benchmarks.loss_costs.losses import OF_Q_LEARNING, OF_ROLLOUTS, gradient_of
from benchmarks.update_step import CPU
from measuring.processor import processor_here
from measuring.provenance import report
from measuring.rounds import alternate, median_ratio, seconds
from pipeline.algorithms.config import QLearningConfig, RolloutConfig
from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.networks.compute import resolve_precision, set_compute_threads


def main(num_rounds: int = 50) -> None:
    """Print one line for each loss."""
    set_compute_threads(1)
    where = processor_here()
    for group in (OF_Q_LEARNING, OF_ROLLOUTS):
        works = {name: _work(compose([*words, "game=Pong"])) for name, words in group.items()}
        measured = alternate(
            {name: partial(seconds, work) for name, (work, _) in works.items()},
            num_rounds,
            num_warmup_rounds=min(num_rounds, 5),
        )
        first = next(iter(works))
        for name, (_, num_steps) in works.items():
            report(
                "loss_costs",
                processor=where,
                loss=name,
                num_rounds=num_rounds,
                steps_per_gradient=num_steps,
                gradient_ms=1e3 * statistics.median(measured[name]),
                ms_per_step=1e3 * statistics.median(measured[name]) / num_steps,
                per_step_over_first=median_ratio(measured[name], measured[first]) * works[first][1] / num_steps,
            )


def _work(config: RunConfig) -> tuple[Callable[[], object], float]:
    """Computing one gradient, and the agent steps that it stands for."""
    if isinstance(config.algorithm, RolloutConfig):
        num_steps = config.algorithm.batch_size / config.algorithm.num_passes
    else:
        assert isinstance(config.algorithm, QLearningConfig)
        num_steps = config.algorithm.steps_per_update
    return gradient_of(config, CPU, resolve_precision("auto", CPU)), num_steps


if __name__ == "__main__":
    main()
