"""Words of a command line as a dataclass; every mistake at once."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.config.arguments import parse_words
from pipeline.errors import ConfigError


@dataclass(frozen=True)
class Wanted:
    """One field of each type."""

    run: Path | None = None
    """Folder of a run,
    or of nothing."""
    agent: str = "best"
    count: int = 3
    fps: float | None = 2.5
    overlay: bool = False

    def mistakes(self) -> list[str]:
        found = ["run is missing"] if self.run is None else []
        return found + ([f"count={self.count} must be positive"] if self.count <= 0 else [])


@dataclass(frozen=True)
class Plain:
    """Says nothing about itself."""

    seed: int = 0


def mistakes(*words: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_words(Wanted, words)
    return list(caught.value.mistakes)


def test_words_become_values_of_the_declared_types() -> None:
    words = ["run=a/b", "agent=x=y", "count=-0", "fps=15", "overlay=True"]
    with pytest.raises(ConfigError, match="count=0 must be positive"):
        parse_words(Wanted, words)
    words[2] = "count=7"
    assert parse_words(Wanted, words) == Wanted(Path("a/b"), "x=y", 7, 15.0, True)
    assert parse_words(Wanted, ["run=a", "fps=null"]) == Wanted(run=Path("a"), fps=None)
    assert parse_words(Plain, ["seed=4"]) == Plain(4)


def test_every_mistake_is_told_at_once() -> None:
    assert mistakes("rnu=a", "watch", "count=0", "fps=fast", "overlay=yes", "agent=", "agent=a", "agent=b") == [
        "rnu=a: no such setting; did you mean run?",
        "'watch' is not understood: settings are given as name=value",
        "fps=fast: must be a number",
        "overlay=yes: must be true or false",
        "agent=: must be a word",
        "agent=b: agent is given twice",
        "count=0 must be positive",
    ]


def test_a_setting_given_as_a_flag_is_told_how_it_is_written() -> None:
    assert mistakes("--run", "my_folder")[:2] == [
        "'--run' is not understood: settings are given as run=VALUE",
        "'my_folder' is not understood: settings are given as name=value",
    ]


def test_a_value_may_be_quoted_as_the_training_s_words_are() -> None:
    assert parse_words(Wanted, ["run='my runs/gorila'", 'count="4"']) == parse_words(
        Wanted, ["run=my runs/gorila", "count=4"]
    )


def test_what_is_missing_is_told_where_nothing_else_is_wrong() -> None:
    assert mistakes() == ["run is missing"]
    assert mistakes("count=2.5") == ["count=2.5: must be a whole number"]
    assert mistakes("agent=null", "run=", "count=null")[1:] == ["count=null: must be a whole number"]


def test_help_tells_what_the_command_does_and_what_each_setting_means(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_words(Wanted, ["count=many", "--help"])
    assert not ended.value.code
    assert capsys.readouterr().out.splitlines() == [
        "Words of a command line as a dataclass; every mistake at once.",
        "",
        "settings:",
        "  run=null",
        "      Folder of a run,",
        "      or of nothing.",
        "  agent=best",
        "  count=3",
        "  fps=2.5",
        "  overlay=false",
    ]
