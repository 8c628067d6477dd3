"""Settings of small parameter servers for tests."""

from typing import Any

from pipeline.param_server.config import ParamServerConfig


def server_config(**changes: Any) -> ParamServerConfig:
    """One shard, no staleness limit, a target every 20 updates, float32, no intervals, 10 s."""
    settings: dict[str, Any] = {
        "num_shards": 1,
        "max_staleness": None,
        "target_period_updates": 20,
        "wire": "dense",
        "wire_dtype": "float32",
        "actor_pull_every_steps": 1,
        "learner_pull_every_updates": 1,
        "push_every_updates": 1,
        "overlap": False,
        "timeout_seconds": 10.0,
    }
    return ParamServerConfig(**settings | changes)
