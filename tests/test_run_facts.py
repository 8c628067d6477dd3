"""`run.json` is read without trust."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import RunFolderError
from pipeline.run_facts import facts_in


def test_facts_are_read_and_none_are_there_without_a_file(tmp_path: Path) -> None:
    assert facts_in(tmp_path) == {}
    facts = {"commit": None, "started_at": "2026-05-04T12:00:00+00:00", "total_frames": 7, "more": [1]}
    (tmp_path / "run.json").write_text(json.dumps(facts))
    assert facts_in(tmp_path) == facts


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("started_at", "yesterday"),
        ("started_at", "2026-05-04T12:00:00"),
        ("total_frames", -1),
        ("total_frames", 1.5),
        ("wall_seconds", float("inf")),
        ("end_reason", 1),
        ("hosts", ["x"]),
        ("generation", -1),
        ("generation", True),
    ],
)
def test_a_fact_of_another_type_is_named_with_the_file_and_the_way_out(tmp_path: Path, name: str, value: Any) -> None:
    (tmp_path / "run.json").write_text(json.dumps({name: value}))
    with pytest.raises(RunFolderError, match=rf"run\.json cannot be read: {name} is not .*; resume the run, or move"):
        facts_in(tmp_path)
