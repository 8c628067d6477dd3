"""Film files, read back by the same ffmpeg."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import PipelineError, RecordingError
from pipeline.rendering.film_file import write_film
from pipeline.types import UInt8Array
from tests.rendering.films import read_film, seconds_of

RED, GREEN, BLUE = (200, 72, 72), (66, 158, 130), (45, 50, 184)


def stripes(num_pictures: int, height: int = 42, width: int = 32) -> Iterator[UInt8Array]:
    """A green stripe that moves over red, a row each picture, above a blue ground."""
    for i in range(num_pictures):
        picture = np.full((height, width, 3), RED, np.uint8)
        picture[i % 20] = GREEN
        picture[height // 2 :] = BLUE
        yield picture


def test_a_film_is_written_beside_a_relative_path_with_a_colon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert write_film(Path("runs:2026/film 1:2.gif"), stripes(3), fps=15) == 3
    np.testing.assert_array_equal(read_film(tmp_path / "runs:2026" / "film 1:2.gif"), list(stripes(3)))
    assert write_film(Path("film:1.mp4"), stripes(3), fps=15) == 3


def test_a_gif_holds_every_picture_exactly(tmp_path: Path) -> None:
    path = tmp_path / "new" / "film.gif"
    assert write_film(path, stripes(25), fps=15) == 25
    np.testing.assert_array_equal(read_film(path), list(stripes(25)))


def test_an_mp4_holds_every_picture_nearly_and_lasts_as_long_as_it_should(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    assert write_film(path, stripes(30), fps=15) == 30
    shown = read_film(path)
    assert shown.shape == (30, 42, 32, 3) and seconds_of(path) == pytest.approx(2.0, abs=0.1)
    # Half the colour resolution and a lossy code: flat grounds stay what they are, edges may not.
    assert np.abs(shown[:, 30, 16].astype(int) - BLUE).max() <= 8


def test_a_film_that_is_not_finished_leaves_the_older_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_text("older")

    def broken() -> Iterator[UInt8Array]:
        yield from stripes(3)
        raise RecordingError("another game")

    with pytest.raises(RecordingError, match="another game"):
        write_film(path, broken(), fps=15)
    assert path.read_text() == "older" and list(tmp_path.iterdir()) == [path]


def test_what_ffmpeg_cannot_write_is_an_error_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"film\.mp4: ffmpeg could not write it: .*not divisible by 2"):
        write_film(tmp_path / "film.mp4", stripes(3, height=41), fps=15)
    assert list(tmp_path.iterdir()) == []
