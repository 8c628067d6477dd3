"""The map of the job runner, in its own docstring."""

import re
from pathlib import Path

import dask_jobs


def test_the_map_names_every_module_and_no_other() -> None:
    modules = {file.stem for file in Path(dask_jobs.__file__).parent.glob("*.py")} - {"__init__"}
    lines = [line for line in (dask_jobs.__doc__ or "").splitlines() if line.startswith("    ")]
    words = {word for line in lines for word in re.findall(r"\w+", line)}
    assert modules <= words
    assert {line.split()[0] for line in lines} <= modules
