"""Settings that change as a run goes on: a first value, and later ones from given server updates on."""

Changes = tuple[tuple[int, float], ...]
"""Later values of a setting, ((server update, value), ...) in rising order: from that update on it is that value."""


def value_at(first: float, changes: Changes, update: int) -> float:
    """The value that is in force after `update` server updates."""
    value = first
    for start, later in changes:
        if update < start:
            break
        value = later
    return value


def changes_mistakes(name: str, changes: Changes, at_least: float) -> list[str]:
    """What is wrong with the later values of a setting, one line each, beginning with its name."""
    found = []
    updates = [update for update, _ in changes]
    if any(update < 1 for update in updates) or sorted(set(updates)) != updates:
        found.append(f"{name}: updates {updates} must be positive and rising")
    too_small = [(update, value) for update, value in changes if value < at_least]
    return found + [f"{name}: {value} at update {update} must be at least {at_least}" for update, value in too_small]
