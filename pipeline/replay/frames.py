"""The frames of a replay, read in another thread while its writer goes on: a million are saved without a pause.

    writer:  begin(a)  add(step), add(step), ...     waits only where it would overwrite a frame that is wanted
    reader:            read(a, b)  read(b, c)  ...  done()

Frames are most of a replay, and are never changed once they are written: they are copied stretch by stretch. All else
of a replay is small, and part of its state (`pipeline.replay.memory`).
Not here: the files (`pipeline.replay.frame_files`).
"""

import threading

import numpy as np

from pipeline.replay.ring import LaneRing
from pipeline.types import Int64Array, UInt8Array


class FrameReader:
    """Of the lanes of one writer of a ring. Steps are counted from the writer's first."""

    def __init__(self, ring: LaneRing, writer: int) -> None:
        self._ring = ring
        self._writer = writer
        self._read_up_to: int | None = None
        """Frames from this step on are wanted; None: nobody reads."""
        self._changed = threading.Condition()

    @property
    def frame_bytes(self) -> int:
        """Bytes of the frames of one step, of all lanes of the writer."""
        return int(self._ring.frames[0].nbytes) * self._ring.lanes_per_writer

    @property
    def end(self) -> int:
        """Steps written so far: the one behind the newest."""
        return self._ring.num_steps[self._writer]

    @property
    def start(self) -> int:
        """The oldest step that is held."""
        return self.end - self._ring.lane_fill(self._writer)

    def begin(self, first: int) -> None:
        """Frames from step `first` on, which is held, will be read. For the writer's thread, or while it stands."""
        self._read_up_to = max(first, self.start)

    def read(self, first: int, last: int) -> UInt8Array:
        """(E, last - first, H, W[, 3]): a copy of the frames of these steps; those before `last` may go then."""
        frames: UInt8Array = self._ring.frames_of(self._writer)[:, self._slots(first, last)]
        with self._changed:
            if self._read_up_to is not None:
                self._read_up_to = last
            self._changed.notify_all()
        return frames

    def done(self) -> None:
        """Nothing more will be read."""
        with self._changed:
            self._read_up_to = None
            self._changed.notify_all()

    def load(self, first: int, frames: UInt8Array) -> None:
        """Put back the frames of steps `first` on, (E, n, H, W[, 3]), all of which are held."""
        self._ring.frames_of(self._writer)[:, self._slots(first, first + frames.shape[1])] = frames

    def before_overwriting(self) -> None:
        """Wait until the oldest frame may go. For the writer's thread, before each step."""
        if self._read_up_to is None:
            return
        oldest = self.end - self._ring.lane_capacity
        with self._changed:
            self._changed.wait_for(lambda: self._read_up_to is None or self._read_up_to > oldest)

    def _slots(self, first: int, last: int) -> Int64Array:
        return np.arange(first, last) % self._ring.lane_capacity
