"""Runs as commands make them: of the words of a command line, and of the text of a run folder's config."""

from collections.abc import Sequence
from pathlib import Path

from pipeline.config.overrides import check_command_line
from pipeline.config.run_config import RunConfig
from pipeline.config.tree import build, tree_from_yaml


def mistakes_in(words: Sequence[str], *, multirun: bool = False, config_dir: Path | None = None) -> list[str]:
    """All mistakes of a command line with these words, in order."""
    options = [*(["-m"] if multirun else []), *([] if config_dir is None else ["--config-dir", str(config_dir)])]
    return check_command_line([*words, *options], say=lambda _: None)


def run_of_yaml(text: str) -> RunConfig:
    """The run whose folder has this config."""
    return build(tree_from_yaml(text))
