"""What settings of a run are, whoever reads them: dotted names, and which of them make no other agent.

Not here: what each one means, and what it may be (`pipeline.config.run_config`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

OF_THE_COURSE = frozenset(
    {
        "budget",
        "checkpoint",
        "training_evaluation",
        "cluster",
        "results_dir",
        "resume",
        "overwrite",
        "plan",
        "progress",
        "logging",
    }
)
"""Settings that say how long, where and how visibly a run goes on, not what it computes."""


def flat(tree: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted name and value of each setting of a nested mapping, in its order: ("optimizer.kind", "adam")."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
