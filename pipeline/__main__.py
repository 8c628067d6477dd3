"""`pipeline train experiment=gorila game=Pong`: each command by one name; `python -m pipeline train …` is the same.

    pipeline COMMAND WORDS       what `python -m pipeline.COMMAND WORDS` does, with its exit status
    pipeline --help, --version   which commands there are; which version this is
    pipeline completion SHELL    prints what teaches bash, zsh or fish to complete commands, settings and options

Not here: what can be completed (`pipeline.completion`).
"""

from dask_jobs.terminal import MISTAKEN_STATUS, begin

if __name__ == "__main__":
    begin()  # before the other imports

import os
import runpy
import sys
from collections.abc import Sequence

import pipeline
from pipeline.completion import COMMANDS, SHELLS, completed, shell_script
from pipeline.config.words import no_such
from pipeline.errors import ConfigError

_HELP = """\
usage: pipeline COMMAND [name=value ...]

{commands}

`pipeline COMMAND --help` says what its words mean. `pipeline --version` says which version this is.
`eval "$(pipeline completion bash)"` lets the Tab key complete commands, settings and options (also: zsh, fish)."""


def main(words: Sequence[str] | None = None) -> int:
    """Carry out the command that is named first; the exit status, unless the command ends the program with its own."""
    begin()
    first, *rest = list(sys.argv[1:] if words is None else words) or ["--help"]
    try:
        if first in ("--help", "-h", "help"):
            print(help_text())
        elif first == "--version":
            print(pipeline.__version__)
        elif first == "completion":
            print(_completion(rest), end="")
        elif first in COMMANDS:
            # As the module by itself would be, so that signals, Hydra and processes of a run find what they find there.
            sys.argv = [f"pipeline {first}", *rest]
            if not sys.flags.safe_path and os.getcwd() not in sys.path:
                # Where -m looks for packages of the user's own first.
                sys.path.insert(0, os.getcwd())
            runpy.run_module(f"pipeline.{first}", run_name="__main__", alter_sys=True)
        else:
            raise ConfigError([no_such("command", first, first, COMMANDS)])
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return MISTAKEN_STATUS
    return 0


def help_text() -> str:
    """Every command with what it does."""
    width = max(map(len, COMMANDS))
    return _HELP.format(commands="\n".join(f"  {name:{width}}  {about}" for name, about in COMMANDS.items()))


def _completion(words: Sequence[str]) -> str:
    match words:
        case [shell] if shell in SHELLS:
            return shell_script(shell)
        case ["words", line]:
            return "".join(f"{word}\n" for word in completed(line))
        case [shell]:
            raise ConfigError([no_such("shell", f"completion {shell}", shell, SHELLS)])
    raise ConfigError([f"completion: say for which shell, one of {', '.join(SHELLS)}"])


if __name__ == "__main__":
    sys.exit(main())
