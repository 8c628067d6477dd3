"""Rows that benchmarks have printed, and where those that are kept lie.

Not here: what is made of them (the tables beside each benchmark).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[1]
RESULTS = CHECKOUT / "benchmarks" / "results"
PERFORMANCE = CHECKOUT / "docs" / "performance.md"
"""The page that has most of the tables."""
Row = Mapping[str, Any]


def read(path: Path) -> list[Row]:
    """The rows of a file; none if it is not there."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
