"""What a run only shows: it may fail, of whatever there is, and ends no training.

    progress, bar, dashboard, table     here, each told of once
    the terminal itself                 a stream that never fails (`dask_jobs.terminal`)
    TensorBoard, MLflow                 a tool that fails is closed (`pipeline.experiments.curves.loggers`)

Not here: what a run keeps. A disk that refuses rows ends it (`pipeline.experiments.files.run_folder`).
"""

import contextlib
from collections.abc import Callable, Iterator

from pipeline.errors import in_words


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
