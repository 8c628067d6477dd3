"""Threads and GPUs that are kept by what was told to end and has not."""

from dataclasses import dataclass

from pipeline.cluster.staying import Staying


@dataclass
class Task:
    """One that ends when it is told to."""

    is_over: bool = False

    def done(self) -> bool:
        return self.is_over


def test_a_host_has_the_threads_that_nobody_keeps_and_is_none_without_any() -> None:
    staying, task = Staying(), Task()
    assert staying.threads_left({"a": 1, "b": 2}) == {"a": 1, "b": 2} and staying.in_words("ab") == ""
    staying.add(task, "bundle-0", "a")
    staying.add(Task(), "bundle-1", "b")
    assert staying.threads_left({"a": 1, "b": 2}) == {"b": 1} and staying.threads_kept() == {"a": 1, "b": 1}
    assert staying.in_words("ab") == "bundle-0 on a, bundle-1 on b"
    task.is_over = True
    assert staying.threads_left({"a": 1, "b": 2}) == {"a": 1, "b": 1} and staying.in_words("ab") == "bundle-1 on b"


def test_what_stays_on_a_host_that_is_gone_is_no_matter() -> None:
    staying = Staying()
    staying.add(Task(), "bundle-0", "gone")
    assert staying.threads_left({"a": 1}) == {"a": 1} and staying.in_words({"a"}) == ""


def test_gpus_of_what_stays_are_kept_as_its_thread_is() -> None:
    staying, task = Staying(), Task()
    staying.add(task, "bundle-0", "a", 1)
    staying.add(Task(), "bundle-1", "a")
    assert staying.gpus_kept()["a"] == 1 and staying.gpus_kept()["b"] == 0
    task.is_over = True
    assert staying.gpus_kept()["a"] == 0 and staying.threads_kept()["a"] == 1
