"""The settings of `dask_jobs` as a node of Hydra's: the schema behind `hydra/launcher=dask`."""

from dataclasses import dataclass

from hydra.core.config_store import ConfigStore

from dask_jobs.settings import LauncherSettings


@dataclass
class DaskLauncherConf(LauncherSettings):
    """`hydra.launcher.*`, with the values that stand when nothing is said."""

    _target_: str = "hydra_plugins.dask_launcher.launcher.DaskLauncher"


ConfigStore.instance().store(
    group="hydra/launcher", name="base_dask", node=DaskLauncherConf, provider="hydra_plugins.dask_launcher"
)
