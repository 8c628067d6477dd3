"""What a file holds that nobody vouches for: arrays and JSON, checked before anybody uses them.

    bytes_in(path)               what a file holds that is one: to read a pipe would be to wait for ever
    arrays_in(path, max_bytes)   an .npz: each member read to its end, so that its checksum counts; nothing is unpickled
    json_in(data)                UTF-8 JSON, an object
    text_in(data)                lines of UTF-8, the last of which may be cut short
    check_yaml(text)             YAML that may be read by a safe loader
    as_declared(cls, values)     JSON as a dataclass or NamedTuple: each field there, of its type, every number finite

`bytes_in` raises OSError, the others ValueError, all but `text_in` with half a sentence, to which the reader of the
kind of file adds its name and the way out.
Not here: the kinds of files (`pipeline.experiments.files`, `pipeline.evaluation`), writing (`pipeline.whole_file`).
"""

import dataclasses
import errno
import io
import json
import math
import stat
import types
import typing
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import yaml

T = TypeVar("T")

LARGEST_COUNT = 2**63 - 1
"""What a counter of a row file may be at most (pandas int64)."""


def bytes_in(path: Path) -> bytes:
    """What the file holds. Raises OSError if it is not there, cannot be read, or is a folder, a pipe or a device."""
    check_regular(path)
    return path.read_bytes()


def check_regular(path: Path) -> None:
    """Raise OSError if there is no file, or what is there is none, such as a pipe, whose reader would wait for ever."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is a folder, a pipe or a device, and no file", str(path))


def arrays_in(path: Path, max_bytes: int, max_axes: int = 1) -> dict[str, npt.NDArray[Any]]:
    """Name -> array of each member of an .npz, writable, (N,) if `max_axes` says no more.

    Raises ValueError if it is damaged, unpacks to more than `max_bytes`, or holds objects or arrays of more axes.
    """
    try:
        check_regular(path)
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if (unpacked := sum(member.file_size for member in members)) > max_bytes:
                raise ValueError(f"it unpacks to {unpacked:,} bytes, more than the {max_bytes:,} that it may")
            arrays = {
                member.filename.removesuffix(".npy"): _array(archive.read(member), max_axes) for member in members
            }
    except Exception as error:  # zipfile and NumPy raise some twelve kinds, depending on which bit is wrong
        raise ValueError(f"{error}" if type(error) is ValueError else f"{error!r}") from error
    if len(arrays) < len(members):
        raise ValueError("it has two members of one name")
    return arrays


def text_in(data: bytes, encoding: str = "utf-8") -> str:
    """The text of a file of lines. Raises UnicodeDecodeError.

    What a kill, a full disk or a power cut left behind the last line end need not be text: backslashes show it.
    """
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        num_behind = len(data) - max(data.rfind(b"\n"), data.rfind(b"\r")) - 1
        # Counted from the end: a byte-order mark is not in what the error counts.
        if len(error.object) - error.start > num_behind:
            raise
        return data.decode(encoding, errors="backslashreplace")


def json_in(data: bytes) -> dict[str, Any]:
    """The object that UTF-8 JSON holds. Raises ValueError if it is none."""
    try:
        values = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON: {error}") from error
    if not isinstance(values, dict):
        raise ValueError("it is JSON, and no object")
    return values


def check_yaml(text: str) -> None:
    """Raise ValueError if YAML is none, refers to parts of itself, which may unpack to anything, or nests too deep."""
    depth = 0
    try:
        for event in yaml.parse(text, yaml.CSafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise ValueError("it refers to parts of itself (*), which settings of a run do not")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MOST_DEPTH:
                raise ValueError("it is nested too deep")
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def as_declared(cls: type[T], values: object) -> T:
    """`values`, an object of JSON, as `cls`, whose fields are int, float, str, bool, or one of these and None.

    Fields with defaults may be missing. Raises ValueError with the first that does not fit.
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"{_shown(values)} stands where fields of {cls.__name__} should")
    declared = typing.get_type_hints(cls)
    if unknown := [name for name in values if name not in declared]:
        raise ValueError(f"{_shown(unknown[0])} is no field of {cls.__name__}")
    if missing := [name for name in declared if name not in values and name not in _with_defaults(cls)]:
        raise ValueError(f"{missing[0]} is missing")
    return cls(**{name: _as_type(declared[name], value, name) for name, value in values.items()})


def at_least_zero(counts: Mapping[str, float]) -> None:
    """Raise ValueError with the first of these that is below 0."""
    for name, value in counts.items():
        if value < 0:
            raise ValueError(f"{name}={value} is below 0")


def _array(data: bytes, max_axes: int) -> npt.NDArray[Any]:
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are never unpickled")
    if not 1 <= len(shape) <= max_axes or is_fortran:
        allowed = "only one dimension is" if max_axes == 1 else f"1 to {max_axes} dimensions in C order are"
        raise ValueError(f"it holds an array of shape {shape}, {allowed} allowed")
    if (size := math.prod(shape)) * dtype.itemsize != len(data) - stream.tell():
        raise ValueError(f"{len(data) - stream.tell():,} bytes stand where an array of {size:,} {dtype} should")
    return np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape).copy()


def _with_defaults(cls: type) -> set[str]:
    if dataclasses.is_dataclass(cls):
        return {field.name for field in dataclasses.fields(cls) if field.default is not dataclasses.MISSING}
    return set(getattr(cls, "_field_defaults", ()))


def _as_type(declared: Any, value: object, name: str) -> Any:
    choices = typing.get_args(declared) if isinstance(declared, types.UnionType) else (declared,)
    if value is None and types.NoneType in choices:
        return None
    kind = next(choice for choice in choices if choice is not types.NoneType)
    if kind is float and type(value) is int and abs(value) <= LARGEST_COUNT:
        return float(value)
    fits = type(value) is kind
    if isinstance(value, float):
        fits = fits and math.isfinite(value)
    if isinstance(value, int):
        fits = fits and abs(value) <= LARGEST_COUNT
    if not fits:
        raise ValueError(f"{name}={_shown(value)} is no {kind.__name__}, or none that can be")
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


_MOST_SHOWN = 60
_MOST_DEPTH = 20
