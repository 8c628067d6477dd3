"""Memory that two processes of one machine both see: arrays cross with one copy in, and without a socket.

    OwnMemory(slot_bytes)    of the caller, in slots
    MemoryOffer              travels as a plain value
    TakenMemories.take       the same memory in the process that is called, if that is on the same machine

It has no name, so that nothing is left of a process that was killed: Linux keeps it while one of both lives. What is
found under an offer on another machine, or in another container, is not what was offered, which a random token tells.
A process with a network of its own counts as another machine, too: who is cut off from it must not reach it this way.
Systems that cannot make such memory, and memory that cannot be had, are no error: arrays travel through sockets then.
Not here: which arrays these are (`pipeline.cluster.remotes.shards`).
"""

import mmap
import os
import secrets
import stat
import sys
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.types import WireArray

NUM_SLOTS = 3
_TOKEN_BYTES = 16


class MemoryOffer(NamedTuple):
    """Where the memory of another process is, and how to know that it is the right one."""

    pid: int
    descriptor: int
    slot_bytes: int
    token: bytes


class Slot(NamedTuple):
    """An array in shared memory, in words that travel."""

    token: bytes
    """Of the memory."""
    number: int
    dtype: str
    length: int


class OwnMemory:
    """NUM_SLOTS arrays of up to `slot_bytes` each, which another process may see; only where `can_share`.

    Raises OSError if there is no room. Only what is written takes memory.
    """

    def __init__(self, slot_bytes: int) -> None:
        descriptor = os.memfd_create("pipeline")
        weakref.finalize(self, os.close, descriptor)
        os.ftruncate(descriptor, _size(slot_bytes))
        self._map = mmap.mmap(descriptor, _size(slot_bytes))
        token = secrets.token_bytes(_TOKEN_BYTES)
        self._map[:_TOKEN_BYTES] = token
        self.offer = MemoryOffer(os.getpid(), descriptor, slot_bytes, token)

    def array(self, slot: Slot) -> WireArray:
        """(length,): the memory itself."""
        return _array(self._map, self.offer.slot_bytes, slot)


class TakenMemories:
    """What others have offered to this process. `take` is for one thread."""

    def __init__(self) -> None:
        self._taken: dict[bytes, tuple[mmap.mmap, MemoryOffer]] = {}

    def take(self, offer: MemoryOffer) -> bool:
        """Whether it is on this machine. What others have given up since is let go."""
        self._taken = {token: (held, other) for token, (held, other) in self._taken.items() if _open(other)}
        if (found := _open(offer)) is not None:
            self._taken[offer.token] = (found, offer)
        return found is not None

    def array(self, slot: Slot) -> WireArray:
        """(length,): the memory itself. Raises KeyError if it was never taken."""
        memory, offer = self._taken[slot.token]
        return _array(memory, offer.slot_bytes, slot)


def can_share() -> bool:
    """Whether this system, and this Python, can make memory without a name."""
    # A Python that was built against an old glibc (conda-forge's, some of uv's) has not the call, whatever the system.
    return sys.platform == "linux" and hasattr(os, "memfd_create")


def _size(slot_bytes: int) -> int:
    return mmap.PAGESIZE + NUM_SLOTS * _slot_size(slot_bytes)


def _slot_size(slot_bytes: int) -> int:
    """Whole pages."""
    return -(-slot_bytes // mmap.PAGESIZE) * mmap.PAGESIZE


def _array(memory: mmap.mmap, slot_bytes: int, slot: Slot) -> WireArray:
    offset = mmap.PAGESIZE + slot.number * _slot_size(slot_bytes)
    return np.frombuffer(memory, np.dtype(slot.dtype), slot.length, offset)


def _open(offer: MemoryOffer) -> mmap.mmap | None:
    path = Path(f"/proc/{offer.pid}/fd/{offer.descriptor}")
    try:
        if _network_of(offer.pid) != _network_of(os.getpid()):
            return None
        found = path.stat()
        # Under these numbers another machine may have anything: opening a pipe or a device could wait, or do something.
        if not stat.S_ISREG(found.st_mode) or found.st_size != _size(offer.slot_bytes):
            return None
        with path.open("r+b", buffering=0) as file:
            memory = mmap.mmap(file.fileno(), found.st_size)
    except (OSError, ValueError):
        return None
    return memory if memory[:_TOKEN_BYTES] == offer.token else None


def _network_of(pid: int) -> int:
    """The network namespace of a process, as a number. Raises OSError."""
    return Path(f"/proc/{pid}/ns/net").stat().st_ino
