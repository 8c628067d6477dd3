"""States as arrays and JSON, and back: equal, of the same types, and refused where they do not fit."""

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest
from typing_extensions import TypeAliasType

from pipeline.errors import CheckpointError
from pipeline.states import StreamState, pack, restore_stream, stream_state, unpack
from pipeline.types import Float32Array, UInt8Array

ScalarT = TypeVar("ScalarT", bound=np.generic)
Alias = TypeAliasType("Alias", np.ndarray[tuple[Any, ...], np.dtype[ScalarT]], type_params=(ScalarT,))
"""As NDArray is from NumPy 2.5 on."""


class Aliased(NamedTuple):
    rewards: Alias[np.float32] | None
    by_name: dict[str, Alias[np.uint8]]


class Inner(NamedTuple):
    frames: UInt8Array | None
    stream: StreamState
    score: float


class Outer(NamedTuple):
    inners: tuple[Inner, ...]
    by_name: dict[str, Float32Array]
    num_steps: int | None
    versions: tuple[int, ...]


@dataclass(frozen=True)
class Shared:
    num_steps: int
    stream: StreamState


@dataclass(frozen=True)
class Own(Shared):
    rewards: Float32Array


class Flat(NamedTuple):
    num_steps: int
    stream: StreamState
    rewards: Float32Array


def outer() -> Outer:
    stream = stream_state(np.random.default_rng(1))
    inners = (Inner(np.arange(3, dtype=np.uint8), stream, 0.1), Inner(None, stream, float("inf")))
    return Outer(inners, {"mean": np.array([1.5, 2.5], np.float32)}, None, (2**70, 3))


def test_a_state_comes_back_as_it_was() -> None:
    state = unpack(Outer, pack(outer()))
    assert type(state.inners[1].score) is float and type(state.versions[0]) is int
    assert state.inners[0].frames is not None and state.inners[0].frames.tolist() == [0, 1, 2]
    assert state.by_name["mean"].tolist() == [1.5, 2.5]
    assert state.inners[1] == outer().inners[1] and state.versions == (2**70, 3) and state.num_steps is None


def test_arrays_may_be_declared_by_an_alias() -> None:
    state = unpack(Aliased, pack(Aliased(np.ones(2, np.float32), {"frames": np.zeros(1, np.uint8)})))
    assert state.rewards is not None and state.rewards.tolist() == [1.0, 1.0] and state.by_name["frames"].size == 1
    with pytest.raises(CheckpointError, match=r"rewards is uint8, float32 was expected"):
        unpack(Aliased, pack(Aliased(np.ones(2, np.uint8), {})))


def test_a_state_that_shares_fields_with_others_is_saved_as_one_that_has_them_all() -> None:
    stream, rewards = stream_state(np.random.default_rng(2)), np.array([0.5, 2.0], np.float32)
    shared = pack(Own(3, stream, rewards))
    flat = pack(Flat(3, stream, rewards))
    assert {name: array.tobytes() for name, array in shared.items()} == {n: a.tobytes() for n, a in flat.items()}
    state = unpack(Own, flat)
    assert (
        type(state) is Own and (state.num_steps, state.stream) == (3, stream) and state.rewards.tolist() == [0.5, 2.0]
    )
    with pytest.raises(CheckpointError, match="another version"):
        unpack(Shared, flat)


def test_a_stream_goes_on_where_it_stood_in_the_middle_of_a_word() -> None:
    rng, other = np.random.default_rng(3), np.random.default_rng(4)
    rng.integers(7, size=3, dtype=np.uint32)
    restore_stream(other, unpack(StreamState, pack(stream_state(rng))))
    assert rng.integers(7, size=9, dtype=np.uint32).tolist() == other.integers(7, size=9, dtype=np.uint32).tolist()


def test_what_does_not_fit_is_refused_by_its_name() -> None:
    arrays = pack(outer())
    with pytest.raises(CheckpointError, match=r"by_name\.mean is float64, float32 was expected"):
        unpack(Outer, arrays | {"by_name.mean": np.zeros(2)})
    with pytest.raises(CheckpointError, match=r"by_name\.mean is missing"):
        unpack(Outer, {name: array for name, array in arrays.items() if name != "by_name.mean"})
    with pytest.raises(CheckpointError, match="another version"):
        unpack(Inner, arrays)
    with pytest.raises(CheckpointError, match="no saved state"):
        unpack(Outer, {})
