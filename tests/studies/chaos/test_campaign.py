"""A short campaign, with real processes that are killed. Those of hours are `make chaos`."""

from pathlib import Path

import pytest

from studies.chaos import campaign
from studies.chaos.rows import kill_rows, run_rows


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_runs_end_with_a_result_and_nothing_is_lost_doubled_or_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = f"--kills 2 --kills-per-run 1 --seed 5 --minutes 0.3 --output {tmp_path} --printed {tmp_path}".split()
    status = campaign.main(arguments)
    said = capsys.readouterr()
    assert status == 0, said.err + said.out + "".join(path.read_text() for path in tmp_path.glob("*.txt"))
    kills, runs = kill_rows(tmp_path).frame(), run_rows(tmp_path).frame()
    assert len(kills) == 2 and len(runs) == 2
    assert runs["end_reason"].eq("budget").all() and runs["faults"].isna().all()
    assert campaign.main(arguments) == 0
    assert capsys.readouterr().out == "", "what is there is not made again"
