"""Threads of torch, set for a role and given back to whoever called us."""

import threading

import torch

from pipeline.networks.compute import callers_threads_kept, set_compute_threads


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
