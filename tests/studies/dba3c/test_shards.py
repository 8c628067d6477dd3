"""Parameter shards beside and apart, at a toy size."""

from pathlib import Path

import pandas as pd
import pytest

from studies.dba3c import shards
from tests.studies.dba3c.toy import TINY, is_figure


@pytest.mark.slow
def test_shards_are_counted_beside_and_apart(tmp_path: Path) -> None:
    shards.main(
        num_rounds=1,
        num_workers=1,
        worker_steps=80,
        networks=("dba3c_authors",),
        places=("apart",),
        shard_counts=(2,),
        cluster="threads",
        overrides=TINY,
        output=tmp_path,
        figures=tmp_path,
    )
    (row,) = pd.read_csv(tmp_path / "shards.csv").to_dict("records")
    assert (row["shards"], row["num_shards"], row["num_workers"]) == ("apart", 2, 1)
    assert row["data_points_per_second"] > 0
    assert is_figure(tmp_path / "dba3c_shards.png")
