"""Mistakes in settings of Hydra's, told all at once.

Not here: finding them (`settings`, `search_settings`).
"""

from collections.abc import Sequence

from hydra.errors import CompactHydraException


def refuse(mistakes: Sequence[str], of: str, node: str) -> None:
    """Raise CompactHydraException if there are any, a line each. `of` what they are settings, and at which `node`."""
    if mistakes:
        head = f"{len(mistakes)} mistake{'s' * (len(mistakes) != 1)} in the settings of {of}:"
        raise CompactHydraException("\n".join([head, *(f"  {node}.{mistake}" for mistake in mistakes)]))
