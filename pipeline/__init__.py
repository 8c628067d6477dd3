"""Distributed deep reinforcement learning on Atari: Gorila DQN and DBA3C over a Dask cluster.

The package is read from the data's path: `envs` -> `networks` -> `roles.actor` -> `replay` -> `roles.learner`
-> `param_server`. `docs/architecture.md` walks the three journeys (a transition, a gradient, a number in a table).
Notebooks and scripts start at `pipeline.api`.
"""

__version__ = "0.1.0"
