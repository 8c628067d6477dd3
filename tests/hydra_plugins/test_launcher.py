"""What Hydra calls, and what it finds."""

import pytest
from hydra.errors import CompactHydraException
from omegaconf import DictConfig

from hydra_plugins.dask_launcher.launcher import DaskLauncher


def test_all_mistakes_are_told_at_once_before_anything_starts() -> None:
    launcher = DaskLauncher(num_hosts=0, retries=-1)
    with pytest.raises(CompactHydraException) as caught:
        launcher.setup(hydra_context=None, task_function=print, config=DictConfig({}))  # type: ignore[arg-type]
    assert str(caught.value).splitlines() == [
        "2 mistakes in the settings of the Dask launcher:",
        "  hydra.launcher.num_hosts=0 must be above 0",
        "  hydra.launcher.retries=-1 must be at least 0",
    ]
