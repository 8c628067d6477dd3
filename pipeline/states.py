"""The state of a part of a run as a value, and such values as plain arrays and JSON, without pickle.

Whoever has a state has a pair: `state()` gives a value of it, `restore(state)` goes on from one, bit for bit. Such a
value is a NamedTuple, or a dataclass where several have the same fields. It holds numbers, texts, arrays of a declared
type, other states, and tuples and dictionaries of these.

    pack(state)            -> {"": its JSON as uint8, "learner.noise": an array, ...}
    unpack(State, arrays)  -> the state; every name, type and dtype is checked

Not here: files (`pipeline.experiments.files.exact`), whose states there are (each beside its part).
"""

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pipeline.checked_files import json_in
from pipeline.errors import CheckpointError

T = TypeVar("T")

_JSON = ""
"""Name of what is no array."""


class StreamState(NamedTuple):
    """Where a NumPy generator (PCG64) stands."""

    state: int
    inc: int
    has_uint32: int
    uinteger: int


def stream_state(rng: np.random.Generator) -> StreamState:
    """Where `rng` stands."""
    state: Any = rng.bit_generator.state
    return StreamState(**state["state"], has_uint32=state["has_uint32"], uinteger=state["uinteger"])


def restore_stream(rng: np.random.Generator, state: StreamState) -> None:
    """Have `rng` go on from there."""
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": state.state, "inc": state.inc},
        "has_uint32": state.has_uint32,
        "uinteger": state.uinteger,
    }


def pack(state: Any) -> dict[str, np.ndarray]:
    """The arrays of `state` by dotted names; their shapes and all else as JSON under the name ""."""
    arrays: dict[str, np.ndarray] = {}
    plain = _pack(state, "", arrays)
    return arrays | {_JSON: np.frombuffer(json.dumps(plain).encode(), np.uint8)}


def unpack(kind: type[T], arrays: Mapping[str, np.ndarray]) -> T:
    """The state of that kind that was packed into `arrays`. Raises CheckpointError, naming what does not fit."""
    if _JSON not in arrays:
        raise CheckpointError("this is no saved state")
    try:
        plain = json_in(arrays[_JSON].tobytes())
    except ValueError as error:
        raise CheckpointError(f"this is no saved state: {error}") from error
    state: T = _unpack(kind, plain, "", arrays)
    return state


def _pack(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return list(value.shape)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {key: _pack(item, _join(name, key), arrays) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_pack(item, _join(name, str(i)), arrays) for i, item in enumerate(value)]
    return value


def _unpack(kind: Any, plain: Any, name: str, arrays: Mapping[str, np.ndarray]) -> Any:
    kind = _meant(kind)
    origin, given = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        # What may be missing is missing where there is neither a value nor an array.
        if plain is None and not any(known == name or known.startswith(f"{name}.") for known in arrays):
            return None
        (kind,) = (one for one in given if one is not types.NoneType)
        return _unpack(kind, plain, name, arrays)
    if origin is np.ndarray:
        return _array(np.dtype(typing.get_args(given[1])[0]), plain, name, arrays)
    if origin is tuple and isinstance(plain, list):
        kinds = given[:1] * len(plain) if given[-1:] == (...,) else given
        return tuple(
            _unpack(one, item, _join(name, str(i)), arrays)
            for i, (one, item) in enumerate(zip(kinds, plain, strict=True))
        )
    if origin is dict and isinstance(plain, dict):
        return {key: _unpack(given[1], item, _join(name, key), arrays) for key, item in plain.items()}
    if (hasattr(kind, "_fields") or dataclasses.is_dataclass(kind)) and isinstance(plain, dict):
        hints = typing.get_type_hints(kind)
        if plain.keys() == hints.keys():
            return kind(**{key: _unpack(hint, plain[key], _join(name, key), arrays) for key, hint in hints.items()})
    elif kind is float and type(plain) in (int, float):
        return float(plain)
    elif type(plain) is kind:
        return plain
    raise CheckpointError(f"{name or 'the saved state'} is {str(plain)[:60]}, {kind} was expected: another version")


def _meant(kind: Any) -> Any:
    """What an alias such as `type Pair[T] = tuple[T, T]` stands for: from NumPy 2.5 on NDArray is one."""
    origin = typing.get_origin(kind)
    return origin.__value__[typing.get_args(kind)] if hasattr(origin, "__value__") else kind


def _array(dtype: np.dtype[Any], shape: Any, name: str, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    if name not in arrays or arrays[name].dtype != dtype:
        found = arrays[name].dtype if name in arrays else "missing"
        raise CheckpointError(f"{name} is {found}, {dtype} was expected: another version wrote this state")
    if list(arrays[name].shape) != shape:
        raise CheckpointError(f"{name} is of shape {arrays[name].shape}, it was saved as {str(shape)[:60]}")
    return arrays[name]


def _join(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key
