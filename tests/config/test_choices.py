"""Words of a command line as choices, and jobs numbered as Hydra's own sweeper numbers them."""

from pathlib import Path

import pytest
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from pipeline.config.choices import all_jobs, of_sweep_file, read_choices, text_of
from pipeline.config.composition import Files
from pipeline.config.overrides import check_command_line

FILES = Files()
OF_SMOKE = "experiment=smoke_gorila,smoke_dba3c"


def jobs_of(*words: str) -> list[tuple[str, ...]]:
    parsed, mistakes = read_choices(words, FILES, multirun=True)
    assert mistakes == []
    return [tuple(map(text_of, job)) for job in all_jobs(parsed, of_sweep_file(parsed, FILES, words)[0])]


@pytest.mark.parametrize(
    ("typed", "of_file"),
    [
        (["game=Pong,Breakout", "seed=range(0,3)"], []),
        (["+sweep=smoke", "game=Pong,Breakout", "seed=1,2"], [OF_SMOKE, "game=Alien"]),
        (["+sweep=smoke", "seed=1,2", "game=Pong", "experiment=dqn"], [OF_SMOKE, "game=Alien"]),
        (["game=Pong", "seed=0,1", "game=Breakout"], []),
        (["environment=ba3c", "environment@evaluation.environment=ba3c", "game=Pong", "seed=0,1"], []),
    ],
)
def test_jobs_stand_in_the_order_in_which_hydra_numbers_them(typed: list[str], of_file: list[str]) -> None:
    words = [word for word in typed if not word.startswith("+sweep=")]
    (expected,) = BasicSweeper.split_arguments(OverridesParser.create().parse_overrides(of_file + words), None)
    assert jobs_of(*typed) == [tuple(job) for job in expected]


def test_a_word_without_a_sweep_is_its_only_choice_and_one_about_hydra_is_none() -> None:
    parsed, _ = read_choices(["seed=1,2", "game=Pong", "hydra/launcher=dask"], FILES, multirun=True)
    assert [[text_of(choice) for choice in choices] for choices in parsed] == [["seed=1", "seed=2"], ["game=Pong"]]


def test_an_interval_is_no_list_of_values() -> None:
    (mistake,) = check_command_line(["-m", "game=Pong", "optimizer.learning_rate=interval(0,1)"])
    assert mistake == (
        "optimizer.learning_rate=interval(0,1): an interval is for a search, which chooses in it: add "
        "hydra/sweeper=ask_and_tell hydra/launcher=dask, or list values"
    )
    (mistake,) = check_command_line(["game=Pong", "optimizer.learning_rate=interval(0.1,1)"])
    assert "several values need --multirun (-m)" in mistake


def test_both_ends_of_an_interval_that_a_search_is_given_are_checked() -> None:
    search = ["-m", "game=Pong", "hydra/sweeper=ask_and_tell", "results_dir='x/${optimizer.learning_rate}'"]
    assert check_command_line([*search, "optimizer.learning_rate=tag(log, interval(1e-5,1e-3))"]) == []
    assert check_command_line([*search, "optimizer.learning_rate=interval(-0.9,1)"]) == [
        "optimizer.learning_rate=-0.9 must be positive"
    ]
    assert "would share the folder" in check_command_line([*search[:3], "optimizer.learning_rate=interval(1,2)"])[0]
    assert check_command_line([*search, "optimizer.lerning_rate=interval(1,2)"])[0] == (
        "optimizer.lerning_rate=1.0: no such setting; did you mean optimizer.learning_rate?"
    )


def test_an_interval_of_a_setting_of_whole_numbers_has_to_be_one_of_whole_numbers() -> None:
    search = ["-m", "game=Pong", "hydra/sweeper=ask_and_tell", "results_dir='x/${seed}'"]
    assert check_command_line([*search, "seed=interval(0,5)"]) == ["seed=0.5: an integer is expected"]
    assert check_command_line([*search, "seed=int(interval(0,5))"]) == []


def test_a_misspelt_sweep_beside_an_interval_is_told_once() -> None:
    words = ["-m", "+sweep=atari94", "optimizer.learning_rate=interval(1e-5,1e-3)", "results_dir='x/${optimizer}'"]
    assert check_command_line(words) == ["+sweep=atari94: no such sweep; did you mean atari49?"]


def test_a_file_with_an_interval_and_no_search_is_refused_as_words_are(tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    text = "# @package _global_\nhydra:\n  sweeper:\n    params:\n      optimizer.learning_rate: interval(0.1, 0.2)\n"
    (tmp_path / "sweep" / "mine.yaml").write_text(text)
    words = ["--config-dir", str(tmp_path), "-m", "+sweep=mine", "game=Pong"]
    (mistake,) = check_command_line(words)
    assert mistake.startswith("optimizer.learning_rate=interval(0.1, 0.2): an interval is for a search")
    searched = [*words, "hydra/sweeper=ask_and_tell", "results_dir='x/${optimizer.learning_rate}'"]
    assert check_command_line(searched) == []
