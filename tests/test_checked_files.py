"""Arrays, JSON and YAML of files that nobody vouches for."""

import io
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from pipeline.checked_files import arrays_in, as_declared, at_least_zero, check_yaml, json_in, text_in


class Counted(NamedTuple):
    name: str
    number: int
    share: float
    is_last: bool = False
    note: str | None = None


def test_arrays_come_back_as_they_were_and_may_be_written(tmp_path: Path) -> None:
    saved = {"a": np.arange(5, dtype=np.float32), "b": np.zeros(0, np.uint8)}
    np.savez(tmp_path / "x.npz", **saved)  # type: ignore[arg-type]  # the stub takes keywords for allow_pickle
    read = arrays_in(tmp_path / "x.npz", 10_000)
    np.testing.assert_equal(read, saved)
    read["a"][0] = 7


def test_a_zip_bomb_is_refused_by_what_it_says_before_it_is_unpacked(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(3_000_000, np.uint8))
    with pytest.raises(ValueError, match=r"unpacks to 3,000,128 bytes, more than the 1,000,000 that it may"):
        arrays_in(tmp_path / "x.npz", 1_000_000)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_what_stands_behind_the_last_line_end_need_not_be_text(mark: bytes) -> None:
    assert text_in(mark + b"a,\xc3\xa9\nb\xff", "utf-8-sig") == "a,\xe9\nb\\xff"
    assert text_in(mark + b"\xff", "utf-8-sig") == "\\xff"
    with pytest.raises(UnicodeDecodeError):
        text_in(mark + b"a,\xff\nb", "utf-8-sig")


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("(3,)", "16 bytes stand where an array of 3 float32 should"),
        ("(9999999999999,)", "16 bytes stand where"),
        ("(2, 2)", "only one dimension"),
    ],
)
def test_a_header_that_tells_another_shape_is_found_though_every_checksum_is_right(
    tmp_path: Path, shape: str, message: str
) -> None:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(16)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", data)
    with pytest.raises(ValueError, match=message):
        arrays_in(tmp_path / "x.npz", 10_000)


def test_one_name_twice_is_refused(tmp_path: Path) -> None:
    member = io.BytesIO()
    np.save(member, np.zeros(2))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", member.getvalue())
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.npy", member.getvalue())
    with pytest.raises(ValueError, match="two members of one name"):
        arrays_in(tmp_path / "x.npz", 10_000)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000, b"9" * 5_000])
def test_what_is_no_json_is_told_as_that(data: bytes) -> None:
    with pytest.raises(ValueError, match="it is no JSON"):
        json_in(data)


def test_json_is_declared_field_by_field() -> None:
    assert as_declared(Counted, {"name": "x", "number": 2, "share": 1}) == Counted("x", 2, 1.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "fields of Counted"),
        ({"name": "x", "number": 2}, "share is missing"),
        ({"name": "x", "number": 2, "share": 1.0, "more": 1}, "'more' is no field of Counted"),
        ({"name": "x", "number": 2.0, "share": 1.0}, "number=2.0 is no int"),
        ({"name": "x", "number": True, "share": 1.0}, "number=True is no int"),
        ({"name": "x", "number": 2**63, "share": 1.0}, "number=.* is no int, or none that can be"),
        ({"name": "x", "number": 2, "share": float("nan")}, "share=nan is no float, or none that can be"),
        ({"name": None, "number": 2, "share": 1.0}, "name=None is no str"),
    ],
)
def test_a_field_that_does_not_fit_is_named(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_declared(Counted, values)


def test_a_count_below_zero_is_named() -> None:
    at_least_zero({"a": 0, "b": 0.5})
    with pytest.raises(ValueError, match="b=-1 is below 0"):
        at_least_zero({"a": 0, "b": -1})


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: &x [1]\nb: [*x, *x]", "refers to parts of itself"), ("[" * 100, "nested too deep"), ("a: [", "expected")],
)
def test_yaml_that_unpacks_to_more_than_it_is_long_is_refused(text: str, message: str) -> None:
    check_yaml("a: {b: [1, '*x']}")
    with pytest.raises(ValueError, match=message):
        check_yaml(text)
