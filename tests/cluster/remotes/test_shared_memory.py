"""Memory of two processes: what one writes the other reads, what was not offered is not taken, and nothing stays."""

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

from pipeline.cluster.remotes.calls import RemoteCall
from pipeline.cluster.remotes.lane import Lane, LaneOffer, Room
from pipeline.cluster.remotes.shared_memory import NUM_SLOTS, OwnMemory, Slot, TakenMemories, can_share
from pipeline.errors import CallTimeoutError
from pipeline.types import Float32Array

pytestmark = pytest.mark.skipif(not can_share(), reason="Linux alone has memory without a name")

LENGTH = 5_000
VALUES: Float32Array = np.linspace(-1, 1, LENGTH, dtype=np.float32)


@pytest.fixture
def own() -> OwnMemory:
    return OwnMemory(VALUES.nbytes)


def slot_of(memory: OwnMemory, number: int = 0) -> Slot:
    return Slot(memory.offer.token, number, VALUES.dtype.str, LENGTH)


def test_another_process_reads_what_was_written_and_its_answer_is_read_here(own: OwnMemory) -> None:
    np.copyto(own.array(slot_of(own)), VALUES)
    program = (
        "import sys, numpy as np\n"
        "from pipeline.cluster.remotes.shared_memory import MemoryOffer, Slot, TakenMemories\n"
        "offer, first, last = eval(sys.argv[1], {'MemoryOffer': MemoryOffer, 'Slot': Slot})\n"
        "taken = TakenMemories()\n"
        "assert taken.take(offer)\n"
        "np.copyto(taken.array(last), -taken.array(first))\n"
    )
    last = slot_of(own, NUM_SLOTS - 1)
    subprocess.run([sys.executable, "-c", program, repr((own.offer, slot_of(own), last))], check=True, timeout=60)
    np.testing.assert_array_equal(own.array(last), -VALUES)
    np.testing.assert_array_equal(own.array(slot_of(own)), VALUES)


def test_a_process_with_a_network_of_its_own_is_another_machine(own: OwnMemory) -> None:
    program = (
        "import sys\n"
        "from pipeline.cluster.remotes.shared_memory import MemoryOffer, TakenMemories\n"
        "print(TakenMemories().take(eval(sys.argv[1], {'MemoryOffer': MemoryOffer})))\n"
    )
    apart = ["unshare", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*apart, "true"], capture_output=True).returncode != 0:
        pytest.skip("needs the right to make a network namespace")
    words = [sys.executable, "-c", program, repr(own.offer)]
    printed = [subprocess.run([*prefix, *words], capture_output=True, timeout=60).stdout for prefix in ([], apart)]
    assert printed == [b"True\n", b"False\n"]


@pytest.fixture
def descriptors(tmp_path: Path) -> Iterator[dict[str, int]]:
    """What another machine may have under the numbers of an offer."""
    reading, writing = os.pipe()
    (tmp_path / "file").write_bytes(bytes(100))
    file = os.open(tmp_path / "file", os.O_RDWR)
    other = OwnMemory(VALUES.nbytes)
    yield {"a pipe": reading, "a file": file, "other memory": other.offer.descriptor, "nothing": 10_000}
    for descriptor in (reading, writing, file):
        os.close(descriptor)


@pytest.mark.parametrize("what", ["a pipe", "a file", "other memory", "nothing"])
def test_what_was_not_offered_is_not_taken(own: OwnMemory, descriptors: dict[str, int], what: str) -> None:
    taken = TakenMemories()
    assert not taken.take(own.offer._replace(descriptor=descriptors[what]))
    assert not taken.take(own.offer._replace(pid=2**22 + 1))
    with pytest.raises(KeyError):
        taken.array(slot_of(own))
    assert taken.take(own.offer)


def test_memory_that_its_owner_has_given_up_is_let_go_at_the_next_offer() -> None:
    taken, kept = TakenMemories(), OwnMemory(VALUES.nbytes)
    given_up = OwnMemory(VALUES.nbytes)
    offer, slot = given_up.offer, slot_of(given_up)
    assert taken.take(offer)
    held = inode_of(offer.descriptor)
    del given_up
    gc.collect()
    # Another thread may have opened something under the same number meanwhile.
    assert inode_of(offer.descriptor) != held
    assert taken.array(slot).shape == (LENGTH,), "the last one that holds it keeps it"
    assert taken.take(kept.offer)
    with pytest.raises(KeyError):
        taken.array(slot)


def inode_of(descriptor: int) -> int | None:
    """None: there is nothing under this number."""
    try:
        return os.fstat(descriptor).st_ino
    except OSError:
        return None


class Answers:
    """Stands for a shard on this machine, or on another one; calls that get no answer are the last ones."""

    def __init__(self, *answers: bool | None) -> None:
        self.offers: list[LaneOffer] = []
        self._answers = list(answers)

    def __call__(self, offer: LaneOffer) -> RemoteCall[bool]:

        future: Future[bool] = Future()
        self.offers.append(offer)
        if (answer := self._answers.pop(0) if self._answers else None) is not None:
            future.set_result(answer)
        return RemoteCall("share of shard-0", future)


def test_a_lane_opens_when_its_memory_was_taken_and_stays_shut_on_another_machine() -> None:
    for answer, is_open in ((True, True), (False, False), (None, False)):
        lane = Lane(answers := Answers(answer))
        assert lane.room_for_pull() is None and not answers.offers, "nobody knows yet how long a slice is"
        lane.open_for(VALUES)
        assert (lane.room_for_pull() is not None) == is_open
        lane.open_for(VALUES)
        assert len(answers.offers) == 1, "it asks once"


def test_a_room_is_out_until_it_is_given_back_and_pushes_have_one_of_their_own() -> None:
    lane = Lane(Answers(True))
    lane.open_for(VALUES)
    rooms = [lane.room_for_push(VALUES), lane.room_for_pull(), lane.room_for_pull()]
    numbers = [room.slot.number for room in rooms if room is not None]
    assert len(set(numbers)) == NUM_SLOTS
    for room in rooms:
        assert isinstance(room, Room)
        lane.give_back(room)
    again = lane.room_for_push(VALUES)
    assert again is not None and again.slot.number == numbers[0]
    assert isinstance(rooms[0], Room)
    lane.give_back(rooms[0])
    assert lane.room_for_push(VALUES) is None, "what is given back twice does not free the room of another call"


def test_a_call_that_was_never_answered_costs_its_memory_and_not_the_lane() -> None:
    lane = Lane(answers := Answers(True, True))
    lane.open_for(VALUES)
    lost = lane.room_for_push(VALUES)
    assert lost is not None
    lost.array[:] = 7.0
    assert lane.room_for_push(VALUES) is None and len(answers.offers) == 2, "through the socket, meanwhile"
    new = lane.room_for_push(VALUES)
    assert new is not None and new.slot.token != lost.slot.token
    new.array[:] = 8.0
    assert (lost.array == 7.0).all()
    lane.give_back(lost)
    assert lane.room_for_push(VALUES) is None, "what is given back too late belongs to other memory"


def test_an_array_that_is_no_slice_has_no_room() -> None:
    lane = Lane(Answers(True))
    lane.open_for(VALUES)
    assert lane.room_for_push(VALUES[1:]) is None
    assert lane.room_for_push(VALUES.astype(np.uint16)) is None


def test_an_offer_that_fails_shuts_the_lane() -> None:
    def fails(_: LaneOffer) -> RemoteCall[bool]:

        future: Future[bool] = Future()
        future.set_exception(CallTimeoutError("share of shard-0 did not answer"))
        return RemoteCall("share of shard-0", future)

    lane = Lane(fails)
    lane.open_for(VALUES)
    assert lane.room_for_pull() is None
