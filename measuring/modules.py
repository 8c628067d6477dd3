"""`python -m <package> NAME ...`: modules of a package, each in a process of its own, one after the other.

So that none meets another's threads or memory. Their JSON lines go to the terminal, and with --out to the end of a file
as well. Not here: which modules there are (`benchmarks.__main__`, `studies.__main__`).
"""

import argparse
import contextlib
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple


class Modules(NamedTuple):
    """What can be run of a package."""

    package: str
    names: tuple[str, ...]
    """Modules, as they are called below the package: "guards", "dba3c.scaling"."""
    by_default: tuple[str, ...] = ()
    """Those that run when none is named; without any, one has to be."""

    def command(self, name: str) -> list[str]:
        """What runs one of them."""
        return [sys.executable, "-m", f"{self.package}.{name}"]


def run_modules(
    modules: Modules, arguments: Sequence[str] | None, command: Callable[[str], list[str]] | None = None
) -> int:
    """Run those that the `arguments` name; the exit status is that of the first that fails. `command` is for tests."""
    names, out = _parsed(modules, arguments)
    with contextlib.ExitStack() as stack:
        file = None if out is None else stack.enter_context(out.open("a", encoding="utf-8"))
        for name in names:
            words = (command or modules.command)(name)
            with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    print(line, end="", flush=True)
                    if file is not None:
                        file.write(line)
            if process.returncode != 0:
                print(f"{name} failed with exit status {process.returncode}", file=sys.stderr)
                return process.returncode
    return 0


def _parsed(modules: Modules, arguments: Sequence[str] | None) -> tuple[Sequence[str], Path | None]:
    known = ", ".join(modules.names)
    default = f"; without one: {', '.join(modules.by_default)}" if modules.by_default else ""
    parser = argparse.ArgumentParser(
        prog=f"python -m {modules.package}",
        description="What one does, and how long it takes, stands in its docstring.",
    )
    parser.add_argument("names", nargs="*" if default else "+", metavar="NAME", help=f"any of {known}{default}")
    parser.add_argument("--out", type=Path, metavar="FILE", help="add their lines to this file, e.g. a .jsonl")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.names if name not in modules.names]:
        parser.error(f"there is no {modules.package}.{', '.join(unknown)}; there are {known}")
    return chosen.names or modules.by_default, chosen.out
