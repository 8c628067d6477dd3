"""How games are played and scored: the environment protocol as data.

A protocol is never a library default: every field is given, and what the made environment reports goes into the rows.
Not here: the emulator (`pipeline.envs.atari`), who evaluates with it (`pipeline.evaluation`).
"""

from dataclasses import dataclass

MOST_NOOPS = 10_000
"""Of a reset, each of which is a frame: nearly three minutes of nothing."""

MOST_STACKED = 255
"""Frames of an observation: a replay counts those since an episode's start in a byte (`pipeline.replay.ring`)."""

LARGEST_INTEGER = 2**31 - 1
"""That the emulator takes."""


@dataclass(frozen=True)
class EnvironmentConfig:
    """Settings of one vectorised Atari environment. Sources stand beside the values in `conf/environment/`."""

    frame_skip: int
    """Emulator frames per agent step, at most; the action is repeated."""
    min_frame_skip: int
    """At least so many: each step of each lane draws its number from min_frame_skip ... frame_skip, all alike."""
    sticky_probability: float
    """Chance that the emulator repeats the previous frame's action instead of the given one (Machado et al. 2018)."""
    noop_max: int
    """An episode starts with 0 to this many no-ops, drawn by its seed."""
    max_frames: int
    """An episode is truncated after this many emulator frames, no-ops not counted. ale-py takes no picture of the
    last one: a truncated step shows that of the step before again, at most joined by a later one with `max_pool`."""
    full_action_set: bool
    """All 18 actions, or only those that the game uses."""
    fire_on_reset: bool
    """Press FIRE after a reset, where the game has it. ale-py does so before the no-ops, and then plays one no-op fewer
    than it drew: noop_max=30 gives 0 to 29."""
    grey: bool
    """Grey frames (H, W), or RGB (H, W, 3)."""
    frame_height: int
    """Pixels."""
    frame_width: int
    """Pixels."""
    stack: int
    """Newest frames in one observation."""
    max_pool: bool
    """Pixel-wise maximum over the last two emulator frames of a step, against flicker."""
    life_loss_ends_return: bool
    """In training: a lost life ends the return (discount 0), never the episode. Ignored in evaluation."""
    clip_rewards: bool
    """In training: rewards to [-1, 1]. Episode scores are never clipped."""

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """(H, W), or (H, W, 3) for RGB."""
        size = (self.frame_height, self.frame_width)
        return size if self.grey else (*size, 3)

    @property
    def mean_frame_skip(self) -> float:
        """Emulator frames per agent step, on average."""
        return (self.min_frame_skip + self.frame_skip) / 2

    def mistakes(self) -> list[str]:
        """What is out of range, one line each, beginning with the field's name."""
        found = []
        for name in ("frame_skip", "min_frame_skip", "max_frames", "frame_height", "frame_width", "stack"):
            if getattr(self, name) < 1:
                found.append(f"{name}={getattr(self, name)} must be at least 1")
        if self.min_frame_skip > self.frame_skip:
            found.append(f"min_frame_skip={self.min_frame_skip} must be at most frame_skip={self.frame_skip}")
        if self.max_pool and self.min_frame_skip < self.frame_skip:
            found.append(
                f"max_pool=true needs a fixed skip, not min_frame_skip={self.min_frame_skip} and frame_skip="
                f"{self.frame_skip}: set max_pool=false, or both frame skips alike"
            )
        if self.max_pool and self.frame_skip == 1:
            found.append(
                "max_pool=true needs two frames a step, and frame_skip=1 has one: set max_pool=false, or a longer skip"
            )
        if not 0 <= self.sticky_probability <= 1:
            found.append(f"sticky_probability={self.sticky_probability} must lie in [0, 1]")
        if not 0 <= self.noop_max <= MOST_NOOPS:
            found.append(f"noop_max={self.noop_max} must lie in 0 to {MOST_NOOPS:,}")
        if self.stack > MOST_STACKED:
            found.append(f"stack={self.stack} must be at most {MOST_STACKED}, as the replay counts")
        for name in ("frame_skip", "max_frames", "frame_height", "frame_width"):
            if getattr(self, name) > LARGEST_INTEGER:
                found.append(f"{name}={getattr(self, name)} must be at most {LARGEST_INTEGER}, as the emulator counts")
        return found
