"""Batch A3C whose returns have a limit."""

from dataclasses import dataclass

from pipeline.algorithms.config import ActorCriticConfig


@dataclass(frozen=True)
class ClippedConfig(ActorCriticConfig):
    """Settings of that algorithm; what others need to know of it is as of actor-critic learning."""

    KINDS = ("clipped",)

    max_return: float
    """Returns beyond it count as it, in units of clipped reward."""
