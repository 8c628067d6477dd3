"""What the studies of growth share: where rows go, runs of which only the speed is of interest.

Not here: carrying them out (`studies.gorila_growth.real_runs`).
"""

import argparse
from pathlib import Path

OUTPUT = Path("results/gorila_growth")
GAME = "Pong"
NOTHING, OTHER = BESIDE = ("nothing", "other")
"""What else the machine has to do meanwhile."""

GORILA = (
    "experiment=gorila",
    "replay.capacity=20_000",
    "replay.min_transitions=500",
    "algorithm.exploration.initial_epsilon=0.1",
    "evaluation=smoke",
    "evaluation.num_episodes=1",
)
"""Learning begins soon, and epsilon stays where training spends most of its time: all do equal work."""
DBA3C = (
    "experiment=dba3c",
    "evaluation=smoke",
    "evaluation.num_episodes=1",
    "training_evaluation.every_frames=null",
)
QUIET = ("progress=none", "overwrite=true")

STALENESS_PER_BUNDLE, TARGET_PERIOD_PER_BUNDLE = 4, 125
"""Versions, as the default has them for its two bundles."""


def beside_of(description: str | None) -> str:
    """The one argument that these commands take: what else the machine has to do."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", default=NOTHING, choices=BESIDE, help="what else the machine has to do")
    return str(parser.parse_args().beside)


def of_bundles(num_bundles: int, num_shards: int) -> tuple[str, ...]:
    """So many bundles, with the limits that they have by default for each."""
    return (
        f"topology.num_bundles={num_bundles}",
        f"param_server.num_shards={num_shards}",
        f"param_server.max_staleness={STALENESS_PER_BUNDLE * num_bundles}",
        f"param_server.target_period_updates={TARGET_PERIOD_PER_BUNDLE * num_bundles}",
    )
