"""Hydra's own tests of a launcher, on a real cluster: all three suites of `hydra.test_utils`, nothing left out.

One of them starts two programs with the same overrides in the same sweep folder. To this launcher the second is the
same command again, with nothing left to do: the ledger is removed between the two.
"""

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hydra import version
from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.test_utils.launcher_common_tests import BatchedSweeperTestSuite, IntegrationTestSuite, LauncherTestSuite

from dask_jobs.ledger import LEDGER
from hydra_plugins.dask_launcher.launcher import DaskLauncher

LAUNCHER = "dask"
CHECKOUT = Path(__file__).resolve().parents[2]


def test_hydra_finds_the_launcher() -> None:
    names = [plugin.__name__ for plugin in Plugins.instance().discover(Launcher)]
    assert DaskLauncher.__name__ in names


def test_what_hydra_imports_for_every_program_is_light() -> None:
    script = (
        "import sys; from hydra.core.plugins import Plugins; Plugins.instance(); "
        "assert 'hydra_plugins.dask_launcher.launcher' in sys.modules; "
        "print(sorted({'dask', 'distributed', 'psutil', 'rich', 'cloudpickle'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


@pytest.fixture
def launcher_name() -> str:
    return LAUNCHER


@pytest.fixture
def overrides(scheduler_here: str) -> list[str]:
    return [f"hydra.launcher.address={scheduler_here}"]


@pytest.fixture
def as_hydra_1_1(hydra_restore_singletons: None) -> None:
    """Hydra's suites expect jobs to change into their folders, as up to 1.1; tests before may have set a newer base."""
    with warnings.catch_warnings(action="ignore"):
        version.setbase("1.1")


@pytest.mark.usefixtures("end_commands", "as_hydra_1_1")
class TestLauncher(LauncherTestSuite):
    """One launch, in this process."""


@pytest.mark.slow
@pytest.mark.usefixtures("end_commands", "as_hydra_1_1")
class TestBatches(BatchedSweeperTestSuite):
    """Three launches, one after the other."""

    @pytest.fixture
    def overrides(self, scheduler_here: str) -> list[str]:
        return [f"hydra.launcher.address={scheduler_here}", "hydra.sweeper.max_batch_size=2"]


@pytest.mark.slow
class TestProgram(IntegrationTestSuite):
    """Whole programs, started as a user starts them."""

    @pytest.fixture(autouse=True)
    def _checkout_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))

    def generate_custom_cmd(self) -> Callable[..., list[str]]:
        def without_ledger(command: list[str], filename: str) -> list[str]:
            for ledger in Path(command[1]).parent.rglob(LEDGER):
                ledger.unlink()
            return command

        return without_ledger

    @pytest.fixture
    def task_launcher_cfg(self) -> dict[str, object]:
        return {}

    @pytest.fixture
    def extra_flags(self, scheduler_address: str) -> list[str]:
        return ["-m", f"hydra/launcher={LAUNCHER}", f"hydra.launcher.address={scheduler_address}"]
