"""Toy sizes of runs that learn Q-values."""

TINY = (
    "network.hidden_units=16",
    "topology.num_lanes=4",
    "replay.batch_size=4",
    "replay.min_transitions=64",
    "budget.frames=4_000",
    "evaluation=smoke",
    "progress=none",
)
