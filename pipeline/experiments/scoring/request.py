"""What runs that are over are to be asked: which of them, which parameters, under which protocols, on which hosts.

Not here: doing it (`pipeline.experiments.scoring.afterwards`).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import ConfigError, told
from pipeline.run_folders import CONFIG, places_of, run_folders, unreadable_mistakes
from pipeline.settings import several

NEWEST = "newest"


class EvaluationRequest(NamedTuple):
    """What is to be evaluated, and how."""

    folders: tuple[Path, ...]
    """Of runs."""
    checkpoints: tuple[str, ...] = (NEWEST,)
    """"newest", "best" or versions."""
    protocols: tuple[str, ...] = ()
    """Names of files in `conf/evaluation/`; none: each run's own."""
    settings: tuple[str, ...] = ()
    """Of `evaluation`, in all of these protocols."""
    cluster: tuple[str, ...] = ("cluster=threads",)
    """Name of a file in `conf/cluster/`, and settings of it."""
    seed: int | None = None
    """None: those that the end of a training takes."""
    again: bool = False
    """Play what is there already, too."""
    config_dir: Path | None = None
    """A folder with protocols and clusters of one's own, as `evaluation/mine.yaml`; None: those of `conf/` alone."""

    def in_full(self) -> "EvaluationRequest":
        """The same where somebody has given one word in the place of several, or paths as words."""
        return self._replace(
            # By whatever names it is reached, a run is played once.
            folders=tuple({folder.resolve(): folder for folder in map(Path, several(self.folders))}.values()),
            config_dir=None if self.config_dir is None else Path(self.config_dir),
            checkpoints=several(self.checkpoints),
            protocols=several(self.protocols),
            settings=several(self.settings),
            cluster=several(self.cluster),
        )


def find_runs(words: Sequence[str], say: Callable[[str], object] = told) -> list[Path]:
    """Run folders that `words` name: folders of runs, patterns such as `results/runs/gorila/*/0`, folders above runs.

    `say` is told of each folder beside them that may not be read. Raises ConfigError for each word that names none.
    """
    found: dict[Path, Path] = {}
    mistakes = []
    for word in several(words):
        unreadable: list[OSError] = []
        places = places_of(word)
        below = [folder for place in places for folder in run_folders(place, unreadable.append)]
        runs = [folder for folder in below if _has_settings(folder, unreadable)]
        mistakes += unreadable_mistakes(f"run={word}", unreadable, say if runs else None)
        for run in runs:
            found.setdefault(run.resolve(), run)
        if not runs and not unreadable:
            mistakes.append(f"run={word}: no run folder is there, which would hold a {CONFIG}")
    if mistakes:
        raise ConfigError(mistakes)
    return list(found.values())


def _has_settings(folder: Path, unreadable: list[OSError]) -> bool:
    try:
        return (folder / CONFIG).is_file()
    except OSError as error:
        unreadable.append(error)
        return False
