"""Slots of shared memory for one caller's slices, and a bell for its calls, once its shard is known to be near.

    first slice comes through a socket -> a lane for such slices is offered -> from the answer on slices lie in slots

A slot is out from its call until the answer. After an error its reader or writer may be late, so that it never comes
back; when there is none left, another lane is offered, and until that is answered slices take the socket.
Not here: the memory (`.shared_memory`) and the bell (`.bell`) themselves, which calls these are (`.shards`).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from pipeline.cluster.remotes.bell import Bell, BellCall, BellOffer
from pipeline.cluster.remotes.calls import RemoteCall
from pipeline.cluster.remotes.shared_memory import MemoryOffer, OwnMemory, Slot, can_share
from pipeline.errors import PipelineError
from pipeline.types import WireArray

_PUSH = (0,)
"""A synchronous shard reads a gradient for longer than its call takes: no other call gets that slot."""
_PULLS = (1, 2)
"""The next one may be asked for before the one before it was read."""
_ANSWER_SECONDS = 1.0
"""For an answer that is there."""


class LaneOffer(NamedTuple):
    """What another process needs of it."""

    memory: MemoryOffer
    bell: BellOffer


class Room(NamedTuple):
    """A slot that is out, and the array that lies in it; valid whatever becomes of its lane."""

    slot: Slot
    array: WireArray
    bell: Bell

    def call(self, what: str, method: str, *args: object) -> BellCall:
        """Start a call that reads or writes the array; `what` names it in errors."""
        return self.bell.ring(what, method, self.slot, *args)


class Lane:
    """For one thread. Every method returns at once."""

    def __init__(self, offer: Callable[[LaneOffer], RemoteCall[bool]], is_wanted: bool = True) -> None:
        """`offer` asks the shard whether it sees what is offered."""
        self._offer = offer
        self._is_possible = is_wanted and can_share()
        self._dtype, self._length = "", 0
        self._memory: OwnMemory | None = None
        self._bell: Bell | None = None
        self._answer: RemoteCall[bool] | None = None
        """To the offer of these; None: they were taken."""
        self._out: dict[int, Room] = {}
        """By the number of its slot."""

    def open_for(self, slice_: WireArray) -> None:
        """The shard's slices are like this one, which came through a socket."""
        if self._is_possible and self._memory is None:
            self._dtype, self._length = slice_.dtype.str, slice_.size
            self._make()

    def room_for_push(self, gradient: WireArray) -> Room | None:
        """Where to put this; None: send it through the socket."""
        is_a_slice = (gradient.dtype.str, gradient.shape) == (self._dtype, (self._length,))
        return self._take(_PUSH) if is_a_slice else None

    def room_for_pull(self) -> Room | None:
        """Where a shard may put its slice; None: have it sent through the socket."""
        return self._take(_PULLS)

    def give_back(self, room: Room) -> None:
        """Its call was answered. A room that was given back before, or is of an earlier lane, changes nothing."""
        if self._out.get(room.slot.number) is room:
            del self._out[room.slot.number]

    def _take(self, numbers: Sequence[int]) -> Room | None:
        if self._memory is None or self._bell is None or not self._is_taken():
            return None
        number = next((number for number in numbers if number not in self._out), None)
        if number is None:
            self._make()
            return None
        slot = Slot(self._memory.offer.token, number, self._dtype, self._length)
        self._out[number] = Room(slot, self._memory.array(slot), self._bell)
        return self._out[number]

    def _make(self) -> None:
        try:
            self._memory, self._bell = OwnMemory(np.dtype(self._dtype).itemsize * self._length), Bell()
        except OSError:
            self._give_up()
            return
        self._out = {}
        self._answer = self._offer(LaneOffer(self._memory.offer, self._bell.offer))

    def _is_taken(self) -> bool:
        if self._answer is not None and self._answer.done():
            try:
                taken = self._answer.result(_ANSWER_SECONDS)
            except PipelineError:
                taken = False
            self._answer = None
            if not taken:
                self._give_up()
            elif self._bell is not None:
                self._bell.hand_over()
        return self._memory is not None and self._answer is None

    def _give_up(self) -> None:
        self._is_possible, self._memory, self._bell, self._answer = False, None, None, None
