"""`init_from`: whose parameters a new run may begin with, and every reason why not.

    a run's folder            its newest checkpoint
    a checkpoint's .npz       that one; what it is of stands in the config.yaml of its run, where that is still above it
    an exported agent         config.json and model.safetensors

Not here: reading the parameters (`pipeline.experiments.warm_start`).
"""

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.checked_files import bytes_in, json_in
from pipeline.config.run_config import RunConfig
from pipeline.config.tree import tree_from_yaml
from pipeline.envs.rom import num_actions
from pipeline.errors import ConfigError
from pipeline.extras import how_to_install
from pipeline.games import GAMES
from pipeline.numbered_files import numbers_in
from pipeline.older_settings import in_settings_of_today
from pipeline.run_folders import CHECKPOINTS, at_home, named_path
from pipeline.settings import as_settings, shown

RUN, CHECKPOINT, EXPORT = "run", "checkpoint", "export"

_FIRST_VALUES = ("noise_scale", "policy_scale", "initial_weights")
"""Of a network: what its parameters begin with. Another one's are taken as they are."""
_DEEPEST = 2
"""Folders around a checkpoint up to that of all of its run, that of the best ones included."""


class Source(NamedTuple):
    """What `init_from` names."""

    kind: str
    """RUN, CHECKPOINT or EXPORT."""
    path: Path
    settings: Mapping[str, Any]
    """Of its run, as in its config.yaml; of an exported agent its config.json; empty where nothing tells."""


def find_source(name: str) -> Source:
    """What is there. Raises ValueError with the end of a sentence where it is nothing that can be begun from."""
    path = Path(at_home(name))
    try:
        if path.is_file() and path.suffix == ".npz":
            run = _run_around(named_path(path))
            return Source(CHECKPOINT, path, {} if run is None else _of_run(run))
        if (path / "config.yaml").is_file():
            if not numbers_in(path / CHECKPOINTS):
                raise ValueError("holds no checkpoint: choose a run that has begun")
            return Source(RUN, path, _of_run(path))
        if (path / "config.json").is_file() and (path / "model.safetensors").is_file():
            return Source(EXPORT, path, in_settings_of_today(json_in(bytes_in(path / "config.json"))))
    except (OSError, ConfigError) as error:
        raise ValueError(f"cannot be read: {error}") from error
    raise ValueError(
        "is no run folder, no checkpoint (.npz) and no exported agent with a model.safetensors: name one of these"
    )


def warm_start_mistakes(config: RunConfig) -> list[str]:
    """Why a run cannot begin with those parameters, a line each; none where it goes on from its own."""
    name = config.init_from
    if name is None or config.game not in GAMES:
        return []
    if config.resume and numbers_in(config.folder / CHECKPOINTS):
        return []
    try:
        source = find_source(name)
    except ValueError as error:
        return [f"init_from={name} {error}"]
    return [f"init_from={name} {line}" for line in _unfit(config, source)]


def _run_around(checkpoint: Path) -> Path | None:
    # A copy may lie anywhere, beneath other tools' config.yaml as well.
    above = [folder.parent for folder in list(checkpoint.parents)[:_DEEPEST] if folder.name == CHECKPOINTS]
    return next((folder for folder in (checkpoint.parent, *above) if (folder / "config.yaml").is_file()), None)


def _of_run(folder: Path) -> Mapping[str, Any]:
    try:
        return tree_from_yaml(bytes_in(folder / "config.yaml").decode())
    except UnicodeDecodeError as error:
        raise OSError(f"{folder / 'config.yaml'} is no text in UTF-8") from error


def _unfit(config: RunConfig, source: Source) -> Iterator[str]:
    if config.overwrite and config.folder.resolve() in (source.path.resolve(), *source.path.resolve().parents):
        yield "is in this run's own folder, which overwrite=true empties: choose another seed or results_dir"
    if source.kind == EXPORT:
        if importlib.util.find_spec("safetensors") is None:
            yield f"needs the package safetensors: {how_to_install('export')}"
        if config.init_from_optimizer:
            yield "is an exported agent, which has no optimizer state: name the run, or leave init_from_optimizer=false"
    if not source.settings:
        return  # its size is all that can be compared, when it is read
    theirs, ours = _shape(source), as_settings(config.network)
    if (network := theirs["network"]) is None or theirs["frames"] is None:
        yield "does not say what its network was: it is of another version of pipeline"
        return
    # Those of one kind have the same settings; what an older file has besides means nothing.
    different = [
        f"network.{name}={shown(network.get(name))}, here {shown(value)}"
        for name, value in ours.items()
        if name not in _FIRST_VALUES and network.get(name) != value
    ]
    if different:
        yield f"has another network ({'; '.join(different)}): give this run the same one"
    if theirs["frames"] != (frames := _frames(as_settings(config.environment))):
        seen, here = shown(theirs["frames"]), shown(frames)
        yield f"sees [stack, height, width, grey]={seen}, this run {here}: give it the same ones"
    wanted = num_actions(config.game, config.environment.full_action_set)
    if theirs["num_actions"] not in (None, wanted):
        yield (
            f"plays {theirs['game']} with {theirs['num_actions']} actions, {config.game} has {wanted}: choose a game "
            "with as many, or train both with environment.full_action_set=true and "
            "evaluation.environment.full_action_set=true"
        )
    optimizer = source.settings.get("optimizer")
    if config.init_from_optimizer and isinstance(optimizer, Mapping) and optimizer.get("kind") != config.optimizer.kind:
        yield (
            f"has the state of optimizer.kind={optimizer.get('kind')}, this run has {config.optimizer.kind}: take the "
            "same one, or leave init_from_optimizer=false"
        )


def _shape(source: Source) -> dict[str, Any]:
    """What decides of the shapes of parameters; None where it is not told."""
    told, game = source.settings, str(source.settings.get("game"))
    network = told.get("network")
    environment = told.get("protocol" if source.kind == EXPORT else "environment")
    frames = _frames(environment) if isinstance(environment, Mapping) else None
    actions = told.get("num_actions")
    if actions is None and isinstance(environment, Mapping) and game in GAMES:
        actions = num_actions(game, bool(environment.get("full_action_set")))
    return {
        "network": network if isinstance(network, Mapping) else None,
        "frames": frames,
        "num_actions": actions,
        "game": game,
    }


def _frames(environment: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(environment.get(name) for name in ("stack", "frame_height", "frame_width", "grey"))
