"""Kills and runs that nobody has made."""

from typing import Any

from studies.chaos.rows import KillRow, RunRow

OF_RUN: dict[str, Any] = {
    "seed": 0,
    "run": 0,
    "system": "gorila",
    "cluster": "processes",
    "replacement": "yes",
    "shards": "beside",
}


def kill_row(**changes: Any) -> KillRow:
    """A host with a shard that was killed."""
    row: dict[str, Any] = {
        **OF_RUN,
        "number": 0,
        "victim": "host",
        "roles": "bundle-0 shard-0",
        "signal": "SIGKILL",
        "stop_seconds": 0.0,
        "second": 40.0,
        "update": 200,
        "frames": 4000,
        "went_back_to": 180,
        "updates_lost": 20,
        "seconds_lost": 6.0,
        "seconds_without_rows": 11.0,
        "named": "yes",
        "outcome": "went back to a checkpoint",
    }
    return KillRow(**row | changes)


def run_row(**changes: Any) -> RunRow:
    """A run with which nothing is wrong."""
    row: dict[str, Any] = {
        **OF_RUN,
        "num_kills": 1,
        "num_starts": 1,
        "minutes": 2.0,
        "end_reason": "budget",
        "exit_status": 0,
        "within_deadline": "yes",
        "rows_doubled": 0,
        "rows_lost": 0,
        "processes_left": 0,
        "roles_left": 0,
        "ports_left": 0,
        "files_left": 0,
        "faults": "",
        "distributed": "1",
    }
    return RunRow(**row | changes)
