"""The trials of a search: Optuna chooses each by what all that have ended returned, while others still run.

The ledger is all that is kept: a search that goes on learns from it what was tried, and tries again first what was
begun and not done.
Not here: running trials (`sweep`), the settings (`search_settings`).
"""

import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import optuna
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep, Sweep
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import CompactHydraException, HydraException
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial, TrialState

from dask_jobs.job import Program, plain
from dask_jobs.ledger import DONE, LedgerRow
from dask_jobs.search_settings import SearchSettings
from dask_jobs.work import in_one_line

_LOG = "log"


class Space(NamedTuple):
    """What is the same for all trials, and what is tried."""

    fixed: tuple[str, ...]
    """Overrides."""
    tried: Mapping[str, BaseDistribution]
    """By setting."""

    def overrides(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Of the trial with these values."""
        return (*self.fixed, *(f"{name}={values[name]}" for name in self.tried))


class Best(NamedTuple):
    """The best trial of those that returned a number."""

    value: float
    params: Mapping[str, Any]
    num_trials: int
    """That have returned one."""
    num_jobs: int
    """Different ones among them: a sampler may choose the same values again, and no job is run twice for that."""


class Trials:
    """A `JobSource`: asked for the next trial, told what became of one."""

    def __init__(self, settings: SearchSettings, space: Space, program: Program) -> None:
        """Raises CompactHydraException for a sampler that is none, and what is tried and tells no job from another."""
        if untold := [name for name in space.tried if not program.key((f"{name}=",))]:
            raise CompactHydraException(
                f"{', '.join(untold)} cannot be tried: {', '.join(program.settings.ignored_overrides)} "
                "(hydra.launcher.ignored_overrides) tell no job from another, and all trials would be one; try "
                "something else"
            )
        self._settings = settings
        self._sampler = _sampler_of(settings)
        self._space = space
        self._program = program
        self._study: optuna.Study | None = None
        self._asked: dict[tuple[str, ...], list[Trial]] = {}
        """By overrides, those that have not been told of."""
        self._is_exhausted = False
        self._without_number: set[tuple[str, ...]] = set()
        """By overrides, jobs that are done."""
        self.num_to_repeat = 0

    @property
    def num_left(self) -> int:
        """See `JobSource`."""
        assert self._study is not None, "first the ledger is recalled"
        num_asked = len(self._study.get_trials(deepcopy=False)) - self._num_enqueued()
        return 0 if self._is_exhausted else max(self._settings.n_trials - num_asked, 0)

    @property
    def num_without_number(self) -> int:
        """Jobs that are done and returned no number."""
        return len(self._without_number)

    def recall(self, rows: Sequence[LedgerRow]) -> Mapping[int, Sequence[str]]:
        """See `JobSource`. Rows of other searches that share the folder are left alone."""
        known = [(row, values) for row in rows if (values := self._values_in(row.overrides)) is not None]
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        if known:
            # With the seed of the earlier command it would draw once more what that has tried.
            self._sampler.reseed_rng()
        self._study = optuna.create_study(direction=self._settings.direction, sampler=self._sampler)
        done: dict[int, Sequence[str]] = {}
        for row, values in known:
            if row.status != DONE:
                self._study.enqueue_trial(dict(values))
                self.num_to_repeat += 1
                continue
            overrides = done[row.job] = self._space.overrides(values)
            value = _number(row.return_value)
            state, tried = self._state_of(overrides, value), dict(self._space.tried)
            self._study.add_trial(
                optuna.create_trial(state=state, params=dict(values), distributions=tried, value=value)
            )
        return done

    def ask(self) -> Sequence[str] | None:
        """See `JobSource`."""
        assert self._study is not None, "first the ledger is recalled"
        if self.num_left == 0:
            return None
        try:
            trial = self._study.ask(dict(self._space.tried))
        except Exception as error:  # a sampler may be anybody's, lack a package, or not know such a space
            raise self._broken("choose a trial", error) from error
        overrides = self._space.overrides(trial.params)
        self._asked.setdefault(overrides, []).append(trial)
        return overrides

    def tell(self, overrides: Sequence[str], job_return: JobReturn) -> None:
        """See `JobSource`. Whatever is no number is a failure to the sampler, which does without it."""
        assert self._study is not None, "first the ledger is recalled"
        value, state = None, TrialState.FAIL
        if job_return.status is JobStatus.COMPLETED:
            value = _as_number(job_return.return_value)
            state = self._state_of(overrides, value)
        for trial in self._asked.pop(tuple(overrides), []):
            try:
                self._study.tell(trial, value, state)
            except Exception as error:
                # A sampler that has tried all there is says so, which Optuna takes amiss outside of its own loop.
                if not (isinstance(error, RuntimeError) and "Study.stop" in str(error)):
                    raise self._broken("learn from a trial", error) from error
                self._is_exhausted = True

    def best(self) -> Best | None:
        """None: no trial has returned a number, or the search did not get as far as the ledger."""
        if self._study is None:
            return None
        ended = self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if not ended:
            return None
        different = {self._space.overrides(trial.params) for trial in ended}
        return Best(self._study.best_value, self._study.best_params, len(ended), len(different))

    def _num_enqueued(self) -> int:
        assert self._study is not None
        return len(self._study.get_trials(deepcopy=False, states=(TrialState.WAITING,)))

    def _state_of(self, overrides: Sequence[str], value: float | None) -> TrialState:
        """Of a trial that is done, and returned this; without a number it counts, and is a failure to the sampler."""
        if value is None:
            self._without_number.add(tuple(overrides))
        return TrialState.FAIL if value is None else TrialState.COMPLETE

    def _broken(self, what: str, error: Exception) -> CompactHydraException:
        return CompactHydraException(
            f"the sampler of this search, {type(self._sampler).__name__}, cannot {what}: {in_one_line(error)}: give it "
            "what it wants, or name another by hydra.sweeper.sampler"
        )

    def _values_in(self, overrides: str) -> Mapping[str, Any] | None:
        """The values of a trial, of the words that the ledger knows a job by; None if it is no trial of this space."""
        marks = {name: f"<{i}>" for i, name in enumerate(self._space.tried)}
        pattern = re.escape(self._program.key(self._space.overrides(marks)))
        for mark in marks.values():
            pattern = pattern.replace(re.escape(mark), "(.*?)")
        if (found := re.fullmatch(pattern, overrides)) is None:
            return None
        values: dict[str, Any] = {}
        for (name, distribution), text in zip(self._space.tried.items(), found.groups(), strict=True):
            if (value := _value_in(text, distribution)) is None:
                return None
            values[name] = value
        # In other words than ours it would be another job: "rate=0" where a number between two is written "rate=0.0".
        return values if self._program.key(self._space.overrides(values)) == overrides else None


def space_of(words: Sequence[str]) -> Space:
    """The space that overrides in Hydra's words span; one that is no sweep is the same for all trials.

    Of a setting that is named twice the last word counts. Raises CompactHydraException for words that are no space.
    """
    by_name = {word.get_key_element(): word for word in OverridesParser.create().parse_overrides(list(words))}
    fixed = [str(word.input_line) for word in by_name.values() if not word.is_sweep_override()]
    tried, mistakes = {}, []
    for name, word in by_name.items():
        try:
            if word.is_sweep_override():
                tried[name] = _distribution(word)
        except (ValueError, HydraException) as error:
            # Optuna's words for bounds in the wrong order, Hydra's for what it has no list of.
            mistakes.append(f"  {word.input_line}: {' '.join(str(error).split())}")
    if mistakes:
        raise CompactHydraException("the search has nothing to choose from:\n" + "\n".join(mistakes))
    if not tried:
        raise CompactHydraException(
            "nothing is to be tried: name a setting with several values, e.g. optimizer.learning_rate='tag(log, "
            "interval(0.0001, 0.001))', or leave out hydra/sweeper=ask_and_tell"
        )
    return Space(tuple(fixed), tried)


def _sampler_of(settings: SearchSettings) -> optuna.samplers.BaseSampler:
    given = settings.sampler
    if given is None:
        with warnings.catch_warnings():
            # That `constant_liar` may change one day is nothing that users can do anything about.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return optuna.samplers.TPESampler(seed=settings.seed, constant_liar=True)
    if isinstance(given, optuna.samplers.BaseSampler):
        return given
    raise CompactHydraException(
        f"hydra.sweeper.sampler={given} is no sampler of Optuna's: it has to be a node with _target_, e.g. "
        "hydra.sweeper.sampler='{_target_:optuna.samplers.RandomSampler,seed:0}'"
    )


def _distribution(word: Override) -> BaseDistribution:
    """Raises ValueError, or whatever Hydra raises, for words that are none."""
    value = word.value()
    known = {_LOG} if isinstance(value, IntervalSweep) else set()
    if isinstance(value, Sweep) and (unknown := value.tags - known):
        raise ValueError(
            f"tag {', '.join(sorted(unknown))}: there is one tag, {_LOG}, of an interval: "
            f"tag({_LOG},interval(0.001,0.1)), tag({_LOG},int(interval(1,1000)))"
        )
    match value:
        case IntervalSweep(start=int(low), end=int(high), tags=tags):
            return IntDistribution(low, high, log=_LOG in tags)
        case IntervalSweep(start=low, end=high, tags=tags):
            assert low is not None and high is not None, "Hydra's parser wants both"
            return FloatDistribution(low, high, log=_LOG in tags)
        case RangeSweep(start=int(low), stop=int(end), step=int(step)) if step > 0 and low < end:
            # A range ends before its end.
            return IntDistribution(low, low + (end - 1 - low) // step * step, step=step)
    return CategoricalDistribution(list(dict.fromkeys(word.sweep_string_iterator())))


def _value_in(text: str, distribution: BaseDistribution) -> Any:
    """None: the distribution has no such value."""
    if isinstance(distribution, CategoricalDistribution):
        return text if text in distribution.choices else None
    try:
        value = int(text) if isinstance(distribution, IntDistribution) else float(text)
    except ValueError:
        return None
    assert isinstance(distribution, IntDistribution | FloatDistribution)
    is_on_a_step = not isinstance(distribution, IntDistribution) or (value - distribution.low) % distribution.step == 0
    return value if distribution.low <= value <= distribution.high and is_on_a_step else None


def _number(return_value: str) -> float | None:
    """Of what a ledger keeps; None if it is no number."""
    return _as_number(json.loads(return_value)) if return_value else None


def _as_number(value: object) -> float | None:
    try:
        number = value if isinstance(value, int | float) else plain(value)
        is_one = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
        return float(number) if is_one else None
    except Exception:  # what libraries raise for what is no single number; an integer beyond all floats
        return None
