"""A short campaign, with real processes that are killed. Those of hours are `make chaos`."""

from pathlib import Path

import pytest

from studies.chaos import campaign
from studies.chaos.rows import KillRow, RunRow, kill_rows, run_rows
from studies.chaos.watched import RunPlan
from tests.clusters import LIMIT_SECONDS
from tests.studies.chaos.made_up import kill_row, run_row


class MadeUpRun:
    """Runs with these numbers have a kill each, the others end before it."""

    with_kill: tuple[int, ...] = ()

    def __init__(self, plan: RunPlan, *_: object) -> None:
        self._plan = plan

    def carry_out(self) -> tuple[list[KillRow], RunRow, str]:
        """Its rows and what it has printed."""
        run = {"seed": self._plan.seed, "run": self._plan.run}
        assert self._plan.run < 9, "it goes on without end"
        return [kill_row(**run)] if self._plan.run in self.with_kill else [], run_row(**run), "error: no host"


def test_a_campaign_ends_when_two_runs_in_a_row_end_before_anything_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(campaign, "WatchedRun", MadeUpRun)
    monkeypatch.setattr(MadeUpRun, "with_kill", (1, 2))
    arguments = ["--seed", "7", "--output", str(tmp_path), "--printed", str(tmp_path)]
    assert campaign.main([*arguments, "--kills", "2"]) == 0
    assert run_rows(tmp_path).frame()["run"].tolist() == [0, 1, 2] and capsys.readouterr().err == ""
    assert campaign.main([*arguments, "--kills", "3"]) == 1
    assert run_rows(tmp_path).frame()["run"].tolist() == [0, 1, 2, 3, 4]
    told = "2 runs in a row ended before anything of them was killed, and so would all that come: see "
    assert capsys.readouterr().err == f"{told}{tmp_path}/7-4.txt\n"
    assert (tmp_path / "7-4.txt").read_text() == "error: no host"


def test_runs_of_other_lengths_are_not_put_beside_the_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "WatchedRun", None)
    with pytest.raises(SystemExit, match="which differ in minutes, deadline: nothing was made"):
        campaign.main(["--minutes", "2", "--deadline", "60"])


@pytest.mark.parametrize(("seed", "words", "asked"), [(7, ["--slurm"], "are on Slurm"), (8, [], "are not on Slurm")])
def test_a_seed_stays_on_its_kind_of_cluster(tmp_path: Path, seed: int, words: list[str], asked: str) -> None:
    run_rows(tmp_path).append(run_row(seed=7, run=0, cluster="address"), run_row(seed=8, run=0, cluster="slurm"))
    with pytest.raises(SystemExit, match=f"the runs of seed {seed} in .*, and those asked for {asked}: nothing"):
        campaign.main(["--seed", str(seed), "--output", str(tmp_path), *words])


@pytest.mark.slow
@pytest.mark.timeout(6 * LIMIT_SECONDS)
def test_killed_runs_end_with_a_result_and_nothing_is_lost_doubled_or_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # So many minutes that no run is over before its kill, however slow this machine is.
    arguments = "--kills 2 --kills-per-run 1 --seed 5 --minutes 1".split()
    arguments += ["--output", str(tmp_path), "--printed", str(tmp_path)]
    status = campaign.main(arguments)
    said = capsys.readouterr()
    assert status == 0, said.err + said.out + "".join(path.read_text() for path in tmp_path.glob("*.txt"))
    kills, runs = kill_rows(tmp_path).frame(), run_rows(tmp_path).frame()
    assert len(kills) == 2 and len(runs) == 2
    assert runs["end_reason"].eq("budget").all() and runs["faults"].isna().all()
    assert campaign.main(arguments) == 0
    assert capsys.readouterr().out == "", "what is there is not made again"
