"""The help of `pipeline.train`: every group and option, and the run that its words make."""

from pathlib import Path

import pytest

from pipeline.config.composition import Files
from pipeline.config.help_text import help_text
from pipeline.errors import ConfigError


def told(*words: str) -> str:
    text = help_text(words)
    assert text is not None
    return text


def test_all_options_of_all_groups_are_named() -> None:
    lines = told("--help").splitlines()
    for group in ("algorithm", "cluster", "experiment", "sweep", "topology"):
        assert f"{group}: {', '.join(Files().options(group))}" in lines


def test_the_run_is_shown_that_the_other_words_make() -> None:
    assert "\nseed: 3\n" in told("--help", "seed=3", "experiment=dqn") and "\n  kind: single\n" in told(
        "-h", "experiment=dqn"
    )


def test_files_of_one_s_own_are_named_too(tmp_path: Path) -> None:
    (tmp_path / "optimizer").mkdir()
    (tmp_path / "optimizer" / "lion.yaml").write_text("kind: mine.Lion\n")
    assert "lion" in told("--help", "--config-dir", str(tmp_path))
    with pytest.raises(ConfigError, match="no such folder"):
        help_text(["--help", "--config-dir", str(tmp_path / "gone")])


def test_a_wrong_word_is_an_error_and_no_help() -> None:
    with pytest.raises(ConfigError, match="gorrila"):
        help_text(["--help", "experiment=gorrila"])


@pytest.mark.parametrize("words", [["game=Pong"], ["--help", "-cp", "elsewhere"], ["--hydra-help"]])
def test_without_a_wish_for_it_or_with_files_elsewhere_there_is_none(words: list[str]) -> None:
    assert help_text(words) is None
