"""Times, and ratios of what was measured in one run, turn and turn about.

A ratio is worth something only when both sides were measured so, whatever else the machine does hits both alike.
Not here: what is printed (`measuring.provenance`).
"""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def median_seconds(call: Callable[[], object], num_calls: int, num_warmup_calls: int = 10) -> float:
    """Median wall time of `call()` over `num_calls`, after calls that are not counted."""
    for _ in range(num_warmup_calls):
        call()
    return statistics.median(seconds(call) for _ in range(num_calls))


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one `call()`."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def shuffled(names: Iterable[T], round_: int) -> list[T]:
    """These in an order of this round's own, the same whenever the round is measured.

    Two rounds are the reverse of each other, so that in both together everyone came behind as many as ahead.
    """
    given = list(names)
    order = [given[index] for index in np.random.default_rng(round_ // 2).permutation(len(given))]
    return order[::-1] if round_ % 2 else order


def alternate(
    variants: Mapping[str, Callable[[], float]],
    num_rounds: int,
    num_warmup_rounds: int = 1,
    *,
    first_round: int = 0,
    in_order: bool = False,
) -> dict[str, list[float]]:
    """What each variant measured in each round, after rounds that are not counted.

    Each round has an order of its own, A C B, B A C, ...: who always came behind one that leaves the caches cold was up
    to a quarter slower. `first_round`: where rounds are measured one by one, the number of this one. `in_order`: as
    given, for steps each of which needs what those before it have left.
    """
    measured: dict[str, list[float]] = {name: [] for name in variants}
    for round_ in range(num_warmup_rounds + num_rounds):
        for name in list(variants) if in_order else shuffled(variants, first_round + round_):
            value = variants[name]()
            if round_ >= num_warmup_rounds:
                measured[name].append(value)
    return measured


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """Median over the rounds of the ratio within each round: slow drift of the machine cancels."""
    return statistics.median(_ratios(numerators, denominators))


def ratio_quartiles(numerators: Sequence[float], denominators: Sequence[float]) -> tuple[float, float]:
    """First and third quartile of what `median_ratio` is the median of: how far its rounds lie apart."""
    low, high = np.quantile(_ratios(numerators, denominators), [0.25, 0.75])
    return float(low), float(high)


def _ratios(numerators: Sequence[float], denominators: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(numerators, denominators, strict=True)]
