"""`jobs/` of a run folder: what the jobs of a batch system print that are the run's hosts.

They write there before the folder is the run's: it is opened when its hosts have come.
Not here: what the run itself says (`pipeline.experiments.files.run_log`), what the files are called
(`pipeline.cluster.kinds.slurm`).
"""

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

JOBS = "jobs"
"""Name of the folder inside a run folder."""


@contextlib.contextmanager
def jobs_kept(folder: Path) -> Iterator[None]:
    """Whatever becomes of a run folder meanwhile, its jobs' files are in it afterwards, open ones too."""
    # Behind a link, where renaming is within one disk.
    place, prefix = folder.resolve().parent, f".{folder.name}.{JOBS}."
    if (folder / JOBS).is_dir():
        (folder / JOBS).rename(place / f"{prefix}{uuid.uuid4().hex}")
    try:
        yield
    finally:
        # Those too that an earlier start has left there, which was killed meanwhile.
        for aside in [path for path in place.glob("*") if path.name.startswith(prefix)]:
            (folder / JOBS).mkdir(parents=True, exist_ok=True)
            for printed in aside.iterdir():
                printed.rename(folder / JOBS / printed.name)
            aside.rmdir()
