"""`jobs/` of a run folder: what the jobs of a batch system print that are the run's hosts.

They write there before the folder is the run's: it is opened when its hosts have come.
Not here: what the run itself says (`pipeline.experiments.files.run_log`), what the files are called
(`pipeline.cluster.kinds.slurm`).
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

JOBS = "jobs"
"""Name of the folder inside a run folder."""


@contextlib.contextmanager
def jobs_kept(folder: Path) -> Iterator[None]:
    """Whatever becomes of a run folder meanwhile, its jobs' files are in it afterwards, open ones too."""
    # Behind a link, where renaming is within one disk.
    aside = folder.resolve().with_name(f".{folder.name}.{JOBS}")
    if not (folder / JOBS).is_dir():
        yield
        return
    (folder / JOBS).rename(aside)
    try:
        yield
    finally:
        folder.mkdir(parents=True, exist_ok=True)
        aside.rename(folder / JOBS)
