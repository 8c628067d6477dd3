"""Whole searches of a small program: which trials run beside which, what is told of the best, what a kill leaves."""

import time
from pathlib import Path

import pytest
import yaml

from dask_jobs.ledger import DONE, RUNNING
from tests.clusters import wait_until
from tests.dask_jobs.programs import Program

ASK = "hydra/sweeper=ask_and_tell"
EACH_ONCE = "hydra.sweeper.sampler={_target_:optuna.samplers.BruteForceSampler,seed:0}"


def at(scheduler_address: str) -> tuple[str, ...]:
    """Words that have the hosts of this scheduler used, both of them."""
    return ASK, f"hydra.launcher.address={scheduler_address}", "hydra.launcher.num_hosts=2"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def numbers(program: Program) -> list[float]:
    """That trials have returned, in the order of the ledger."""
    return [float(row.return_value) for row in program.all_rows() if row.return_value]


@pytest.mark.slow
def test_a_search_runs_its_trials_and_tells_of_the_best(program: Program, scheduler_address: str) -> None:
    words = ("+kind=number", "+number=interval(0,1)", "hydra.sweeper.n_trials=5", "hydra.sweeper.direction=minimize")
    ended = program.run(*words, "hydra.sweeper.seed=0", *at(scheduler_address))
    assert ended.status == 0, ended.output
    rows = program.all_rows()
    assert "1 waiting · 4 to come in " in ended.output
    assert [row.status for row in rows] == [DONE] * 5 and len(set(numbers(program))) == 5
    found = yaml.safe_load((program.folder / "sweep/optimization_results.yaml").read_text())
    assert found == {
        "best_value": min(numbers(program)),
        "best_params": {"+number": min(numbers(program))},
        "num_trials": 5,
        "fixed": ["+kind=number"],
    }
    assert f"best of 5 trials: {min(numbers(program)):g} with +number=" in ended.output
    assert "5 done" in ended.output


@pytest.mark.slow
def test_no_trial_waits_for_another(program: Program, scheduler_address: str) -> None:
    kinds = "+kind=waits,plain,tells,reports"
    with program.start(
        kinds, EACH_ONCE, "hydra.sweeper.n_trials=4", "hydra.sweeper.n_jobs=2", *at(scheduler_address)
    ) as run:
        wait_until(lambda: [row.status for row in program.all_rows()].count(DONE) == 3, "all others are done")
        assert program.rows()["waits"].status == RUNNING
        (program.folder / "go").touch()
        output, _ = run.communicate()
    assert run.returncode == 0, output
    assert "best of" not in output, "none returned a number"


@pytest.mark.slow
def test_no_more_run_at_once_than_are_wanted(program: Program, scheduler_address: str) -> None:
    words = ("+kind=number_when_told", "+number=1,2,3", EACH_ONCE, "hydra.sweeper.n_trials=3", "hydra.sweeper.n_jobs=2")
    with program.start(*words, *at(scheduler_address)) as run:
        program.wait_for(lambda events: len(events) == 2, "two run")
        assert [row.status for row in program.all_rows()] == [RUNNING] * 2, "the third is not even chosen"
        (program.folder / "go").touch()
        run.communicate()
    assert sorted(numbers(program)) == [1, 2, 3]


@pytest.mark.slow
def test_trials_that_were_left_run_no_more_at_once_than_are_wanted_now(
    program: Program, scheduler_address: str
) -> None:
    words = ("+kind=number_when_told", "+number=1,2", EACH_ONCE, "hydra.sweeper.n_trials=2")
    at_hosts = (*at(scheduler_address), "hydra.launcher.stop_seconds=1")
    with program.start(*words, "hydra.sweeper.n_jobs=2", *at_hosts) as run:
        program.wait_for(lambda events: len(events) == 2, "two run")
        run.kill()
        run.communicate()
    with program.start(*words, "hydra.sweeper.n_jobs=1", *at_hosts) as run:
        program.wait_for(lambda events: len(events) == 3, "one of them runs again")
        time.sleep(1.0)
        program.wait_for(lambda events: len(events) == 3, "the other one waits")
        (program.folder / "go").touch()
        run.communicate()
    assert sorted(numbers(program)) == [1, 2]


@pytest.mark.slow
def test_a_trial_that_fails_ends_the_command_with_its_error_when_all_have_ended(
    program: Program, scheduler_address: str
) -> None:
    words = ("+kind=raises,number", "+number=3", EACH_ONCE, "hydra.sweeper.n_trials=2", "hydra.launcher.retries=0")
    ended = program.run(*words, *at(scheduler_address))
    assert ended.status == 1 and "ValueError: no such\nluck" in ended.output
    assert "best of 1 trials: 3 with +kind=number" in ended.output


@pytest.mark.slow
def test_a_search_that_was_killed_goes_on_with_the_trial_that_was_begun(
    program: Program, scheduler_address: str
) -> None:
    words = ("+kind=number_when_told", "+number=interval(0,1)", "hydra.sweeper.n_trials=2", "hydra.sweeper.n_jobs=1")
    no_patience = "hydra.launcher.stop_seconds=1"
    with program.start(*words, *at(scheduler_address), no_patience) as run:
        program.wait_for(lambda events: bool(events), "the first trial runs")
        run.kill()
        run.communicate()
    (begun,) = program.all_rows()
    assert begun.status == RUNNING
    (program.folder / "go").touch()
    again = program.run(*words, *at(scheduler_address), no_patience)
    assert again.status == 0 and "best of 2 trials" in again.output, again.output
    assert "1 waiting · 1 to come in " in again.output
    first, second = program.all_rows()
    assert (first.overrides, first.status, first.attempts) == (begun.overrides, DONE, 2)
    assert second.attempts == 1 and second.overrides != first.overrides
    more = program.run(*words, *at(scheduler_address), "hydra.sweeper.n_trials=3")
    assert "2 done · 1 waiting in " in more.output and "best of 3 trials" in more.output
    third = program.run(*words, *at(scheduler_address))
    assert third.status == 0 and "3 jobs are done already" in third.output and "best of 3 trials" in third.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("+number=1",), "nothing is to be tried"),
        (("+number=1,2", "hydra.sweeper.n_trials=0"), "hydra.sweeper.n_trials=0 must be at least 1"),
        (("+number=1,2", "hydra/launcher=basic"), "hydra/sweeper=ask_and_tell needs hydra/launcher=dask"),
        (("+number=1,2", "hydra.sweep.dir=program.py"), "no ledger can be kept in"),
        (
            ("+number=1,2", "hydra.sweeper.sampler=optuna.samplers.RandomSampler"),
            "hydra.sweeper.sampler=optuna.samplers.RandomSampler is no sampler of Optuna's: it has to be a node",
        ),
        (
            ("+number=interval(0,1)", EACH_ONCE),
            "the sampler of this search, BruteForceSampler, cannot choose a trial: ValueError",
        ),
    ],
)
def test_what_cannot_be_searched_is_one_clear_error(program: Program, words: tuple[str, ...], sentence: str) -> None:
    ended = program.run(ASK, "+kind=number", *words)
    assert ended.status == 1 and sentence in ended.output and "Traceback" not in ended.output
