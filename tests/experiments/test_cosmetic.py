"""What a run only shows, failing; whole runs: `test_run`."""

import pytest

from pipeline.experiments.cosmetic import Cosmetic


def test_what_fails_is_told_of_once_for_each_thing() -> None:
    said: list[str] = []
    cosmetic = Cosmetic(said.append)
    for what in ("the bar", "the bar", "the table"):
        with cosmetic.trying(what):
            raise UnicodeEncodeError("ascii", "·", 0, 1, "ordinal not in range(128)")
    assert [sentence.partition(":")[2].split(",")[0] for sentence in said] == [" the bar failed", " the table failed"]
    assert "UnicodeEncodeError: 'ascii' codec" in said[0]


def test_where_nothing_can_be_said_nothing_ends_either() -> None:
    def say(_: str) -> None:
        raise OSError("No space left on device")

    cosmetic = Cosmetic(say)
    with cosmetic.trying("the bar"):
        raise ZeroDivisionError
    cosmetic.say("done")


def test_who_ends_the_program_ends_it() -> None:
    with pytest.raises(KeyboardInterrupt), Cosmetic(print).trying("the bar"):
        raise KeyboardInterrupt
