"""Which studies `python -m studies` runs."""

from pathlib import Path

import studies
from studies import __main__


def test_every_module_with_a_command_of_its_own_can_be_named() -> None:
    folder = Path(studies.__file__).parent
    files = [file for file in folder.rglob("*.py") if '__name__ == "__main__"' in file.read_text()]
    commands = {".".join(file.relative_to(folder).with_suffix("").parts) for file in files}
    assert commands - {"__main__"} == set(__main__.NAMES)
