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
    # Behind a link, where renaming is within one disk, and under its name there: links elsewhere may be called alike.
    real = folder.resolve()
    prefix = f".{real.name}.{JOBS}."
    own = real.with_name(f"{prefix}{uuid.uuid4().hex}")
    if (folder / JOBS).is_dir():
        (folder / JOBS).rename(own)
    try:
        yield
    except BaseException:
        # Whoever keeps this one from the folder may have put others aside.
        if own.is_dir():
            _put_back(own, folder)
        raise
    # The folder is this start's: those too that an earlier one has left there, which was killed meanwhile.
    for aside in [path for path in real.parent.glob("*") if path.name.startswith(prefix)]:
        _put_back(aside, folder)


def _put_back(aside: Path, folder: Path) -> None:
    (folder / JOBS).mkdir(parents=True, exist_ok=True)
    for printed in aside.iterdir():
        printed.rename(folder / JOBS / printed.name)
    aside.rmdir()
