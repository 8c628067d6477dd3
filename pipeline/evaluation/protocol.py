"""An evaluation protocol as data: which environment, how many games, how much exploration.

Not here: playing the games (`pipeline.evaluation.play`), statistics over them (`pipeline.results`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.envs.protocol import EnvironmentConfig
from pipeline.settings import shown

GREEDY, SAMPLED = POLICIES = ("greedy", "sampled")


UNTOLD = ("fire_on_reset", "max_pool")
"""Settings of an environment that decide how a game goes, and that rows do not tell."""

ALWAYS: Mapping[str, Mapping[str, bool]] = {
    protocol: {"fire_on_reset": False, "max_pool": max_pool}
    for protocol, max_pool in {
        "noop_starts": True,
        "noop_starts_30min": True,
        "sticky": True,
        "start_states_not_the_papers": True,
        "smoke": True,
        "ba3c_50": False,
        "ba3c_50_deterministic": False,
        "ba3c_50_nature": True,
        "smoke_ba3c": False,
    }.items()
}
"""Protocol of `conf/evaluation/` -> its values of UNTOLD: games with others would count as its own."""


@dataclass(frozen=True)
class EvaluationConfig:
    """One protocol under which parameters are scored. Sources stand beside the values in `conf/evaluation/`."""

    protocol: str
    """Name that travels with every score, e.g. "noop_starts"."""
    num_episodes: int
    """Whole games, each once, each with a seed of its own."""
    epsilon: float
    """Chance of a uniformly random action."""
    policy: str
    """How a network with a policy chooses its action: "sampled", with the policy's probabilities, or "greedy", the most
    probable one. Of Q-values the largest is played, whatever stands here."""
    max_equal_actions: int | None
    """The last of so many equal choices in a row in a game is played as action 1 (FIRE, mostly), and so are those that
    follow it, until another action is chosen: no game stands still for ever. None: never."""
    start_states: str | None
    """File of points of recorded games to go on from (`pipeline.evaluation.start_states`), or a folder that holds
    `<game>.json`. The frame cap counts from the point. None: each game begins at a reset."""
    environment: EnvironmentConfig

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = [f"environment.{line}" for line in self.environment.mistakes()]
        if self.num_episodes < 1:
            found.append(f"num_episodes={self.num_episodes} must be at least 1")
        if not 0 <= self.epsilon <= 1:
            found.append(f"epsilon={self.epsilon} must lie in [0, 1]")
        if self.policy not in POLICIES:
            found.append(f"policy={self.policy} must be one of {', '.join(POLICIES)}")
        if self.max_equal_actions is not None and self.max_equal_actions < 2:
            found.append(f"max_equal_actions={self.max_equal_actions} must be at least 2, or null for never")
        if self.start_states == "":
            found.append("start_states is empty: name a file or a folder, or null for games that begin at a reset")
        if self.start_states and self.environment.min_frame_skip != self.environment.frame_skip:
            found.append(
                f"start_states={self.start_states} needs a fixed frame skip, not environment.min_frame_skip="
                f"{self.environment.min_frame_skip} and environment.frame_skip={self.environment.frame_skip}: the "
                "frame cap is counted in steps from the point"
            )
        return found


def untold(config: EvaluationConfig) -> list[str]:
    """Mistakes, a line each, of games that would count as those of a protocol that they are not.

    Of whoever begins something: a run that was begun so goes on, and its rows are all alike.
    """
    return [
        f"evaluation.environment.{name}={shown(getattr(config.environment, name))} is not {config.protocol}, and rows "
        "do not tell it: give such games a name of their own, evaluation.protocol=…"
        for name, value in ALWAYS.get(config.protocol, {}).items()
        if getattr(config.environment, name) != value
    ]
