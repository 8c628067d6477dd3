"""Random streams: every draw belongs to a stream with a name, and all streams of a run follow from its one seed.

`stream(7, "bundle-0", "exploration")` is always the same generator; another name is an independent one. After a resume
the name carries the step count that the run resumed at, so that the future is drawn anew and never repeats the past.
"""

import hashlib

import numpy as np

MAX_EMULATOR_SEED = 2**31 - 1
"""ALE takes seeds below 2^31; -1 would mean "unseeded"."""

_USUAL_GAMES = 30
"""Of an evaluation. Its first seed left room for as many games as were asked for, once. Those of this many keep theirs,
so that their commands repeat what is committed; those of 50 games are others since (`ba3c_50`)."""

MAX_SEED = 2**63 - 1
"""Of a run: tables hold it as 64 bits."""


def seed_mistakes(seed: int) -> list[str]:
    """What is wrong with a seed that somebody has named; empty if nothing is."""
    if 0 <= seed <= MAX_SEED:
        return []
    return [f"seed={seed} must be at {'least 0' if seed < 0 else f'most {MAX_SEED}'}"]


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """The generator of the stream `names` in the run with this seed."""
    return np.random.default_rng(_entropy(seed, names))


def emulator_seeds(seed: int, *names: str | int, count: int) -> np.ndarray:
    """(count,) int64 seeds for emulators, each in [0, 2^31), all different."""
    first = _entropy(seed, names) % (MAX_EMULATOR_SEED - count)
    return np.arange(first, first + count, dtype=np.int64)


def game_seeds(seed: int, *names: str | int, count: int) -> np.ndarray:
    """The same, for games that may become more: (count,) of which the first ones are those of any smaller count."""
    first = _entropy(seed, names) % (MAX_EMULATOR_SEED - _USUAL_GAMES)
    return np.arange(first, first + count, dtype=np.int64) % (MAX_EMULATOR_SEED + 1)


def torch_seed(seed: int, *names: str | int) -> int:
    """A seed for `torch.Generator.manual_seed`, below 2^63."""
    return _entropy(seed, names) % 2**63


def _entropy(seed: int, names: tuple[str | int, ...]) -> int:
    # A cryptographic digest, because Python's own hash of a string changes from process to process.
    text = "/".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")
