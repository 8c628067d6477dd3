"""Settings and options in any order, and settings with dashes, as Hydra can take them."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.config.command_line import hydra_arguments, without_dashes
from pipeline.config.overrides import compose, compose_onto
from pipeline.settings import as_settings


@pytest.mark.parametrize(
    ("typed", "for_hydra"),
    [
        ("", ""),
        ("game=Pong seed=1", "game=Pong seed=1"),
        ("game=Pong -m seed=0,1", "game=Pong seed=0,1 -m"),
        ("game=Pong --config-dir my_conf seed=1", "game=Pong seed=1 --config-dir my_conf"),
        ("game=Pong --config-dir=my_conf -m seed=1 seed=1", "game=Pong seed=1 seed=1 --config-dir=my_conf -m"),
        ("--cfg job game=Pong", "game=Pong --cfg job"),
        ("game=Pong --info", "game=Pong --info"),
        ("~logging -m game=Pong", "~logging game=Pong -m"),
        ("--info game=Pong -m", "game=Pong --info -m"),
        ("--info config game=Pong", "game=Pong --info config"),
        ("-cd a --config-dir b a -m -m", "a -cd a --config-dir b -m -m"),
        ("game=Pong -m -- seed=1", "game=Pong seed=1 -m"),
        ("results_dir=~/runs --config-dir ~/conf", "results_dir='~/runs' --config-dir ~/conf"),
    ],
)
def test_options_come_behind_settings_wherever_they_were_typed(typed: str, for_hydra: str) -> None:
    assert hydra_arguments(typed.split()) == (for_hydra.split(), [])


@pytest.mark.parametrize(
    ("typed", "for_hydra", "told"),
    [
        ("--seed 5 game=Pong", "seed=5 game=Pong", ["--seed 5: ... seed=5"]),
        ("game=Pong --seed=5", "game=Pong seed=5", ["--seed=5: ... seed=5"]),
        ("--resume game=Pong", "resume=true game=Pong", ["--resume: ... resume=true"]),
        ("--resume ~logging +sweep=smoke", "resume=true ~logging +sweep=smoke", ["--resume: ... resume=true"]),
        ("--experiment dqn -s 5", "experiment=dqn s=5", ["--experiment dqn: ... experiment=dqn", "-s 5: ... s=5"]),
        ("game=Pong --seed -1", "game=Pong seed=-1", ["--seed -1: ... seed=-1"]),
        ("-m --seed 1 --resume", "seed=1 resume=true -m", ["--seed 1: ... seed=1", "--resume: ... resume=true"]),
        ("--env-id Pong -x", "game=Pong x=true", ["--env-id Pong: ... game=Pong", "-x: ... x=true"]),
    ],
)
def test_a_setting_with_dashes_is_told_as_it_should_have_been_written(
    typed: str, for_hydra: str, told: list[str]
) -> None:
    lines = [line.replace("...", "settings are written without dashes:") for line in told]
    assert hydra_arguments(typed.split()) == (for_hydra.split(), lines)


def test_words_of_other_libraries_have_the_names_that_they_have_here() -> None:
    assert without_dashes("--learning-starts=1000") == "replay.min_transitions=1000"
    assert without_dashes("--optimizer.learning-rate 1e-4") == "optimizer.learning_rate=1e-4"


def test_a_command_tells_of_dashes_beside_all_other_mistakes_and_takes_options_behind_settings() -> None:
    command = [sys.executable, "-m", "pipeline.train", "experiment=dqn"]
    wrong = subprocess.run([*command, "--seed", "5", "game=Pongg"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.splitlines()[1:] == [
        "  1. --seed 5: settings are written without dashes: seed=5",
        "  2. game=Pongg: no such game; did you mean Pong?",
    ]
    shown = subprocess.run([*command, "--cfg", "job", "seed=7"], capture_output=True, text=True, check=False)
    assert shown.returncode == 0 and "seed: 7" in shown.stdout.splitlines(), shown.stderr


def test_a_path_in_the_home_is_taken_as_no_shell_has_put_it_there() -> None:
    words = ["experiment=dqn", "game=Pong", "results_dir=~/runs"]
    shown = subprocess.run(
        [sys.executable, "-m", "pipeline.train", *words, "--cfg", "job"], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0 and "results_dir: ~/runs" in shown.stdout.splitlines(), shown.stderr
    assert compose(words).folder == Path.home() / "runs" / "dqn" / "Pong" / "0"
    saved = as_settings(compose(words[:2]))
    assert (
        compose_onto(saved, ["evaluation.start_states=~/points"], ("evaluation",)).evaluation.start_states == "~/points"
    )
