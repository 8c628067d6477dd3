"""Threads of torch, set for a role and given back to whoever called us."""

import threading
from concurrent.futures import ThreadPoolExecutor

import torch

from pipeline.networks.compute import callers_threads_kept, set_compute_threads
from tests.clusters import LIMIT_SECONDS


def threads_of_a_new_thread() -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]


def test_whoever_called_has_its_threads_again_when_the_last_of_several_has_left() -> None:
    before = torch.get_num_threads()
    role = threading.Thread(target=set_compute_threads, args=(before + 1,))
    try:
        with callers_threads_kept():
            role.start()
            role.join()
            assert threads_of_a_new_thread() == before + 1
            with callers_threads_kept():
                pass
            assert threads_of_a_new_thread() == before + 1
        assert torch.get_num_threads() == threads_of_a_new_thread() == before
    finally:
        torch.set_num_threads(before)


def test_two_threads_that_set_numbers_of_their_own_one_after_the_other_keep_them() -> None:
    def role(num_threads: int, comes_first: bool) -> int:
        if not comes_first:
            first_has_set.wait(LIMIT_SECONDS)
        set_compute_threads(num_threads)
        if comes_first:
            first_has_set.set()
        both_have_set.wait(LIMIT_SECONDS)
        return torch.get_num_threads()

    for first, second in ((1, 2), (2, 1)):
        first_has_set, both_have_set = threading.Event(), threading.Barrier(2)
        with callers_threads_kept(), ThreadPoolExecutor(2) as fresh:
            kept = [fresh.submit(role, first, True), fresh.submit(role, second, False)]
            assert [each.result() for each in kept] == [first, second]
