"""What `config.yaml` in a run folder says: the config of a run that was begun, here or on another machine.

    read_config        as it was, or with another cluster, on which the run goes on
    config_anywhere    on `cluster=threads`: the own one of a finished run may be unknown here, or its certificates gone
    saved_settings     what is written there, of whatever version (`check_version`)

Not here: the folder around it (`pipeline.experiments.files.run_folder`).
"""

from pathlib import Path

from pipeline.checked_files import bytes_in
from pipeline.cluster.config import ClusterConfig
from pipeline.config.overrides import compose_onto
from pipeline.config.run_config import RunConfig
from pipeline.config.tree import Tree, build, tree_from_yaml
from pipeline.config.words import lines_below
from pipeline.errors import ConfigError, RunFolderError, UnfitFolderError
from pipeline.kinds import is_of_own_class
from pipeline.run_facts import facts_in
from pipeline.run_folders import CONFIG
from pipeline.settings import as_settings

_MOST_MISTAKES = 3
"""That are named of a config that does not fit."""


def read_config(path: Path, cluster: ClusterConfig | None = None) -> RunConfig:
    """The config of the run whose folder is `path`; with `cluster`, if it is given, in place of its own.

    Raises RunFolderError if there is none, it is of another version of pipeline, or files that it names are gone.
    """
    tree = saved_settings(path)
    try:
        return build(tree if cluster is None else {**tree, "cluster": as_settings(cluster)})
    except ConfigError as error:
        check_version(path, tree)
        raise _names_the_unusable(path, error) from error


def config_anywhere(folder: Path) -> RunConfig:
    """What the run was, with `cluster=threads` in place of its cluster.

    Raises RunFolderError if there is no config, it is of another version, or something else that it names cannot be
    used here.
    """
    saved = saved_settings(folder)
    check_version(folder, saved)
    try:
        return compose_onto(saved, ["cluster=threads"], ("cluster",))
    except ConfigError as error:
        raise _names_the_unusable(folder, error) from error


def saved_settings(path: Path) -> Tree:
    """What `config.yaml` in the run folder `path` says. Raises RunFolderError if there is none, or it is none."""
    try:
        if not (text := bytes_in(path / CONFIG).decode()).strip("\0 \n"):
            raise ValueError("it is empty")
        return tree_from_yaml(text)
    except (OSError, ValueError, ConfigError) as error:
        raise RunFolderError(f"{path / CONFIG} cannot be read: {error}") from error


def check_version(path: Path, tree: Tree, aside: tuple[str, ...] = ("cluster",)) -> None:
    """Raise RunFolderError if the settings of a run folder are of another version of pipeline.

    Those of the groups `aside` do not count: others take their place, or what they name may be gone. Nor do classes of
    the user's own, which may be gone or changed.
    """
    try:
        build(tree)
    except ConfigError as error:
        mistakes = [line for line in error.mistakes if not line.startswith(aside) and not is_of_own_class(line)]
        if not mistakes:
            return
        commit = _commit_of(path)
        which = f", commit {str(commit)[:7]} of it" if commit else ""
        raise UnfitFolderError(
            f"{path / CONFIG} was written by another version of pipeline{which}: go on with that version, or start "
            f"another run (another seed or results_dir). What does not fit:{lines_below(mistakes, _MOST_MISTAKES)}"
        ) from error


def _commit_of(path: Path) -> object:
    try:
        return facts_in(path).get("commit")
    except RunFolderError:
        return None


def _names_the_unusable(path: Path, error: ConfigError) -> UnfitFolderError:
    return UnfitFolderError(f"{path / CONFIG} names what cannot be used here: {'; '.join(error.mistakes)}")
