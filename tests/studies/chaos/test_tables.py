"""Tables of made-up kills."""

from pathlib import Path

import pytest

from studies.chaos.rows import kill_rows, run_rows
from studies.chaos.tables import tables
from tests.studies.chaos.made_up import kill_row, run_row


@pytest.fixture
def made(tmp_path: Path) -> dict[str, str]:
    kill_rows(tmp_path).append(
        kill_row(),
        kill_row(number=1, roles="bundle-1", went_back_to=-1, updates_lost=0, outcome="role started again", named="no"),
        kill_row(number=2, victim="coordinator", roles="", outcome="typed again", updates_lost=4),
    )
    run_rows(tmp_path).append(run_row(num_kills=3, num_starts=2))
    run_rows(tmp_path).append(run_row(run=1, cluster="address", end_reason="", rows_lost=2, faults="2 rows lost"))
    return dict(tables(tmp_path))


def test_each_kind_of_run_has_its_kills_and_what_is_left(made: dict[str, str]) -> None:
    address, processes = made["kinds"].splitlines()[2:]
    assert address.startswith("| gorila | address | yes | beside | 1 | 0 | 1 | 0 | 0 | 0 | 2 | 0 |")
    assert processes.startswith("| gorila | processes | yes | beside | 1 | 3 | 2 | 1 | 0 | 0 | 0 | 0 |")


def test_a_host_counts_for_each_kind_of_role_that_it_had(made: dict[str, str]) -> None:
    assert [line.split("|")[1:3] for line in made["roles"].splitlines()[2:]] == [
        [" bundle ", " 2 "],
        [" shard ", " 1 "],
    ]
    assert "| host | SIGKILL | 2 | 0 | 1 | 1 | 0 | 0 | 0 | 0 | 1 of 2 |" in made["victims"]


def test_losses_are_those_of_kills_that_sent_the_run_back(made: dict[str, str]) -> None:
    assert "| host | SIGKILL | 2 | 1 | 20 (20) | 6 (6) | 11 (11) |" in made["losses"]


def test_a_heading_has_one_meaning(made: dict[str, str]) -> None:
    heads = {name: set(made[name].splitlines()[0].split(" | ")) for name in ("victims", "losses")}
    assert heads["victims"] & heads["losses"] == {"| victim", "signal", "times"}


def test_runs_with_faults_are_listed(made: dict[str, str]) -> None:
    assert "| 1 (seed 0): gorila, address | 2 rows lost |" in made["faults"] and "all" not in made["faults"]


def test_a_campaign_without_faults_says_so(tmp_path: Path) -> None:
    kill_rows(tmp_path).append(kill_row())
    run_rows(tmp_path).append(run_row())
    assert "| all 1 | nothing |" in tables(tmp_path)["faults"]
