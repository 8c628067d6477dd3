"""The jobs of a multirun that asks for its plan."""

import pytest

from pipeline.config.sweep_jobs import jobs_to_plan
from pipeline.errors import ConfigError


def test_each_combination_is_a_run_with_the_words_that_made_it() -> None:
    jobs = jobs_to_plan(["-m", "experiment=dqn,gorila", "game=Pong", "seed=0,1", "plan=true"])
    assert jobs is not None
    assert [(job.run.experiment, job.run.game, job.run.seed) for job in jobs] == [
        ("dqn", "Pong", 0),
        ("dqn", "Pong", 1),
        ("gorila", "Pong", 0),
        ("gorila", "Pong", 1),
    ]
    assert jobs[-1].overrides == ("experiment=gorila", "game=Pong", "seed=1", "plan=true")


@pytest.mark.parametrize("words", [["game=Pong", "plan=true"], ["-m", "game=Pong"], ["-m", "game=Pong", "plan=false"]])
def test_one_run_and_a_sweep_that_is_to_start_are_left_to_hydra(words: list[str]) -> None:
    assert jobs_to_plan(words) is None


def test_a_combination_without_sense_is_a_mistake_though_each_value_is_right_with_the_first_of_the_others() -> None:
    words = ["-m", "experiment=dqn,dba3c", "topology.num_lanes=8,7", "algorithm.num_steps=3", "game=Pong", "plan=true"]
    with pytest.raises(ConfigError) as caught:
        jobs_to_plan(words)
    assert caught.value.mistakes


def test_a_sweeper_that_chooses_jobs_itself_has_none_to_list() -> None:
    with pytest.raises(ConfigError, match="hydra/sweeper=ask_and_tell chooses each job when others have ended"):
        jobs_to_plan(["-m", "+sweep=optuna_example", "game=Pong", "plan=true"])
