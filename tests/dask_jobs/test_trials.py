"""What a search asks for, what it makes of answers, and what it takes from the ledger of an earlier command."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import CompactHydraException
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler

from dask_jobs.job import Program
from dask_jobs.ledger import DONE, FAILED, RUNNING, LedgerRow
from dask_jobs.search_settings import SearchSettings
from dask_jobs.settings import LauncherSettings
from dask_jobs.trials import Trials, space_of

RATE = "rate=tag(log,interval(0.001,0.1))"
KEY = "game=Pong rate={} kind=b"


class Known:
    """Of a program, what trials ask of it: the name of a job, here all its words."""

    def key(self, overrides: Sequence[str]) -> str:
        return " ".join(overrides)


def trials(words: Sequence[str], *rows: LedgerRow, **settings: Any) -> Trials:
    found = Trials(SearchSettings(**{"seed": 0} | settings), space_of(words), Known())  # type: ignore[arg-type]
    found.recall(rows)
    return found


def returned(value: object, status: JobStatus = JobStatus.COMPLETED) -> JobReturn:
    job_return = JobReturn(status=status)
    job_return.return_value = value
    return job_return


@pytest.mark.parametrize(
    ("word", "distribution"),
    [
        ("a=1,b", CategoricalDistribution(["1", "b"])),
        ("a=choice(0.5,true,c)", CategoricalDistribution(["0.5", "True", "c"])),
        ("a=interval(0.5,2)", FloatDistribution(0.5, 2.0)),
        ("a=tag(log,interval(1e-4,1e-2))", FloatDistribution(1e-4, 1e-2, log=True)),
        ("a=int(interval(1,8))", IntDistribution(1, 8)),
        ("a=tag(log,int(interval(1,64)))", IntDistribution(1, 64, log=True)),
        ("a=range(1,8,3)", IntDistribution(1, 7, step=3)),
        ("a=range(8)", IntDistribution(0, 7)),
        ("a=range(0.5,2.5,0.5)", CategoricalDistribution(["0.5", "1.0", "1.5", "2.0"])),
        ("a=range(3,0,-1)", CategoricalDistribution(["3", "2", "1"])),
    ],
)
def test_what_is_tried_is_what_hydra_s_words_say(word: str, distribution: object) -> None:
    assert dict(space_of([word]).tried) == {"a": distribution}


def test_a_word_without_a_choice_is_the_same_for_all_trials_and_the_last_word_on_a_setting_counts() -> None:
    space = space_of(["game=Pong", "a=1,2", "b=1,2", "b=3", "+c=1,2"])
    assert space.fixed == ("game=Pong", "b=3") and set(space.tried) == {"a", "+c"}
    assert space.overrides({"a": "2", "+c": "1"}) == ("game=Pong", "b=3", "a=2", "+c=1")


def test_a_search_for_nothing_is_one_clear_error() -> None:
    with pytest.raises(CompactHydraException, match="nothing is to be tried: name a setting with several values"):
        space_of(["game=Pong"])


def test_every_setting_with_nothing_to_choose_from_is_named() -> None:
    words = ["a=interval(2,1)", "b=tag(log,interval(0,1))", "c=glob(*)", "d=interval(0,1)"]
    with pytest.raises(CompactHydraException, match=r"nothing to choose from:\n  a=.*low.*\n  b=.*log.*\n  c=glob.*"):
        space_of(words)


@pytest.mark.parametrize(
    ("word", "tag"),
    [
        ("a=tag(logg,interval(0.001,0.1))", "logg"),
        ("a=tag(log,x,interval(0.001,0.1))", "x"),
        ("a=tag(log,range(1,1000))", "log"),
        ("a=tag(log,choice(1,10,100))", "log"),
    ],
)
def test_a_tag_that_would_change_nothing_is_refused(word: str, tag: str) -> None:
    with pytest.raises(CompactHydraException, match=rf"a=tag.*: tag {tag}: there is one tag, log, of an interval: "):
        space_of([word])


def test_what_tells_no_job_from_another_is_not_tried() -> None:
    settings = LauncherSettings(ignored_overrides=["cluster"])
    program = Program(print, None, None, settings)  # type: ignore[arg-type]
    with pytest.raises(CompactHydraException, match=r"^cluster\.address, \+cluster cannot be tried: cluster \("):
        Trials(SearchSettings(), space_of(["a=1,2", "cluster.address=a,b", "+cluster=1,2"]), program)


def test_a_sampler_that_is_none_is_one_clear_error() -> None:
    with pytest.raises(CompactHydraException, match=r"hydra\.sweeper\.sampler=\{'seed': 0\} is no sampler of Optuna's"):
        trials(["a=1,2"], seed=None, sampler={"seed": 0})


def test_a_sampler_that_cannot_choose_or_learn_is_one_clear_error_and_what_was_returned_counts() -> None:
    class Lacking(RandomSampler):
        def sample_independent(self, *_: object) -> None:
            raise ModuleNotFoundError("No module named 'cmaes'")

    class Forgetful(RandomSampler):
        def after_trial(self, *_: object) -> None:
            raise KeyError("grid_id")

    with pytest.raises(CompactHydraException, match="Lacking, cannot choose a trial: ModuleNotFoundError: No module"):
        trials(["a=interval(0,1)"], seed=None, sampler=Lacking()).ask()
    search = trials(["a=1,2"], seed=None, sampler=Forgetful())
    overrides = search.ask() or ()
    with pytest.raises(
        CompactHydraException, match=r"Forgetful, cannot learn from a trial: KeyError: 'grid_id': give it"
    ):
        search.tell(overrides, returned(3))
    best = search.best()
    assert best is not None and (best.value, best.num_trials) == (3.0, 1)


def test_trials_are_asked_for_until_there_are_as_many_as_wanted_and_the_best_is_known_by_what_they_returned() -> None:
    search = trials(["game=Pong", "a=interval(0,1)"], n_trials=3)
    asked = []
    while (overrides := search.ask()) is not None:
        asked.append(overrides)
        search.tell(overrides, returned(float(overrides[1].partition("=")[2])))
    assert len(set(asked)) == 3 and all(overrides[0] == "game=Pong" for overrides in asked)
    best = search.best()
    assert best is not None and best.num_trials == 3
    assert best.value == best.params["a"] == max(float(overrides[1].partition("=")[2]) for overrides in asked)


def test_with_minimize_the_smallest_is_the_best() -> None:
    search = trials(["a=1,2,3,4,5,6,7,8"], n_trials=4, direction="minimize", seed=None, sampler=RandomSampler(seed=0))
    numbers = []
    while (overrides := search.ask()) is not None:
        numbers.append(int(overrides[0].partition("=")[2]))
        search.tell(overrides, returned(numbers[-1]))
    best = search.best()
    assert best is not None and best.value == min(numbers) < max(numbers)


def test_a_search_comes_closer_to_what_is_best_while_others_still_run() -> None:
    search = trials(["a=interval(0,1)"], n_trials=60)
    running: list[Sequence[str]] = []
    tried: list[float] = []
    while (overrides := search.ask()) is not None:
        running.append(overrides)
        if len(running) == 3:
            ended = running.pop(len(tried) % 3)
            tried.append(float(ended[0].partition("=")[2]))
            search.tell(ended, returned(-((tried[-1] - 0.3) ** 2)))

    def misses(numbers: Sequence[float]) -> float:
        return sum(abs(number - 0.3) for number in numbers) / len(numbers)

    assert misses(tried[-20:]) < misses(tried[:10]) / 2


@pytest.mark.parametrize(
    "job_return",
    [
        returned(None),
        returned("3"),
        returned(True),
        returned(float("nan")),
        returned(10**400),
        returned(np.bool_(True)),
        returned(np.array([1.0, 2.0])),
        returned(ValueError("no"), JobStatus.FAILED),
    ],
)
def test_a_trial_that_returned_no_number_or_failed_is_none_to_the_search(job_return: JobReturn) -> None:
    search = trials(["a=1,2"], n_trials=1)
    overrides = search.ask()
    assert overrides is not None
    search.tell(overrides, job_return)
    assert search.best() is None and search.ask() is None
    assert search.num_without_number == (job_return.status is JobStatus.COMPLETED)


@pytest.mark.parametrize("value", [np.float32(3), np.int64(3), np.array(3.0), np.array([3.0]), Fraction(3)])
def test_a_number_of_another_library_is_a_number(value: object) -> None:
    search = trials(["a=1,2"], n_trials=1)
    search.tell(search.ask() or (), returned(value))
    best = search.best()
    assert best is not None and best.value == 3.0 and search.num_without_number == 0


def test_two_trials_with_the_same_words_are_told_together() -> None:
    search = trials(["a=1,1"], n_trials=2)
    first, second = search.ask(), search.ask()
    assert first == second == ("a=1",)
    search.tell(("a=1",), returned(7))
    best = search.best()
    assert best is not None and best.num_trials == 2 and best.num_jobs == 1


def test_what_the_ledger_calls_done_counts_and_is_learned_from_and_what_was_begun_is_asked_for_first() -> None:
    rows = [
        LedgerRow(0, KEY.format(0.002), DONE, return_value="5.0"),
        LedgerRow(1, KEY.format(0.05), RUNNING),
        LedgerRow(2, KEY.format(0.01), FAILED),
        LedgerRow(3, KEY.format(0.003), DONE, return_value="9.0"),
    ]
    search = trials(["game=Pong", RATE, "kind=a,b"], *rows, n_trials=5)
    assert search.num_to_repeat == 2
    assert search.ask() == ("game=Pong", "rate=0.05", "kind=b")
    assert search.ask() == ("game=Pong", "rate=0.01", "kind=b")
    assert search.ask() is not None and search.ask() is None
    best = search.best()
    assert best is not None and (best.value, dict(best.params)) == (9.0, {"rate": 0.003, "kind": "b"})


@pytest.mark.parametrize(
    "key",
    [
        "game=Qbert rate=0.01 kind=b",
        "game=Pong rate=0.5 kind=b",
        "game=Pong rate=x kind=b",
        "game=Pong rate=0.01 kind=c",
        "game=Pong rate=0.01",
        "game=Pong rate=0.01 kind=b seed=1",
    ],
)
def test_rows_of_another_search_in_the_same_folder_are_left_alone(key: str) -> None:
    search = trials(["game=Pong", RATE, "kind=a,b"], LedgerRow(0, key, DONE, return_value="5.0"), n_trials=1)
    assert search.best() is None and search.ask() is not None


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("a=interval(0,0.05)", "a=0"),
        ("a=interval(0.5,8)", "a=2"),
        ("a=int(interval(1,8))", "a=+2"),
        ("a=range(2,9,2)", "a=3"),
        ("a=range(2,9,2)", "a=10"),
    ],
)
def test_rows_that_a_changed_space_would_not_write_are_of_another_search(word: str, key: str) -> None:
    search = trials([word], LedgerRow(0, key, DONE, return_value="5.0"), LedgerRow(1, "b=1", RUNNING), n_trials=1)
    assert search.best() is None and search.num_to_repeat == 0 and search.ask() is not None


@pytest.mark.parametrize("return_value", ["", "null", "NaN", '"text"', "[1]"])
def test_what_is_done_and_returned_no_number_counts_and_is_not_asked_for_again(return_value: str) -> None:
    row = LedgerRow(4, "a=2", DONE, return_value=return_value)
    search = Trials(SearchSettings(n_trials=2, seed=0), space_of(["a=1,2"]), Known())  # type: ignore[arg-type]
    assert search.recall([row]) == {4: ("a=2",)}
    assert (search.num_left, search.num_without_number, search.best()) == (1, 1, None)


def test_a_search_that_goes_on_does_not_draw_the_same_trials_again() -> None:
    words = ["game=Pong", RATE, "kind=b,b"]
    first = trials(words, n_trials=1).ask()
    assert first is not None
    row = LedgerRow(0, " ".join(first), DONE, return_value="1.0")
    assert trials(words, n_trials=1).ask() == first, "the seed decides"
    assert trials(words, row, n_trials=2).ask() != first


def test_a_sampler_with_a_seed_of_its_own_goes_on_with_other_trials() -> None:
    words = ["a=interval(0,1)"]
    first = [trials(words, seed=None, sampler=RandomSampler(seed=0), n_trials=1).ask() for _ in range(2)]
    assert first[0] == first[1] is not None
    row = LedgerRow(0, " ".join(first[0] or ()), DONE, return_value="1.0")
    assert trials(words, row, seed=None, sampler=RandomSampler(seed=0), n_trials=2).ask() != first[0]
