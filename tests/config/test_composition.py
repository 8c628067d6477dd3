"""What Hydra makes of files, a user's own ones among them."""

from pathlib import Path

import pytest

from pipeline.config.composition import Files
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
