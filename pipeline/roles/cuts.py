"""Where the roles of this process and their coordinator meet, so that a run is seen whole between two steps.

    role:         step ... step | gives its cut, waits |                     | step ...
    coordinator:      take(seconds) --------> cut, and the shards' snapshot ---> release()

Not here: roles in other processes, which have no state that could be shared; the shards' part
(`pipeline.topologies.snapshots`), files (`pipeline.experiments.files.exact`).
"""

import threading
import uuid
from collections.abc import Callable, Mapping
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from pipeline.errors import CallTimeoutError
from pipeline.replay.frames import FrameReader
from pipeline.roles.progress import RoleProgress

_DESKS: "WeakValueDictionary[str, CutDesk]" = WeakValueDictionary()

PackedStates = Mapping[str, Mapping[str, np.ndarray]]
"""Role -> its state, as `pipeline.states.pack` gives it."""


class Cut(NamedTuple):
    """Roles that all stand."""

    role: str
    """Name of the task that steps them."""
    progress: RoleProgress
    states: PackedStates
    num_rows: dict[str, int]
    """By the name of a row's class: rows that all roles have emitted, resumes included."""
    frames: Mapping[str, FrameReader]
    """By replay: how its frames are read, from now on too."""


class StartState(NamedTuple):
    """What roles go on from."""

    states: PackedStates
    num_rows: dict[str, int]
    load_frames: Callable[[str, FrameReader], None]
    """Puts back the frames of the replay of that name, whose state was restored before."""


class CutDesk:
    """Of one run. Safe for one coordinator and one role, each in its thread."""

    def __init__(self) -> None:
        self.key = uuid.uuid4().hex
        """What `desk_of` finds it by, in this process."""
        self.start: StartState | None = None
        """What the role begins from; None: from nothing."""
        self._cut: Cut | None = None
        self._is_wanted = self._has_left = False
        self._num_requests = 0
        self._changed = threading.Condition()
        _DESKS[self.key] = self

    def arrive(self) -> StartState | None:
        """For a role that begins: what it goes on from."""
        with self._changed:
            # A cut that was asked for while the role was being built is still wanted.
            self._cut, self._has_left = None, False
            start, self.start = self.start, None
            return start

    def pass_by(self, cut: Callable[[], Cut]) -> None:
        """For a role that stands: gives its cut if it is wanted, and waits until it was taken."""
        if not self._is_wanted:
            return
        with self._changed:
            self._cut = cut()
            self._changed.notify_all()
            # It may be wanted again before this thread has heard that it was released.
            request = self._num_requests
            self._changed.wait_for(lambda: not self._is_wanted or self._num_requests > request)

    def leave(self, cut: Cut) -> None:
        """For a role that stands, and makes no more steps."""
        with self._changed:
            self._cut, self._has_left = cut, True
            self._changed.notify_all()

    def take(self, timeout_seconds: float) -> Cut:
        """The role's cut; unless it has left it waits until `release`. Raises CallTimeoutError."""
        with self._changed:
            if not self._has_left:
                self._cut, self._is_wanted = None, True
                self._num_requests += 1
                if not self._changed.wait_for(lambda: self._cut is not None, timeout_seconds):
                    self._is_wanted = False
                    self._changed.notify_all()
                    raise CallTimeoutError(f"the roles did not come to a stand within {timeout_seconds:g} s")
            assert self._cut is not None, "there is one where a role has left, or was waited for"
            return self._cut

    def release(self) -> None:
        """Let the role go on."""
        with self._changed:
            self._is_wanted = False
            self._changed.notify_all()


def desk_of(key: str) -> CutDesk:
    """The desk with this key in this process. Raises KeyError if there is none."""
    return _DESKS[key]
