"""What a run only shows: it may fail, of whatever there is, and ends no training.

    progress, bar, dashboard, table     here, each told of once
    the terminal itself                 a stream that never fails (`dask_jobs.terminal`)
    TensorBoard, MLflow                 a tool that fails is closed (`pipeline.experiments.curves.loggers`)

Not here: what a run keeps. A disk that refuses rows ends it (`pipeline.experiments.files.run_folder`).
"""

import contextlib
import os
from collections.abc import Callable, Iterator

from rich.console import Console

from pipeline.errors import in_words


def can_redraw(console: Console) -> bool:
    """Whether what is on the screen can be drawn anew in its place; elsewhere lines have to follow each other."""
    # On a dumb terminal (TERM=dumb, as in Emacs) Rich draws nothing at all.
    if not console.is_interactive:
        return False
    # These speak of colours, and Rich takes a file for a terminal by them.
    speaks_of_colours = "FORCE_COLOR" in os.environ or os.environ.get("TTY_COMPATIBLE") == "1"
    return not speaks_of_colours or console.file.isatty()


class Cosmetic:
    """Of one run."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` tells the user, if that can be done."""
        self._say = say
        self._told: set[str] = set()

    @contextlib.contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Go on whatever happens meanwhile; that `what` has failed is told the first time."""
        try:
            yield
        except Exception as error:
            if what not in self._told:
                self._told.add(what)
                self.say(f"warning: {what} failed, and the run goes on: {in_words(error)}")

    def say(self, sentence: str) -> None:
        """A sentence for the user, who may be gone."""
        with contextlib.suppress(Exception):
            self._say(sentence)
