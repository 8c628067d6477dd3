"""What a disk, a crash or an editor can do to a file, drawn from a seed: the same seed does the same damage.

Not here: the files (`tests.fuzz.files`).
"""

import io
import zipfile
from collections.abc import Callable, Mapping

import numpy as np

Damage = Callable[[bytes, np.random.Generator], bytes]

_TEXTS = (
    b"\xff",
    b"\x00",
    b"nan",
    b"1e999",
    b"-1",
    b'"',
    b"\n",
    b"\r",
    b",",
    b"{",
    b"[",
    b"*a",
    b"null",
    b"9" * 40,
    b"\xe2\x80\xa8",
)


def _at(data: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(max(len(data), 1)))


def _flipped(data: bytes, at: int, rng: np.random.Generator) -> bytes:
    damaged = bytearray(data)
    if damaged:
        damaged[at] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def _with_text(data: bytes, rng: np.random.Generator) -> bytes:
    at = _at(data, rng)
    return data[:at] + _TEXTS[int(rng.integers(len(_TEXTS)))] + data[at + int(rng.integers(3)) :]


def _zeros(data: bytes, rng: np.random.Generator) -> bytes:
    at, count = _at(data, rng), int(rng.integers(1, 600))
    return data[:at] + bytes(len(data[at : at + count])) + data[at + count :]


def _twice(data: bytes, rng: np.random.Generator) -> bytes:
    at = _at(data, rng)
    return data[:at] + data[max(at - int(rng.integers(1, 200)), 0) :]


def _digit(data: bytes, rng: np.random.Generator) -> bytes:
    digits = [at for at, byte in enumerate(data) if chr(byte).isdigit()]
    if not digits:
        return data
    damaged = bytearray(data)
    damaged[digits[int(rng.integers(len(digits)))]] = 48 + int(rng.integers(10))
    return bytes(damaged)


BYTES: Mapping[str, Damage] = {
    "truncated": lambda data, rng: data[: _at(data, rng)],
    "one bit": lambda data, rng: _flipped(data, _at(data, rng), rng),
    "one bit of the first 200 bytes": lambda data, rng: _flipped(data, _at(data[:200], rng), rng),
    "text put in": _with_text,
    "a block of zeros": _zeros,
    "a block twice": _twice,
    "another digit": _digit,
    "empty": lambda data, rng: b"",
    "noise": lambda data, rng: rng.bytes(int(rng.integers(1, 2_000))),
    "nested": lambda data, rng: b"[" * 100_000,
    "not UTF-8": lambda data, rng: data.decode("latin-1").encode("utf-16"),
}
"""Of any file."""

UNPICKLED: list[str] = []
"""Not empty if code of a file was run."""


class _Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return UNPICKLED.append, ("a pickle",)


def _arrays(change: Callable[[dict[str, np.ndarray], str], object]) -> Damage:
    """`change` one of the arrays of an .npz, all checksums right again."""

    def damage(data: bytes, rng: np.random.Generator) -> bytes:
        with np.load(io.BytesIO(data)) as archive:
            arrays = dict(archive)
        change(arrays, list(arrays)[int(rng.integers(len(arrays)))])
        written = io.BytesIO()
        np.savez(written, **arrays)
        return written.getvalue()

    return damage


def _set(new: Callable[[np.ndarray], object]) -> Damage:
    def change(arrays: dict[str, np.ndarray], name: str) -> None:
        arrays[name] = np.asarray(new(arrays[name]))

    return _arrays(change)


def _header_digit(data: bytes, rng: np.random.Generator) -> bytes:
    """One digit of a member's header, in an archive whose checksums are right."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(written, "w") as new:
        members = old.infolist()
        chosen = members[int(rng.integers(len(members)))]
        for member in members:
            content = old.read(member)
            new.writestr(member.filename, _digit(content[:128], rng) + content[128:] if member is chosen else content)
    return written.getvalue()


def _bomb(data: bytes, rng: np.random.Generator) -> bytes:
    """A thousandth of what it unpacks to."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            new.writestr(member.filename, old.read(member) + bytes(20_000_000))
    return written.getvalue()


def _object(array: np.ndarray) -> np.ndarray:
    held = np.empty(1, dtype=object)
    held[0] = _Bomb()
    return held


OTHER_VALUES = "not a number"

ARRAYS: Mapping[str, Damage] = {
    "float64": _set(lambda array: array.astype(np.float64)),
    "int32": _set(lambda array: array.astype(np.int32)),
    "two dimensions": _set(lambda array: array.reshape(1, -1)),
    "no dimension": _set(lambda array: array[0]),
    "shorter": _set(lambda array: array[: len(array) // 2]),
    "longer": _set(lambda array: np.concatenate([array, array])),
    "no values": _set(lambda array: array[:0]),
    OTHER_VALUES: _set(lambda array: np.full_like(array, np.nan if array.dtype.kind == "f" else 255)),
    "a pickle": _set(_object),
    "missing": _arrays(lambda arrays, name: arrays.pop(name)),
    "one more": _arrays(lambda arrays, name: arrays.update(more=arrays[name])),
    "a digit of a header": _header_digit,
    "a zip bomb": _bomb,
}
"""Of an .npz alone, with checksums that are right."""
