"""What the rows of a run tell, and how much memory a command takes."""

import subprocess
import sys

import pandas as pd
import pytest

from pipeline.config.overrides import compose
from studies.gorila_growth.real_runs import of_bundles, peak_memory

CONFIG = compose(["experiment=gorila", "game=Pong"])


def test_bundles_are_as_fast_as_the_time_between_their_rows_says() -> None:
    # Frames of both bundles, of which a step has four: 100 steps of each between the rows.
    rows = [
        {"role": role, "total_frames": frames, "wall_seconds": seconds, "num_updates": 25, "num_dropped_stale": stale}
        | {"mean_staleness": staleness}
        for role in ("bundle-0", "bundle-1")
        for frames, seconds, stale, staleness in ((800, 10.0, 25, 9.0), (1600, 14.0, 5, 1.5))
    ]
    assert of_bundles(CONFIG, pd.DataFrame(rows)) == (50.0, 12.5, 0.2, 1.5, 0.0)
    with pytest.raises(ValueError, match="make the run longer"):
        of_bundles(CONFIG, pd.DataFrame(rows[:2]))


@pytest.mark.slow
def test_the_peak_of_a_command_has_its_children_in_it() -> None:
    holds = "import time; x = b'1' * 200_000_000; time.sleep(1.5)"
    child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {holds!r}], check=True)"
    assert peak_memory([sys.executable, "-c", child]) > 200_000_000
    with pytest.raises(subprocess.CalledProcessError):
        peak_memory([sys.executable, "-c", "import sys; sys.exit(3)"])
