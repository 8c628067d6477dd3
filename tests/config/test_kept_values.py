"""What stays of an experiment beside an option that was typed."""

from pathlib import Path

import pytest

from pipeline.config.kept_values import kept_values
from pipeline.config.overrides import check_command_line
from tests.conftest import OWN


def told(words: str, config_dir: Path | None = None) -> list[str]:
    """What is said of a command line without mistakes, with files of a user's own or without."""
    lines: list[str] = []
    own = [] if config_dir is None else ["--config-dir", str(config_dir)]
    assert check_command_line([*own, *words.split()], lines.append) == []
    return lines


def test_only_values_that_both_have_and_nobody_typed_are_told() -> None:
    lines = kept_values(
        {"optimizer": "optimizer=rmsprop", "replay": "replay=none", "network": "network=nature"},
        {"optimizer": {"rate": 1.0, "epsilon": 2.0, "beta": 3.0, "decay": 4.0}, "replay": None, "network": {"a": 1}},
        {"optimizer": {"rate": 0.5, "epsilon": 0.25, "decay": 4.0}, "replay": None, "network": {"a": 1}},
        {"optimizer.rate"},
        "experiment=mine",
    )
    assert lines == ["optimizer=rmsprop keeps epsilon=2.0 of experiment=mine (by itself: 0.25)"]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("experiment=gorila_quick game=Pong", []),
        ("experiment=gorila_quick game=Pong optimizer=rmsprop optimizer.epsilon=1e-5", []),
        (
            "experiment=gorila_quick game=Pong optimizer=rmsprop",
            ["optimizer=rmsprop keeps epsilon=1e-08 of experiment=gorila_quick (by itself: 9.765625e-06)"],
        ),
        (
            "experiment=smoke_gorila game=Pong evaluation=sticky network=nature",
            ["network=nature keeps hidden_units=16 of experiment=smoke_gorila (by itself: 512)"],
        ),
        (
            "-m experiment=gorila_quick game=Pong,Alien optimizer=adam,rmsprop results_dir=x/${optimizer.kind}",
            [
                "optimizer=adam keeps learning_rate=0.00025, epsilon=1e-08 of experiment=gorila_quick "
                "(by itself: 0.0001, 0.00015)",
                "optimizer=rmsprop keeps epsilon=1e-08 of experiment=gorila_quick (by itself: 9.765625e-06)",
            ],
        ),
    ],
)
def test_a_command_line_hears_of_each_once(words: str, lines: list[str]) -> None:
    assert told(words) == lines


def test_what_an_experiment_sets_can_be_taken_away_where_the_option_lacks_it(own_package: None) -> None:
    assert check_command_line("experiment=gorila_quick game=Pong optimizer=adagrad ~optimizer.epsilon".split()) == [
        "~optimizer.epsilon: a run needs optimizer.epsilon"
    ]
    line = "experiment=gorila_quick game=Pong optimizer=lion optimizer.learning_rate=1e-4"
    words = ["--config-dir", str(OWN / "conf"), *line.split()]
    (mistake,) = check_command_line(words)
    assert "or ~optimizer.epsilon takes it away" in mistake
    assert check_command_line([*words, "~optimizer.epsilon"]) == []


def test_what_has_no_value_by_itself_is_not_told_and_interpolations_are_followed(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    text = "# @package _global_\ndefaults:\n  - dqn\n  - override /network: module\n  - _self_\n"
    more = "network:\n  class: tests.networks.modules.Values\nenvironment:\n  min_frame_skip: 4\n"
    (tmp_path / "experiment" / "own.yaml").write_text(text + more)
    assert told("experiment=own game=Pong network=module environment=nature", tmp_path) == []


def test_an_interpolation_of_what_the_remark_has_not_costs_the_remark_and_not_the_command(tmp_path: Path) -> None:
    for group, text in {
        "experiment": "# @package _global_\ndefaults:\n  - dqn\n  - _self_\nresults_dir: runs/${game}\n",
        "cluster": "defaults:\n  - slurm\n  - _self_\nlog_dir: /scratch/${experiment}\n",
    }.items():
        (tmp_path / group).mkdir()
        (tmp_path / group / "mine.yaml").write_text(text)
    assert told("experiment=mine game=Pong optimizer=adam", tmp_path) == []
    assert told("experiment=dqn game=Pong cluster=mine", tmp_path) == []


def test_a_setting_that_only_the_file_of_an_option_has_is_told_of_that_file(tmp_path: Path) -> None:
    (tmp_path / "optimizer").mkdir()
    (tmp_path / "optimizer" / "own.yaml").write_text("defaults:\n  - adam\n  - _self_\nbetta2: 0.9\n")
    words = ["--config-dir", str(tmp_path), "experiment=dqn", "optimizer=own", "game=Pong"]
    (line,) = check_command_line(words)
    assert line == (
        "optimizer.betta2: no such setting; did you mean optimizer.beta2?; the file of optimizer=own sets it: mend it "
        "there"
    )
