"""Whether the program that runs here may start processes: each of them runs its main file again, up to the guard.

Python starts child processes by `spawn`: a child that is to run something of `__main__` first runs that file, under
another name. Without `if __name__ == "__main__":` it would start the run anew, in every child.
Not here: starting them (`pipeline.cluster.kinds.local`).
"""

import ast
import sys
from pathlib import Path
from types import FrameType

from pipeline.errors import ConfigError


def check_guarded() -> None:
    """Raise ConfigError if the main file came here by a line that a child would run too."""
    main = sys.modules["__main__"]
    path: str | None = getattr(main, "__file__", None)
    line = _line_in(vars(main), path, sys._getframe())
    if path is None or line is None:
        return  # a prompt, a notebook, another thread: no file would be run again
    try:
        source = Path(path).read_text(encoding="utf-8")
        guarded = is_guarded(source, line)
    except (OSError, ValueError, SyntaxError):
        return  # in an archive, or no Python text: Python itself will say
    if not guarded:
        raise ConfigError(
            [
                f"{path}, line {line}: cluster=processes starts processes, and each would run this script anew; "
                'put what the script does below if __name__ == "__main__":, or take cluster=threads'
            ]
        )


def is_guarded(source: str, line: int) -> bool:
    """Whether `line`, of the module's own code, stands below an `if`; which one, is not asked."""
    return any(
        isinstance(node, ast.If) and node.lineno <= line <= (node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(source))
    )


def _line_in(variables: dict[str, object], path: str | None, frame: FrameType | None) -> int | None:
    """Where the module with these variables stands in its file at this moment; None if nothing of it is running."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and frame.f_globals is variables and code.co_filename == path:
            return frame.f_lineno
        frame = frame.f_back
    return None
