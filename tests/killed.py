"""A process that is killed while it writes a file whole, and what it leaves behind."""

import subprocess
import sys
from pathlib import Path

_WRITES = """
import os, signal, sys
from pathlib import Path
from pipeline.whole_file import whole_file

with whole_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_while_writing(path: Path) -> Path:
    """The one file that is left beside `path`, which is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = set(path.parent.iterdir())
    subprocess.run([sys.executable, "-c", _WRITES, str(path)], check=False)
    (left,) = set(path.parent.iterdir()) - before
    assert left.read_bytes() == b"half" and not path.exists()
    return left
