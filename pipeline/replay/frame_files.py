"""The frames of a replay in files: each once, compressed, and only the new ones at each checkpoint.

    checkpoints/exact/frames/bundle-0/000000002048.npz     steps 2048 to at most 2048 + C - 1 of all lanes of one replay
        frames                                             (lanes, steps, H, W[, 3]) uint8

A stretch begins at a multiple of C steps, which follows from the size of a frame. The newest one is written again,
longer, at the next checkpoint, and always begins with what it held before: older checkpoints stay whole. Those whose
steps no checkpoint holds any more are deleted.
Not here: all else of a replay, which is part of its role's state (`pipeline.experiments.files.exact`), or lies beside
its frames (`pipeline.replay.keeper`).
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.checked_files import arrays_in
from pipeline.errors import CheckpointError
from pipeline.numbered_files import numbers_in, path_of
from pipeline.replay.frames import FrameReader
from pipeline.whole_file import whole_arrays

STRETCH_BYTES = 32 * 2**20
"""Of the frames of one file, before they are compressed."""
_FRAMES = "frames"
_MOST_AXES = 5
_HEADER_BYTES = 1_024
"""Of an array, at most."""


class HeldSteps(NamedTuple):
    """Steps of a replay to be written."""

    first: int
    """Where the first stretch begins."""
    held_from: int
    """The oldest step that the replay still holds."""
    end: int


class FrameFiles:
    """Of one replay, in a folder of its own."""

    def __init__(self, folder: Path, stretch_bytes: int = STRETCH_BYTES) -> None:
        self._folder = folder
        self._stretch_bytes = stretch_bytes
        self._whole_up_to = 0
        """Steps before this one are in files that will not change."""

    def begin(self, reader: FrameReader) -> HeldSteps:
        """What has to be written for a checkpoint of this moment; the reader's role stands."""
        stretch = self._stretch(reader)
        first = max(self._whole_up_to, reader.start // stretch * stretch)
        reader.begin(first)
        return HeldSteps(first, reader.start, reader.end)

    def write(self, reader: FrameReader, steps: HeldSteps) -> None:
        """Write it, while the role goes on; the caller says when the reader is done.

        Raises CheckpointError if the disk refuses it.
        """
        for _ in self.written(reader, steps):
            pass

    def written(self, reader: FrameReader, steps: HeldSteps) -> Iterator[int]:
        """The same, a stretch at a time: up to which step all is written. Raises as `write`."""
        stretch = self._stretch(reader)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for start, end in _stretches(steps.first, steps.end, stretch):
                held_from = max(start, steps.held_from)
                frames = reader.read(held_from, end)
                self._write(start, self._behind_older(start, held_from - start, frames, reader))
                if end - start == stretch:
                    self._whole_up_to = end
                yield end
        except OSError as error:
            raise CheckpointError(f"frames could not be written to {self._folder}: {error}") from error

    def load(self, reader: FrameReader) -> None:
        """Put back all frames that the replay holds. Raises CheckpointError if a file is damaged or missing."""
        stretch, held_from = self._stretch(reader), reader.start
        for start, end in _stretches(held_from // stretch * stretch, reader.end, stretch):
            frames = self._read(start, end, reader)
            skipped = max(held_from - start, 0)
            reader.load(start + skipped, frames[:, skipped : end - start])
        # What another future wrote behind it is written anew.
        self._whole_up_to = reader.end // stretch * stretch

    def delete_before(self, step: int, reader: FrameReader) -> None:
        """Delete the files that hold only steps before this one, where the disk allows it: they are of no more use."""
        for start in numbers_in(self._folder):
            if start + self._stretch(reader) <= step:
                with contextlib.suppress(OSError):
                    self._path(start).unlink()

    def _behind_older(self, start: int, num_older: int, frames: np.ndarray, reader: FrameReader) -> np.ndarray:
        """`frames` behind so many older ones, which the replay holds no more: an earlier checkpoint may need them."""
        if num_older == 0:
            return frames
        older = np.zeros((frames.shape[0], num_older, *frames.shape[2:]), np.uint8)
        if self._path(start).exists():
            saved = self._read(start, start, reader)[:, :num_older]
            older[:, : saved.shape[1]] = saved
        return np.concatenate([older, frames], axis=1)

    def _stretch(self, reader: FrameReader) -> int:
        return max(self._stretch_bytes // reader.frame_bytes, 1)

    def _path(self, start: int) -> Path:
        return path_of(self._folder, start)

    def _write(self, start: int, frames: np.ndarray) -> None:
        whole_arrays(self._path(start), {_FRAMES: frames})

    def _read(self, start: int, end: int, reader: FrameReader) -> np.ndarray:
        path = self._path(start)
        try:
            most = _HEADER_BYTES + self._stretch(reader) * reader.frame_bytes
            frames = arrays_in(path, most, _MOST_AXES).get(_FRAMES, np.zeros(0))
        except ValueError as error:
            raise CheckpointError(f"{path} cannot be read: {error}") from error
        num_steps = frames.shape[1] if frames.dtype == np.uint8 and frames.ndim >= 4 else 0
        if frames.nbytes != num_steps * reader.frame_bytes or num_steps < end - start:
            raise CheckpointError(f"{path} holds {frames.dtype} {frames.shape}, {end - start} steps were expected")
        return frames


def _stretches(first: int, last: int, length: int) -> Iterator[tuple[int, int]]:
    """Stretches from `first`, a multiple of `length`, up to `last`."""
    for start in range(first, last, length):
        yield start, min(start + length, last)
