"""`python -m pipeline.train experiment=gorila game=Breakout seed=0`: one run, or many with -m.

All mistakes of a command line are reported together before Hydra or anything else starts.
"""

import logging
import sys

import hydra
from omegaconf import DictConfig

from pipeline.errors import ConfigError, PipelineError
from pipeline.experiments.config_overrides import check_command_line, config_directory, from_hydra
from pipeline.experiments.run import train


@hydra.main(version_base="1.3", config_path=str(config_directory()), config_name="config")
def _job(config: DictConfig) -> None:
    try:
        train(from_hydra(config))
    except PipelineError as error:
        # A foreseen error is a message, not a traceback.
        sys.exit(f"error: {error}")


def main() -> None:
    """Check the whole command line, then hand it to Hydra."""
    if mistakes := check_command_line(sys.argv[1:]):
        sys.exit(f"error: {ConfigError(mistakes)}")
    # Dask reports hosts that come and go as if they were the user's business; the run says what matters.
    logging.getLogger("distributed").setLevel(logging.ERROR)
    _job()


if __name__ == "__main__":
    main()
