"""Rows of two gradients, so that a few gradients are enough."""

import pytest

from pipeline.roles import rollout_worker


@pytest.fixture(autouse=True)
def short_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of two gradients, so that a few of them are enough; in this process alone."""
    monkeypatch.setattr(rollout_worker, "UPDATES_PER_ROW", 2)
