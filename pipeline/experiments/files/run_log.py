"""`log.txt` of a run folder: what the run said, with the time, for who was not there to read it.

Not here: rows, which are what a run found (`pipeline.experiments.files.run_folder`).
"""

import datetime
from pathlib import Path

LOG = "log.txt"
"""Name of the file inside a run folder."""


def log(folder: Path, sentence: str) -> None:
    """Add a sentence, a line each, behind what earlier starts said. Raises OSError if the disk refuses it."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with (folder / LOG).open("a", encoding="utf-8") as file:
        file.writelines(f"{now} {line}\n" for line in sentence.splitlines())
