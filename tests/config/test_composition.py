"""What Hydra makes of files, a user's own ones among them."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hydra.core.global_hydra import GlobalHydra
from hydra.core.utils import JobRuntime
from hydra.version import VersionBase
from packaging.version import Version

from pipeline.config.composition import Files
from pipeline.config.overrides import compose
from pipeline.errors import ConfigError

MINE = """\
# @package _global_
defaults:
  - dba3c
  - override /network: dba3c
"""


def test_a_file_of_the_user_s_that_chooses_an_option_by_its_old_name_is_told_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(MINE)
    with pytest.raises(ConfigError, match=r"; dba3c is now called dba3c_authors: write that in your file$"):
        Files(tmp_path).compose_tree(["experiment=mine"])


def test_threads_may_compose_at_once_and_leave_no_hydra_behind() -> None:
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda seed: compose(["experiment=dqn", "game=Pong", f"seed={seed}"]), range(8)))
    assert [run.seed for run in runs] == list(range(8))
    assert not GlobalHydra.instance().is_initialized()


def test_a_program_of_somebody_else_s_keeps_the_name_of_its_job_and_its_version_of_hydra() -> None:
    name, base = JobRuntime.instance().get("name"), VersionBase.instance().version_base
    JobRuntime.instance().set("name", "mine")
    VersionBase.instance().version_base = Version("1.1")
    try:
        compose(["experiment=dqn", "game=Pong"])
        assert JobRuntime.instance().get("name") == "mine"
        assert VersionBase.instance().version_base == Version("1.1")
    finally:
        JobRuntime.instance().set("name", name)
        VersionBase.instance().version_base = base
