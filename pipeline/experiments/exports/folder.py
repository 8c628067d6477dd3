"""A run's agent as a folder that leaves the project: files for other programs, laid out as hubs of models take them.

    README.md  config.json  evaluations.csv  model.safetensors  model.pt2  model.torchscript  model.onnx

The folder appears whole, when every file in it was loaded again and answered as the agent does, or not at all.
Not here: the files (`pipeline.experiments.exports.formats`), the texts (`pipeline.experiments.exports.card`).
"""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.disk import why_unwritable
from pipeline.errors import ConfigError, ExportError
from pipeline.evaluation.play import how_played
from pipeline.experiments.exports import formats
from pipeline.experiments.exports.card import Exported, card, config_of
from pipeline.experiments.policy import Policy, load_policy
from pipeline.experiments.scoring.request import NEWEST
from pipeline.networks.config import Q_NETWORK
from pipeline.results.load import LoadedRuns, load_run
from pipeline.results.run_scores import BEST, LAST, RANDOM, run_scores
from pipeline.rows import HowPlayed
from pipeline.run_facts import facts_in
from pipeline.types import UInt8Array
from pipeline.whole_file import whole_folder

CONFIG_JSON, CARD = "config.json", "README.md"
EXPORTS = "exports"
"""Name of the folder of exported agents inside a run folder."""

_NUM_COMPARED = 5
"""Observations that files are compared with the agent on."""


class Export(NamedTuple):
    """What was left."""

    folder: Path
    distances: dict[str, float]
    """Format -> how far the answers of its file lie from the agent's, at most."""


def export_policy(
    run: str | os.PathLike[str],
    form: Sequence[str] | str = ("safetensors",),
    checkpoint: str | int = NEWEST,
    *,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
) -> Export:
    """Write the agent of a run folder for other programs; `form`: one or several of `formats.FORMATS`.

    `out`: None: `exports/<version>` in the run folder. `overwrite`: replace an export that is there. Raises ConfigError
    for what cannot be asked for, what `load_policy` raises, and ExportError where a file does not answer as the agent.
    """
    wanted = tuple(dict.fromkeys([form] if isinstance(form, str) else form))
    if mistakes := formats.mistakes_of(wanted) if wanted else ["form names no format: e.g. safetensors"]:
        raise ConfigError(mistakes)
    policy = load_policy(run, checkpoint)
    folder = Path(run) / EXPORTS / str(policy.version) if out is None else Path(out)
    if mistakes := mistakes_of_place(folder, overwrite=overwrite):
        raise ConfigError(mistakes)
    loaded = _of_version(load_run(Path(run)), policy.version)
    try:
        with whole_folder(folder) as inside:
            seen = _observations(policy)
            frames = policy.frames(seen).contiguous().numpy()
            distances = formats.write(policy.as_module(), frames, _answers(policy, seen), inside, wanted)
            exported = _exported(policy, Path(run), wanted, distances, loaded)
            (inside / CARD).write_text(card(exported), encoding="utf-8")
            (inside / CONFIG_JSON).write_text(json.dumps(config_of(exported), indent=2) + "\n", encoding="utf-8")
            loaded.evaluations.to_csv(inside / "evaluations.csv", index=False, lineterminator="\n")
    except OSError as error:
        raise ExportError(f"{folder} could not be written: {error}") from error
    return Export(folder, distances)


def mistakes_of_place(folder: Path, *, overwrite: bool) -> list[str]:
    """Why an export cannot be written there, a line each, beginning with the word of the command line."""
    if Path.cwd().is_relative_to(folder.resolve()):
        return [f"out={folder} is where the command is typed, or around it: name a folder of the export's own"]
    if (why := why_unwritable(folder.resolve().parent)) is not None:  # a link stays
        return [f"out={folder} cannot be written: {why}; name another folder"]
    if not folder.exists():
        return []
    if not folder.is_dir() or (any(folder.iterdir()) and not (folder / CONFIG_JSON).is_file()):
        return [f"out={folder} is there and is no exported agent: name another folder"]
    if not overwrite and any(folder.iterdir()):
        return [f"out={folder} holds an exported agent already: replace it with overwrite=true, or name another folder"]
    return []


def _of_version(loaded: LoadedRuns, version: int) -> LoadedRuns:
    """The games of these parameters, those of the training left out, and of the random player."""
    games = loaded.evaluations
    agents = games["agent"].isin([LAST, BEST]) & (games["version"] == version)
    return loaded._replace(evaluations=games[agents | (games["agent"] == RANDOM)])


def _observations(policy: Policy) -> UInt8Array:
    """Some (B, K, H, W[, 3]): of the game's beginnings, and noise, which reaches every filter."""
    env = policy.make_env()
    try:
        seen = [env.reset(seed=seed)[0] for seed in range(2)]
    finally:
        env.close()
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 256, policy.observation_shape, np.uint8) for _ in range(_NUM_COMPARED - len(seen))]
    return np.stack([*seen, *noise])


def _answers(policy: Policy, seen: UInt8Array) -> formats.Answers:
    preferences = policy.preferences(seen)
    return (preferences,) if policy.config.network.answers == Q_NETWORK else (preferences, policy.values(seen))


def _played(policy: Policy, loaded: LoadedRuns) -> HowPlayed:
    """What rows of the run's final evaluation say of it."""
    evaluation = policy.config.evaluation
    played = how_played(evaluation, policy.environment, policy.is_sampled, None)
    if evaluation.start_states is None:
        return played
    # The file of points may have stayed elsewhere; games that went on from them name them.
    games = loaded.evaluations
    named = games[games["protocol"] == evaluation.protocol]["start_states"].unique()
    return replace(played, start_states=", ".join(named) or evaluation.start_states)


def _exported(
    policy: Policy, run: Path, wanted: Sequence[str], distances: dict[str, float], loaded: LoadedRuns
) -> Exported:
    scores = run_scores(loaded).to_dict("records")
    return Exported(
        config=policy.config,
        version=policy.version,
        total_frames=policy.total_frames,
        commit=facts_in(run).get("commit"),
        action_meanings=policy.action_meanings,
        played=_played(policy, loaded),
        files={name: formats.FORMATS[name].file for name in wanted},
        distances=distances,
        scores=scores,
    )
