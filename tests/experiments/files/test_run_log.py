"""What a run said, with its time, behind what it said before."""

import datetime
from pathlib import Path

import pytest

from pipeline.experiments.files.run_log import LOG, log


def test_each_line_has_its_time_and_earlier_ones_stay(tmp_path: Path) -> None:
    log(tmp_path, "bundle-0 was lost · it goes on")
    log(tmp_path, "one\ntwo")
    times, said = zip(*(line.split(" ", 1) for line in (tmp_path / LOG).read_text("utf-8").splitlines()), strict=True)
    assert said == ("bundle-0 was lost · it goes on", "one", "two")
    assert all(datetime.datetime.fromisoformat(time).tzinfo is not None for time in times)


def test_a_folder_that_is_gone_is_an_oserror_for_who_is_only_shown_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=LOG):
        log(tmp_path / "gone", "a sentence")
