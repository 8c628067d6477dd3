"""The settings of a search as a node of Hydra's: the schema behind `hydra/sweeper=ask_and_tell`."""

from dataclasses import dataclass

from hydra.core.config_store import ConfigStore

from dask_jobs.search_settings import SearchSettings


@dataclass
class AskAndTellConf(SearchSettings):
    """`hydra.sweeper.*`, with the values that stand when nothing is said."""

    _target_: str = "hydra_plugins.ask_and_tell.sweeper.AskAndTellSweeper"


ConfigStore.instance().store(
    group="hydra/sweeper", name="ask_and_tell", node=AskAndTellConf, provider="hydra_plugins.ask_and_tell"
)
