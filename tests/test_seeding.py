"""Streams of random numbers: independent by name, the same in every process, emulators with seeds of their own."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pipeline import seeding

STREAMS: list[tuple[int, tuple[str | int, ...]]] = [
    (0, ("a",)),
    (1, ("a",)),
    (0, ("b",)),
    (0, ("a", "b")),
    (0, ("a", 1)),
    (10, ("a",)),
]


def test_another_seed_or_another_name_is_another_stream() -> None:
    draws = {tuple(seeding.stream(seed, *names).integers(0, 2**62, 4).tolist()) for seed, names in STREAMS}
    assert len(draws) == len(STREAMS)
    assert len({seeding.torch_seed(seed, *names) for seed, names in STREAMS}) == len(STREAMS)


def test_the_same_seed_and_name_is_the_same_stream() -> None:
    first, second = (seeding.stream(7, "bundle-0", "exploration").random(8) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_a_name_means_the_same_in_every_process(hash_seed: str) -> None:
    program = "from pipeline import seeding; print(seeding.stream(7, 'bundle-0', 3).integers(0, 2**62, 2).tolist())"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    # Written down: runs of today have to stay repeatable tomorrow.
    assert ran.stdout.strip() == "[2964912215086405477, 1186167829729038524]"


def test_emulators_of_one_name_have_different_seeds_that_ale_takes() -> None:
    seeds = seeding.emulator_seeds(3, "actor-0", count=64)
    assert seeds.dtype == np.int64 and len(set(seeds.tolist())) == 64
    assert seeds.min() >= 0 and seeds.max() < 2**31


def test_more_games_begin_with_those_of_fewer_and_thirty_are_those_of_always() -> None:
    thirty = seeding.game_seeds(0, "evaluation", count=30)
    for count in (1, 8, 30, 100):
        np.testing.assert_array_equal(seeding.game_seeds(0, "evaluation", count=count)[:30], thirty[:count])
    # Written down: committed evaluations of 30 games have to stay repeatable.
    assert thirty.tolist() == [*range(1573969866, 1573969896)] and thirty.dtype == np.int64


def test_seeds_of_games_go_on_at_0_behind_the_largest_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeding, "_entropy", lambda seed, names: 2**31 - 32)
    seeds = seeding.game_seeds(0, "evaluation", count=100)
    assert seeds.tolist() == [*range(2**31 - 32, 2**31), *range(68)]


def test_emulators_of_the_roles_of_a_large_run_have_no_seed_in_common() -> None:
    seeds = [seeding.emulator_seeds(3, f"worker-{i}", "emulators", count=16) for i in range(64)]
    assert len(set(np.concatenate(seeds).tolist())) == 64 * 16
