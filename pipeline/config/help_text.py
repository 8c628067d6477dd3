"""What `python -m pipeline.train --help` says: the groups with their options, and the run that its other words make.

Hydra's own text costs a second more, since it copies its configuration once for each group that any plugin has.
Not here: the help of the other commands (`pipeline.config.arguments`).
"""

from collections.abc import Sequence
from pathlib import Path

from hydra._internal.utils import get_args_parser  # as in pipeline.config.overrides
from omegaconf import OmegaConf

from pipeline.config.composition import Files, config_directory
from pipeline.errors import ConfigError

_TEXT = """\
Settings are given as name=value, options of a group as group=option; what must be given stands as ??? below.
-m runs all combinations of several values, --config-dir adds a folder of yours, --hydra-help tells the other flags.

== Groups: group=option ==

{groups}

== Config: name.of.setting=value ==

{config}"""


def help_text(arguments: Sequence[str]) -> str | None:
    """The text, if these arguments ask for it; None where they do not, or where Hydra's own counts: files elsewhere.

    Raises ConfigError for words that nothing can be made of, with the first mistake.
    """
    words = get_args_parser().parse_args(list(arguments))
    if not words.help or words.config_path or words.config_name or words.multirun:
        return None
    own = None if words.config_dir is None else Path(words.config_dir)
    if own is not None and not own.is_dir():
        raise ConfigError([f"--config-dir {own}: there is no such folder"])
    files = Files(own)
    folders = [folder for folder in (config_directory(), own) if folder is not None]
    groups = {path.name for folder in folders for path in folder.iterdir() if path.is_dir() and path.name != "hydra"}
    lines = [f"{group}: {', '.join(files.options(group))}" for group in sorted(groups)]
    config = OmegaConf.to_yaml(OmegaConf.create(dict(files.compose_tree(words.overrides))))
    return _TEXT.format(groups="\n".join(lines), config=config.rstrip())
