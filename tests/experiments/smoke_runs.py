"""Runs of seconds: the smoke experiments on Breakout, into a folder of the test's own."""

import functools
from dataclasses import replace
from pathlib import Path

from pipeline.config.overrides import compose
from pipeline.config.run_config import RunConfig
from pipeline.experiments.files import checkpoint
from pipeline.experiments.files.run_folder import RunFolder, open_folder
from pipeline.experiments.files.saved_config import read_config

SMALL_WORKERS = [
    "network=nature_actor_critic", "network.torso=dqn_2013", "network.hidden_units=16", "environment.max_frames=300",
    *(f"{group}.{side}=52" for group in ("environment", "evaluation.environment")
      for side in ("frame_height", "frame_width")),
]  # fmt: skip
"""smoke_dba3c made smaller still, with games of 300 frames."""


def smoke_config(results_dir: Path, *overrides: str, experiment: str = "smoke_gorila") -> RunConfig:
    """A smoke experiment on Breakout, changed by `overrides`."""
    if any("/" in word or "results_dir" in word for word in overrides):
        return compose([*smoke_words(results_dir, experiment), *overrides])
    # Many tests ask for the same run in a folder of their own, and composing takes a quarter of a second.
    return replace(_composed(experiment, overrides), results_dir=str(results_dir))


@functools.cache
def _composed(experiment: str, overrides: tuple[str, ...]) -> RunConfig:
    return compose([*smoke_words(Path("nowhere"), experiment), *overrides])


def smoke_words(results_dir: Path, experiment: str = "smoke_gorila") -> list[str]:
    """The same on a command line."""
    return [f"experiment={experiment}", "game=Breakout", f"results_dir={results_dir}", "precision=float32"]


def opened(config: RunConfig) -> RunFolder:
    """The folder of a run, where its config says."""
    return open_folder(config, config.folder)


def frames_beyond(folder: Path, frames: int) -> int:
    """A budget of `frames` emulator frames more than a run has made.

    Roles make more than they were asked for, as they go on until somebody has counted.
    """
    made = checkpoint.load_newest(folder / "checkpoints").num_steps * read_config(folder).environment.frame_skip
    return made + frames
