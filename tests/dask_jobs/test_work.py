"""What is told of a job's error."""

from dask_jobs.needs import JobFailedError
from dask_jobs.work import in_one_line


def test_an_error_is_told_in_one_line_that_any_file_takes() -> None:
    assert in_one_line(ValueError("two\n  lines")) == "ValueError: two lines"
    assert in_one_line(JobFailedError("in its own words")) == "in its own words"
    assert in_one_line(KeyError()) == "KeyError"
    # The name of a folder in Latin-1, as Python has it.
    assert in_one_line(OSError("no space in /data/f\udce9")) == "OSError: no space in /data/f\\udce9"
