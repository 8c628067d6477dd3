"""Which errors of the operating system are those of a disk. A real full disk: `tests.experiments.test_full_disk`."""

import errno
import os
from pathlib import Path

import pytest

from pipeline.disk import check_writable, told_if_refused, why_unwritable
from pipeline.errors import ConfigError, DiskError


@pytest.mark.parametrize(("number", "path", "named"), [(errno.ENOSPC, "a.csv", "a.csv"), (errno.EROFS, None, "out")])
def test_a_disk_that_refuses_is_one_sentence_that_names_the_file_or_its_place(
    number: int, path: str | None, named: str
) -> None:
    said = f"^{named} could not be written: {os.strerror(number)}; make room"
    with pytest.raises(DiskError, match=said), told_if_refused(Path("out")):
        raise OSError(number, os.strerror(number), path)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("/proc/x", "No such file" if os.geteuid() == 0 else "is read-only"),
        ("{}/file/out", "is read-only or no folder"),
        ("{}/" + "x" * 300, "too long"),
    ],
)
def test_a_folder_in_which_nobody_can_write_is_known_before_anything_is_made(
    tmp_path: Path, place: str, why: str
) -> None:
    (tmp_path / "file").touch()
    assert why in (why_unwritable(Path(place.format(tmp_path))) or "")
    assert why_unwritable(tmp_path / "new" / "out") is None
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_setting_that_names_such_a_folder_is_a_mistake_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check_writable("out=new", tmp_path, tmp_path / "new")
    with pytest.raises(ConfigError, match=f"out=x cannot be written: {tmp_path / 'file'} is read-only or no folder"):
        check_writable("out=x", tmp_path, tmp_path / "file" / "out")


def test_what_is_denied_is_a_sentence_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for denied in (tmp_path / "file" / "x", tmp_path):
        with pytest.raises(DiskError, match=f"^{denied}: .* directory; allow it, or"), told_if_refused():
            denied.open("wb")


@pytest.mark.parametrize("error", [ConnectionRefusedError(errno.ECONNREFUSED, "x"), PermissionError(errno.EACCES, "x")])
def test_what_is_no_disk_s_error_stays_as_it_is(error: OSError) -> None:
    with pytest.raises(type(error)), told_if_refused():
        raise error


def test_a_real_device_that_is_always_full_is_told() -> None:
    with pytest.raises(DiskError, match="No space left"), told_if_refused(), open("/dev/full", "w") as file:
        file.write("x")
