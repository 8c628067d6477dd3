"""What a run leaves and shows while it goes: its rows, to be read later, and how far it is, to be seen at once.

    rows of roles      ─► folder, loggers, meter
    progress of roles  ─► meter ─► screen, dashboard

Not here: what each of these does with it (`pipeline.experiments.files`, `.curves`, `.meter`, `.progress`).
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.console import Console

from pipeline.cluster.glance import RunGlance
from pipeline.config.run_config import RunConfig
from pipeline.errors import RunFolderError
from pipeline.experiments.cosmetic import Cosmetic
from pipeline.experiments.curves.logger import LoggedRun
from pipeline.experiments.curves.loggers import Loggers
from pipeline.experiments.files import evaluation_rows
from pipeline.experiments.files.checkpoint import Checkpoint
from pipeline.experiments.files.run_folder import RunFolder
from pipeline.experiments.files.run_log import LOG, log
from pipeline.experiments.life import Every
from pipeline.experiments.meter import RunMeter
from pipeline.experiments.progress import GamesProgress, RunProgress
from pipeline.roles.progress import RoleProgress
from pipeline.rows import EvaluationRow, Row
from pipeline.run_facts import GENERATION


class RunRecord:
    """Of one run."""

    def __init__(
        self,
        config: RunConfig,
        folder: RunFolder,
        console: Console,
        publish: Callable[[RunGlance], None],
        publish_seconds: float,
    ) -> None:
        """`publish` tells others how far the run is, every `publish_seconds`."""
        self._config = config
        self._folder = folder
        self._publish = publish
        self._publishing = Every(publish_seconds)
        self._meter = RunMeter(config, str(folder.path))
        self._console = console
        self._progress = RunProgress(console, config.progress)
        self.cosmetic = Cosmetic(self._progress.say)
        """For whatever else is only shown; what it says is on the screen alone."""
        self._loggers = Loggers(config.logging_tools, self.say)

    @contextlib.contextmanager
    def drawn(self, started_at: float, has_hurry: Callable[[], bool], *, goes_on: bool) -> Iterator[None]:
        """Other tools draw rows meanwhile; `started_at` is the run's first start, in seconds since 1970.

        `goes_on`: from something that is there, and not anew; `has_hurry`: nothing is waited for any more.
        """
        self._loggers.open(LoggedRun(self._config, self._folder.path, started_at, goes_on=goes_on))
        try:
            yield
        finally:
            self._loggers.close(has_hurry)

    @contextlib.contextmanager
    def show_training(self) -> Iterator[None]:
        """A bar is on the screen meanwhile, where the user wants one."""
        with self._progress:
            yield

    @contextlib.contextmanager
    def show_games(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """The same of an evaluation; gives what takes the number of games that are over, and that of all."""
        with GamesProgress(self._console, self._config.progress, what) as progress:

            def show(num_over: int, num_all: int) -> None:
                with self.cosmetic.trying("showing the progress"):
                    progress.show(num_over, num_all)

            yield show

    def write(self, rows: Sequence[Row]) -> None:
        """Keep rows. Raises RunFolderError if the disk refuses them."""
        self._folder.write(rows)
        self._see(rows)

    def write_games(self, rows: Sequence[EvaluationRow]) -> None:
        """Keep whole evaluations, all or none, in the place of older rows of the same games. Raises as `write`."""
        if not rows:
            return
        # The file is written anew, and rows that were added to the old one would be lost.
        self._folder.close()
        try:
            evaluation_rows.add(self._folder.path, rows)
        except OSError as error:
            raise RunFolderError(f"{self._folder.path}: games could not be written: {error}") from error
        self._see(rows)

    def _see(self, rows: Sequence[Row]) -> None:
        with self.cosmetic.trying("measuring the progress"):
            self._meter.see(rows)
        self._loggers.see(rows)

    def say(self, sentence: str) -> None:
        """A sentence for the user, on the screen and in the run's log."""
        self.cosmetic.say(sentence)
        with self.cosmetic.trying(f"writing {LOG}"):
            log(self._folder.path, sentence)

    def show(self, roles: Mapping[str, RoleProgress]) -> None:
        """Show how far the roles are, and tell others if it is time."""
        with self.cosmetic.trying("showing the progress"):
            seen = self._meter.glance(roles)
            self._progress.show(seen)
            if self._publishing.is_due(time.monotonic()):
                self._publish(seen)

    def show_end(self, roles: Mapping[str, RoleProgress]) -> None:
        """Tell others where the training has ended."""
        with self.cosmetic.trying("showing the progress"):
            self._publish(self._meter.glance(roles))

    def begins(self, generation: int) -> None:
        """Keep that one with this number begins, before anything of it is there: no later start takes it again."""
        self._folder.write_run(self._folder.read_run() | {GENERATION: generation})

    def restarted(self) -> None:
        """Count a role that was started again."""
        self._meter.restarted()

    def go_back_to(self, start: Checkpoint) -> int:
        """Set aside all that is newer than this checkpoint; returns how many rows."""
        self._meter.went_back()
        self._folder.close()
        self._loggers.went_back()
        return self._folder.go_back_to(start)
