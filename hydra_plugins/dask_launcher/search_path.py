"""Where Hydra finds `hydra/launcher=dask`: in the program's own `hydra/launcher/dask.yaml`, or else in ours.

A program that wants other values than the launcher's puts them into such a file, behind `defaults: [base_dask]`; its
users may still change each on the command line. The schema has another name than the option because Hydra 1.3 warns of
a file whose name is in the ConfigStore too.
"""

from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.search_path_plugin import SearchPathPlugin


class DaskLauncherSearchPath(SearchPathPlugin):
    """Looks behind the program's own files."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Add the folder `conf` beside this module."""
        search_path.append("hydra_plugins.dask_launcher", f"file://{Path(__file__).parent / 'conf'}")
