"""Files that are called by a number, and those that only look like it."""

from pathlib import Path

from pipeline.numbered_files import number_of, numbers_in, path_of


def test_only_files_that_are_called_as_they_are_written_count(tmp_path: Path) -> None:
    for number in (12_000, 0, 7):
        path_of(tmp_path, number).touch()
    foreign = ("000000012000_good.npz", "000000012000.sync-conflict-1.npz", "13.npz", "000000000009 copy.npz", "x.npz")
    for name in (*foreign, "٠٠٠٠٠٠٠٠٠٠٠٨.npz"):
        (tmp_path / name).touch()
    assert numbers_in(tmp_path) == [0, 7, 12_000]
    assert path_of(tmp_path, 7).name == "000000000007.npz"
    assert numbers_in(tmp_path / "nowhere") == []


def test_a_prefix_is_part_of_the_name_whatever_signs_it_has(tmp_path: Path) -> None:
    for name in ("a[1]_000000000005.npz", "a[1]_000000000006_good.npz", "a1_000000000007.npz", "000000000008.npz"):
        (tmp_path / name).touch()
    assert numbers_in(tmp_path, "a[1]_") == [5]
    assert path_of(tmp_path, 5, "a[1]_").exists()


def test_a_name_is_a_number_only_as_it_is_written_here() -> None:
    names = ("000000001003", "1003", "000000001003_good", "-00000001003", "1000000001003", "", "٣" * 12)
    assert [number_of(name) for name in names] == [1003, None, None, None, 1_000_000_001_003, None, None]
