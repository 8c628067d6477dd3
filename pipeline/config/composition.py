"""Hydra over `conf/`: where that folder is, what files it has, and what Hydra makes of them and of right overrides.

A user's own folder, Hydra's `--config-dir`, is looked into behind ours: of two files with one name ours counts.
Not here: wrong overrides (`overrides`, `sweep_words`), what a run may contain (`run_config`).
"""

import contextlib
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import hydra
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.global_hydra import GlobalHydra
from hydra.core.utils import JobRuntime
from hydra.version import VersionBase
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

import pipeline
from pipeline.config.tree import Tree
from pipeline.errors import ConfigError
from pipeline.older_settings import RENAMED_OPTIONS

CONFIG_NAME = "config"
HYDRA_VERSION_BASE = "1.3"

LAUNCHER, DASK = "hydra/launcher", "dask"
"""The group of launchers, and ours among them."""
SWEEPER = "hydra/sweeper"
_DASK_TARGET = "hydra_plugins.dask_launcher.launcher.DaskLauncher"

_COMPOSING = threading.RLock()

_PLAIN = re.compile(r"\$\{(?:\.\w+|(\w+))[\w.]*\}")
"""`${group.setting}`, with the group, or `${.setting}` of the same one; not resolvers, and not one inside another."""


_MISSING = re.compile(r"Could not find '([\w/]+)/(\w+)'")
"""Hydra's words for an option that no folder has: group, option."""


def config_directory() -> Path:
    """Absolute path of `conf/`: inside the package if it was installed from a wheel, else beside it in the checkout."""
    package = Path(pipeline.__file__).resolve().parent
    candidates = (package / "conf", package.parent / "conf")
    for directory in candidates:
        if (directory / f"{CONFIG_NAME}.yaml").is_file():
            return directory
    raise ConfigError(
        [f"no conf/ with a {CONFIG_NAME}.yaml at {' or '.join(map(str, candidates))}: install the project again"]
    )


@dataclass(frozen=True)
class Files:
    """The files that runs are composed of."""

    own: Path | None = None
    """A folder of the user's with groups like those of `conf/`; None: `conf/` alone."""

    def options(self, group: str) -> list[str]:
        """Names of the files in `<group>/`; empty if `group` is no group."""
        folders = [config_directory(), *([] if self.own is None else [self.own])]
        return sorted({file.stem for folder in folders for file in (folder / group).glob("*.yaml")}) if group else []

    def compose_tree(self, overrides: Sequence[str]) -> Tree:
        """All but Hydra's own settings, interpolations as they are. Raises ConfigError with the first mistake."""
        return as_tree(self._composed(overrides))

    def sweep_params(self, override: str) -> Mapping[str, str]:
        """What the sweep that `override` chooses goes over: setting -> its values. Raises as `compose_tree` does."""
        params = self._composed([override], return_hydra_config=True).hydra.sweeper.params
        # A file may hold what its runs have in common, and leave what they are to words.
        return {} if params is None else cast(Mapping[str, str], OmegaConf.to_container(params))

    def sweeper(self, overrides: Sequence[str]) -> str | None:
        """The option of `hydra/sweeper` that these overrides choose; None: Hydra's own, of all combinations."""
        about_sweeps = [word for word in overrides if word.lstrip("+").startswith(("sweep=", f"{SWEEPER}="))]
        chosen = self._composed(about_sweeps, return_hydra_config=True).hydra.runtime.choices[SWEEPER]
        return None if chosen == "basic" else str(chosen)

    def sweep_folder(self, overrides: Sequence[str]) -> Path | None:
        """Where Hydra and the launcher write of a sweep with these overrides; None where they do not tell it alone."""
        about_sweeps = [word for word in overrides if word.lstrip("+~").startswith(("sweep=", "hydra.", "hydra/"))]
        # A file of one's own may say so as well; of several that are swept Hydra reads none for it.
        about_sweeps += [word for word in overrides if word.startswith("experiment=") and "," not in word]
        try:
            return Path(str(self._composed(about_sweeps, return_hydra_config=True).hydra.sweep.dir))
        except (ConfigError, OmegaConfBaseException):
            # It may name the game. Words that are wrong are told by others.
            return None

    def launchers(self) -> list[str]:
        """The options of `hydra/launcher` that Hydra finds, plugins', our own and the user's."""
        with _hydra_over_conf():
            known = GlobalHydra.instance().config_loader().get_group_options(LAUNCHER)
        return sorted({*known, *self.options(LAUNCHER)})

    def launcher(self, overrides: Sequence[str]) -> str:
        """The option of `hydra/launcher` that these overrides choose, or the file of a sweep among them.

        "dask" also under the name of a file that is made of it; "" where Hydra cannot compose these words.
        """
        about_sweeps = [word for word in overrides if word.lstrip("+").startswith(("sweep=", f"{LAUNCHER}="))]
        if not about_sweeps:
            return "basic"
        try:
            config = self._composed(about_sweeps, return_hydra_config=True).hydra
        except ConfigError:
            return ""
        return DASK if config.launcher.get("_target_") == _DASK_TARGET else str(config.runtime.choices[LAUNCHER])

    def _composed(self, overrides: Sequence[str], *, return_hydra_config: bool = False) -> DictConfig:
        # Puts the folder where --config-dir puts it.
        own = [] if self.own is None else [f"hydra.searchpath=[{_quoted(f'file://{self.own.absolute()}')}]"]
        try:
            with _hydra_over_conf():
                return hydra.compose(CONFIG_NAME, [*overrides, *own], return_hydra_config=return_hydra_config)
        except Exception as error:  # of a file of the user's, Hydra lets every error of its YAML reader through
            said, *_ = one_line(error).split(" Config search path:")  # a list of folders, most of them Hydra's own
            raise ConfigError([f"Hydra cannot compose this: {said}{_renamed(said)}"]) from error


@contextlib.contextmanager
def jobs_composed_in_turn() -> Iterator[None]:
    """Meanwhile Hydra's own sweeper composes no job before the first one starts; whoever runs a job composes it.

    It would take 0.2 s for each, without a word, to look for mistakes that were found before.
    """
    composes_all = BasicSweeper.validate_batch_is_legal
    BasicSweeper.validate_batch_is_legal = lambda sweeper, batch: None  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        BasicSweeper.validate_batch_is_legal = composes_all  # type: ignore[method-assign]


def as_tree(config: DictConfig) -> Tree:
    """What Hydra composed, without Hydra's own settings, interpolations as they are."""
    tree = cast(dict[str, Any], OmegaConf.to_container(config))
    return {name: value for name, value in tree.items() if name != "hydra"}


def resolved(tree: Tree) -> Tree:
    """`tree` with every interpolation followed. Raises ConfigError for one that leads nowhere."""
    # Only groups that have to do with one: OmegaConf takes 15 ms for a whole tree, and a sweep may have a thousand.
    concerned = {
        name
        for group in tree
        for text in texts_in(tree[group])
        if "${" in text
        for name in (group, *_named(text, tree))
    }
    part = {name: value for name, value in tree.items() if name in concerned}
    try:
        return {**tree, **cast(Tree, OmegaConf.to_container(OmegaConf.create(part), resolve=True))}
    except OmegaConfBaseException as error:
        raise ConfigError([one_line(error)]) from error


def texts_in(node: Any) -> Iterator[str]:
    """Every text in a tree, however deep."""
    match node:
        case str():
            yield node
        case Mapping():
            for value in node.values():
                yield from texts_in(value)
        case list():
            for value in node:
                yield from texts_in(value)


def _named(text: str, every: Iterable[str]) -> Iterable[str]:
    """Groups that the interpolations in `text` name beside its own; `every` one where they may name any."""
    plain = _PLAIN.findall(text)
    return every if text.count("${") > len(plain) else filter(None, plain)


def one_line(error: Exception) -> str:
    """Its message without its line breaks; of Hydra's reader without its asserts, in which it reads functions, why."""
    if isinstance(error, AttributeError) and not __debug__:
        return "python -O takes its asserts away: leave out -O"
    return " ".join(str(error).split())


@contextlib.contextmanager
def _hydra_over_conf() -> Iterator[None]:
    """A Hydra of our own; one that is running already, since a job or a notebook composes, is put back afterwards.

    With it the name of its job and the version whose ways it keeps: a program of somebody else's goes by them in its
    next job. There is one Hydra in a process: threads that compose take turns.
    """
    with _COMPOSING:
        running = GlobalHydra.instance().hydra
        job_name, version_base = JobRuntime.instance().get("name"), VersionBase.instance().version_base
        GlobalHydra.instance().clear()
        try:
            with hydra.initialize_config_dir(str(config_directory()), version_base=HYDRA_VERSION_BASE):
                yield
        finally:
            GlobalHydra.instance().hydra = running
            JobRuntime.instance().set("name", job_name)
            VersionBase.instance().version_base = version_base


def _renamed(said: str) -> str:
    """What to write where a file of the user's chooses an option by the name that it had."""
    for group, option in _MISSING.findall(said):
        if (now := RENAMED_OPTIONS.get((group, option))) is not None:
            return f"; {option} is now called {now}: write that in your file"
    return ""


def _quoted(text: str) -> str:
    """The text as Hydra's overrides hold it, whatever is in it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
